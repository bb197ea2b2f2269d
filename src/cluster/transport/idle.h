// How a thread that polls MPI waits: a server must answer at once, but never take a core that rank 0 computes
// on.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/cpu.h"
#include "os/clock.h"
#include "os/process/cpu.h"
#include "os/process/yielding.h"

namespace tasuki::cluster {

// Time in which this process ran. When it was stopped, or its host was frozen, then all others may have been
// too, and what they have to say arrives a moment after this process goes on: that they were silent meanwhile
// says nothing.
class RunningTime {
 public:
  int64_t now() {
    const int64_t real = os::monotonic_ns();
    running_ += real - real_ < kLongestStep ? real - real_ : kLongestStep;
    real_ = real;
    return running_;
  }

 private:
  static constexpr int64_t kLongestStep = 500'000'000;
  int64_t real_ = os::monotonic_ns(), running_ = 0;
};

class Idle {
 public:
  // `spare`: the host has a core for this thread alone.
  explicit Idle(bool spare) : spare_(spare), active_(os::monotonic_ns()) {}

  void active() {
    polls_ = 0;
    asleep_ = false;
    yielding_ = {};
  }

  // After a poll that found nothing.
  void wait() {
    if (polls_++ == 0) active_ = os::monotonic_ns();
    if (!spare_)
      os::cpu_yield();
    else if (polls_ % 64 == 0)
      yielding_.turn();
    cpu_relax();
    // With a core of its own a server stays awake over the pauses of a program that swaps now and then;
    // without one it leaves after the time of a few messages.
    if (polls_ % 16 != 0 && !asleep_) return;
    const int64_t idle = os::monotonic_ns() - active_;
    if (idle < (spare_ ? kAwakeSpare : kAwakeCrowded)) return;
    // The longer nothing came, the longer a sleep: the next request waits at most 1/256 of the pause before
    // it. Measured after 6 s of nothing: 0 to .5 % of a core.
    const int64_t sleep = idle / 256 < kLongestSleep ? idle / 256 : kLongestSleep;
    timespec time = {0, static_cast<long>(sleep)};
    nanosleep(&time, nullptr);
    asleep_ = true;
  }

  // A good moment for what is done now and then.
  bool asleep() const { return asleep_; }

 private:
  static constexpr int64_t kAwakeSpare = 50'000'000, kAwakeCrowded = 1'000'000, kLongestSleep = 20'000'000;
  bool spare_, asleep_ = false;
  os::Yielding yielding_;
  int64_t active_;
  uint64_t polls_ = 0;
};

}  // namespace tasuki::cluster
