// Many pages of this process in one call, wherever they are. With threads on other cores each call that makes
// a page disappear interrupts those cores: 5 to 40 us in a virtual machine (2 cores, AMD EPYC, Linux 6.18,
// another thread running: 28 us a page by madvise, 1 to 2 us by 64 at a time).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.h"
#include "os/files/descriptor.h"

namespace tasuki::os {

struct Extent {  // page aligned; laid out as the kernel's iovec
  void* at;
  size_t bytes;
};

class Scattered {
 public:
  // ENOSYS: not in this kernel (process_madvise of one's own memory: Linux 6.13; together since 6.16), or
  // filtered.
  static Result<Scattered> open();

  static constexpr size_t kMost = 128;  // extents of one call

  // Private memory becomes absent, and goes back to the system. How many of the extents, from the first on;
  // the one behind them could not, as a whole, with errno (EINVAL: locked).
  size_t discard(const Extent* extents, size_t count) const;

 private:
  explicit Scattered(Fd self) : self_(std::move(self)) {}
  Fd self_;
};

// Whether each of the pages is there (or swapped out by the system): 1 for there. At most Scattered::kMost.
// False: the kernel does not say.
bool scattered_present(void* const* pages, size_t count, uint8_t* present);

}  // namespace tasuki::os
