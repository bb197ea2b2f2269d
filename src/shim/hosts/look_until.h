// Waiting in MPI_Init for what other ranks do.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

#include "os/clock.h"

namespace tasuki::shim {

// Looks with growing pauses until `found`; false after the limit.
template <typename Found>
bool look_until(int64_t limit_ms, Found found) {
  constexpr int64_t kLongest = 20'000'000;
  const int64_t end = os::monotonic_ms() + limit_ms;
  for (int64_t pause = 100'000; !found(); pause = std::min(2 * pause, kLongest)) {
    if (os::monotonic_ms() > end) return false;
    const timespec t{0, pause};
    nanosleep(&t, nullptr);
  }
  return true;
}

}  // namespace tasuki::shim
