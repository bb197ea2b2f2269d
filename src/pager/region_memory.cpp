#include "pager/region_memory.h"

#include <sys/mman.h>

#include "os/mapping.h"

namespace tasuki::pager {

std::byte* map_region(size_t bytes, size_t alignment) {
  const size_t extra = alignment > 4096 ? alignment : 0;
  if (bytes + extra < bytes) return nullptr;
  void* raw = mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* at = static_cast<std::byte*>(raw);
  if (extra == 0) return at;
  auto* aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(at) + alignment - 1) & ~(alignment - 1));
  if (aligned > at) os::unmap(at, static_cast<size_t>(aligned - at));
  const auto rest = static_cast<size_t>(at + bytes + extra - (aligned + bytes));
  if (rest > 0) os::unmap(aligned + bytes, rest);
  return aligned;
}

void prepare_region(std::byte* at, size_t bytes) {
  madvise(at, bytes, MADV_NOHUGEPAGE);
  madvise(at, bytes, MADV_DONTFORK);
}

}  // namespace tasuki::pager
