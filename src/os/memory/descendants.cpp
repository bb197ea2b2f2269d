#include "os/memory/descendants.h"

#include <sys/mman.h>

#include <cstdint>

#include "os/memory/mapping.h"
#include "os/memory/userfault.h"

namespace tasuki::os {

Descendants::~Descendants() {
  if (page_ != nullptr) unmap(page_, kPageSize);
}

// Locked: of a page that the system swaps out by and by, each process may have it or not.
bool Descendants::expect() {
  if (page_ == nullptr) {
    void* const page = map_memory(kPageSize);
    if (page == nullptr) return false;
    no_huge_pages(page, kPageSize);
    page_ = static_cast<std::byte*>(page);
    const_cast<volatile std::byte&>(*page_) = std::byte{1};
  }
  return mlock(page_, kPageSize) == 0;
}

bool Descendants::any() const {
  uint8_t alone = 0;
  return page_ != nullptr && !(page_alone(page_, &alone) && alone != 0);
}

}  // namespace tasuki::os
