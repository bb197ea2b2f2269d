// What of a program's memory is local although nobody counts it: what is not in cluster memory. Small
// allocations, static data, stacks, address space that was reserved first, and the MPI library's and the
// pager's own growth. Looked at now and then; any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/process/self.h"

namespace tasuki::cluster {

class Beside {
 public:
  // What this process has by now is not the program's.
  void begin();
  // At most every 10 ms, where the program allocates and frees.
  void look();
  void look_now();
  // The most that was seen, and what there is now, if so many bytes are counted elsewhere.
  uint64_t most_bytes(uint64_t counted) const;
  uint64_t bytes(uint64_t counted) const;

 private:
  uint64_t without(uint64_t all, uint64_t counted) const;

  os::AnonymousMemory memory_;
  std::atomic<int64_t> next_ns_{0};
  std::atomic<uint64_t> before_{0}, most_{0};
};

}  // namespace tasuki::cluster
