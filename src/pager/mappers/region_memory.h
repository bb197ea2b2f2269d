// Address space of regions and buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "os/userfault.h"

namespace tasuki::pager {

// Zero-filled private memory, counted by the system only as it is touched, and not locked, whatever the program asked for with
// mlockall(MCL_FUTURE). alignment: a power of two. nullptr: none.
std::byte* map_region(size_t bytes, size_t alignment);

// Before faults in the range are served: small pages only, and none for a forked child, which would see pages that are away as zeros
// and gets SIGSEGV this way.
void prepare_region(std::byte* at, size_t bytes);

// Prepares the range and has its faults caught; Mapper::watch of the mappers with userfaultfd. Pages that this process and a child of an
// earlier fork share become its own: shared ones could not move.
Status watch_region(os::UserFault* faults, std::byte* at, size_t bytes, uint8_t* present);

// Pages that come and go cannot be locked (mlock, mlockall): what the program locked of the range is not any more.
void unlock_pages(std::byte* at, size_t bytes);

inline uint64_t unit_of(const std::byte* p) {
  return reinterpret_cast<uintptr_t>(p) / 4096;
}
inline std::byte* address_of(uint64_t unit) {
  return reinterpret_cast<std::byte*>(unit * 4096);
}

}  // namespace tasuki::pager
