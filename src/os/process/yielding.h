// How a thread that polls gives its core away.
//
// With nothing else to run a yield takes 0.3 us. Beside a thread that computes it takes 2 ms: the one that
// yields forfeits its time slice, and whoever yields every 20 us gets a hundredth of the core, where one that
// only polls gets its half (Linux 6.18; one busy loop on the same core). So a thread that has lost a time
// slice polls for a part of one before it yields again: whoever else runs, a wait costs little more than the
// better of polling and yielding. Threads that wait for each other on one core lose each other's patience,
// not a time slice, and so they lose their patience.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "os/clock.h"
#include "os/process/cpu.h"

namespace tasuki::os {

// Of one wait.
class Yielding {
 public:
  // A turn of a wait that goes on; thread-safe against other waits.
  void turn() {
    const int64_t now = monotonic_ns();
    if (since_ == 0) since_ = now;
    const int64_t patience = patience_.load(std::memory_order_relaxed);
    if (now - since_ < patience) return;
    cpu_yield();
    since_ = monotonic_ns();
    patience_.store(patience_after(patience, since_ - now), std::memory_order_relaxed);
  }

  // How long to poll (ns) after a yield that came after so much polling and took so long. Up to kWaiting
  // threads that poll on one core, with that patience each, do not take what counts as a time slice. Half of
  // the yields beside a busy loop return at once: the costly ones are forgotten slowly. A process that was
  // stopped says nothing.
  static constexpr int64_t patience_after(int64_t patience, int64_t took) {
    if (took >= kSlice && took > kWaiting * patience) return std::min(took / 2, kMost);
    return patience - (patience + kForgotten - 1) / kForgotten;
  }

 private:
  static constexpr int64_t kSlice = 1'000'000, kMost = 2'000'000, kWaiting = 8, kForgotten = 8;

  // Of all threads of the process: they may lose each other's measurements.
  static inline std::atomic<int64_t> patience_{0};

  int64_t since_ = 0;  // when the wait began or yielded last; 0: not yet
};

// The same where threads that wait outnumber the cores: whoever is waited for may need this one, so each turn
// yields. A thread that has lately lost a time slice so polls first: of three ranks on two cores, one of
// which computes, the other two took 4 ms for a message and its answer, and take 0.03 to 0.5.
class CrowdedYielding {
 public:
  // Of one wait, before its first turn: whether the `poll`th poll is worth it, from 1 on.
  bool polls(uint32_t poll) const {
    if (costly_.load(std::memory_order_relaxed) == 0) return false;
    return poll % kLookEvery != 0 || monotonic_ns() - last_ < kPolls;
  }

  void turn() {
    cpu_yield();
    const int64_t now = monotonic_ns();
    costly_.store(costly_after(costly_.load(std::memory_order_relaxed), now - last_),
                  std::memory_order_relaxed);
    last_ = now;
  }

  // The wait has polled, or slept, which says nothing.
  void restart() { last_ = monotonic_ns(); }

  // How many yields are to return at once until a costly one is forgotten, after one that took so long (ns).
  // Others that poll before they yield, 80 of them on one core, take less than a time slice.
  static constexpr uint32_t costly_after(uint32_t costly, int64_t took) {
    if (took >= kSlice) return kRemembered;
    return costly == 0 ? 0 : costly - 1;
  }

 private:
  static constexpr int64_t kPolls = 25'000, kSlice = 2'000'000;  // ns
  static constexpr uint32_t kLookEvery = 4, kRemembered = 16;

  // Of all threads of the process: they may lose each other's.
  static inline std::atomic<uint32_t> costly_{0};

  int64_t last_ = monotonic_ns();  // when the wait began, or the last turn ended
};

}  // namespace tasuki::os
