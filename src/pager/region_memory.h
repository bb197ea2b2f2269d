// Address space of regions and buffers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::pager {

// Zero-filled private memory, counted by the system only as it is touched. alignment: a power of two. nullptr: none.
std::byte* map_region(size_t bytes, size_t alignment);

// Before faults in the range are served: small pages only, and none for a forked child, which would see pages that are away as zeros
// and gets SIGSEGV this way.
void prepare_region(std::byte* at, size_t bytes);

inline uint64_t unit_of(const std::byte* p) {
  return reinterpret_cast<uintptr_t>(p) / 4096;
}
inline std::byte* address_of(uint64_t unit) {
  return reinterpret_cast<std::byte*>(unit * 4096);
}

}  // namespace tasuki::pager
