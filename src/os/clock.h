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

}  // namespace tasuki::os
