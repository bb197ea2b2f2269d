// Stands for src/os/memory/keys.h: without protection keys.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::os {

inline bool g_guarded = false;
class WritesAllowed {
 public:
  WritesAllowed() {}
};
void* map_open_memory(size_t length);

}  // namespace tasuki::os
