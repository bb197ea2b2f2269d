// How a thread that polls MPI waits: a server must answer at once, but never take a core that rank 0 computes on.
#pragma once

#include <time.h>

#include <cstdint>

#include "os/cpu.h"

namespace tasuki::dlm {

// Nanoseconds of a monotonic clock.
inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

class Idle {
 public:
  // `spare`: the host has a core for this thread alone. `longest_ns`: of one sleep.
  Idle(bool spare, int64_t longest_ns) : spare_(spare), longest_(longest_ns), active_(now_ns()) {}

  void active() {
    polls_ = 0;
    sleep_ = kFirstSleep;
  }

  // After a poll that found nothing.
  void wait() {
    if (polls_++ == 0) active_ = now_ns();
    if (!spare_ || polls_ % 64 == 0) os::cpu_yield();
    os::cpu_relax();
    // With a core of its own a server stays awake over the pauses of a program that swaps now and then; without
    // one it leaves after the time of a few messages.
    if (polls_ % 16 != 0 || now_ns() - active_ < (spare_ ? kAwakeSpare : kAwakeCrowded)) return;
    timespec time = {0, static_cast<long>(sleep_)};
    nanosleep(&time, nullptr);
    sleep_ = sleep_ * 2 < longest_ ? sleep_ * 2 : longest_;
  }

  // A good moment for what is done now and then.
  bool asleep() const { return sleep_ > kFirstSleep; }

 private:
  static constexpr int64_t kAwakeSpare = 50'000'000, kAwakeCrowded = 1'000'000, kFirstSleep = 20'000;
  bool spare_;
  int64_t longest_, sleep_ = kFirstSleep, active_;
  uint64_t polls_ = 0;
};

}  // namespace tasuki::dlm
