#include "os/memory/scattered.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "os/memory/mapping.h"
#include "os/memory/userfault.h"

namespace tasuki::os {

Result<Scattered> Scattered::open() {
  const auto refused = [](int error) {
    return Status::error(error, "this kernel does not discard pages of several places together (Linux 6.13)");
  };
  Fd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (self.get() < 0) return refused(errno);
  Scattered scattered(std::move(self));
  // Two pages that are not neighbours, to see that it does what it says.
  auto* const at = static_cast<char*>(map_memory(3 * page_size()));
  if (at == nullptr) return refused(errno);
  at[0] = at[page_size()] = at[2 * page_size()] = 1;
  const std::array<Extent, 2> both = {Extent{at, page_size()}, Extent{at + 2 * page_size(), page_size()}};
  const bool gone = scattered.discard(both.data(), both.size()) == both.size();
  const bool right = gone && at[0] == 0 && at[page_size()] == 1 && at[2 * page_size()] == 0;
  unmap(at, 3 * page_size());
  if (!right) return refused(ENOSYS);
  return scattered;
}

// In handlers of signals, on stacks of a few KiB: nothing large is copied.
size_t Scattered::discard(const Extent* extents, size_t count) const {
  static_assert(sizeof(Extent) == sizeof(iovec) && offsetof(Extent, at) == offsetof(iovec, iov_base) &&
                offsetof(Extent, bytes) == offsetof(iovec, iov_len));
  const long done = syscall(SYS_process_madvise, self_.get(), extents, count, MADV_DONTNEED, 0);
  if (done < 0) return 0;
  size_t left = static_cast<size_t>(done);
  for (size_t i = 0; i < count; i++) {
    if (left < extents[i].bytes) {
      errno = EINVAL;
      return i;
    }
    left -= extents[i].bytes;
  }
  return count;
}

// move_pages() without a place to move to says on which node each page is. What it does not find may be
// swapped out, or a page of zeros that many share.
bool scattered_present(void* const* pages, size_t count, uint8_t* present) {
  std::array<int, Scattered::kMost> nodes;
  const bool told = syscall(SYS_move_pages, 0, count, pages, nullptr, nodes.data(), 0) == 0;
  for (size_t i = 0; i < count; i++) {
    if (told && nodes[i] >= 0)
      present[i] = 1;
    else if (!present_page(pages[i], &present[i]))
      return false;
  }
  return true;
}

}  // namespace tasuki::os
