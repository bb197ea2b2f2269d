#include "os/memory/descendants.h"

#include <sys/mman.h>

#include <cstdint>

#include "os/memory/userfault.h"

namespace tasuki::os {

// Locked: of a page that the system swaps out by and by, each process may have it or not. Not writable: mlock
// and mlockall, in whatever process, fill what is writable by a write, and each would have its own page.
std::unique_ptr<Descendants> Descendants::expect() {
  void* const page = map_memory(page_size());
  if (page == nullptr) return nullptr;
  std::unique_ptr<Descendants> made(new Descendants(page));
  no_huge_pages(page, page_size());
  *static_cast<volatile char*>(page) = 1;
  if (!protect(page, page_size(), PROT_READ) || mlock(page, page_size()) != 0) return nullptr;
  return made;
}

void Descendants::forked() const {
  madvise(page_, page_size(), MADV_DONTFORK);
}

bool Descendants::any() const {
  uint8_t alone = 0;
  return !page_alone(page_, &alone) || alone == 0;
}

}  // namespace tasuki::os
