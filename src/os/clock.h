// The clock that only goes forward.
#pragma once

#include <time.h>

#include <cstdint>

namespace tasuki::os {

inline int64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

inline int64_t monotonic_ms() {
  return monotonic_ns() / 1'000'000;
}

inline double monotonic_seconds() {
  return static_cast<double>(monotonic_ns()) * 1e-9;
}

// A moment that is waited for.
class Deadline {
 public:
  explicit Deadline(int64_t after_ms) : at_(monotonic_ns() + after_ms * kMillisecond) {}
  bool over() const { return monotonic_ns() >= at_; }
  // As poll takes it: rounded up, and 0 once it is over.
  int left_ms() const {
    const int64_t left = (at_ - monotonic_ns() + kMillisecond - 1) / kMillisecond;
    return left < 0 ? 0 : left < INT32_MAX ? static_cast<int>(left) : INT32_MAX;
  }

 private:
  static constexpr int64_t kMillisecond = 1'000'000;

  int64_t at_;
};

}  // namespace tasuki::os
