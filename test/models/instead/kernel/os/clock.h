// Stands for src/os/clock.h: no time passes, if a model does not say otherwise.
#pragma once

#include <cstdint>

extern "C" [[gnu::weak]] int64_t model_now() {
  return 0;
}

namespace tasuki::os {

inline int64_t monotonic_ns() {
  return model_now();
}

}  // namespace tasuki::os
