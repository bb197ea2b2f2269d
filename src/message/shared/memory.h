// Memory that all members of a board see at the same addresses. Where they are tasks of one address space any
// memory will do; where they are processes of their own it comes from the slice of this process in the
// segment that all have mapped (task/segment.h). Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::message {

// From now on memory comes from here: zeros.
void use_slice(char* slice, uint64_t bytes);

// Zeroed and page-aligned; nullptr when there is none.
void* map_shared(size_t bytes);
// Given back by the task that got it, with the size that it asked for.
void unmap_shared(void* at, size_t bytes);

// map_shared of memory that lives as long as the space.
inline void* map_forever(size_t bytes) {
  return map_shared(bytes);
}

}  // namespace tasuki::message
