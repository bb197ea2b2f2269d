// Fork, on the child's side: cluster memory as it was when the child was forked. What was resident is the
// child's by copy on write, as all memory is; what was away comes from the store when it is touched, by the
// thread that touches it, in the handler of SIGBUS, and stays. The child has no pager: the records of its
// parent's say what was where. Its own children read the same.
//
// Any thread. Nothing here allocates once start() is over.
#pragma once

#include <memory>
#include <optional>

#include "os/process/spin_lock.h"
#include "pager/core/residency.h"
#include "pager/mappers/region_memory.h"

namespace tasuki::pager {

class ForkedChild {
 public:
  // What is pointed to is the child's copy of the parent's.
  ForkedChild(const Regions* regions, const Residency* residency, const Slots* slots, const Store* store)
      : regions_(regions), residency_(residency), slots_(slots), store_(store) {}

  // In the child, by its only thread; again in a child of it. Errors: EPERM, ENOSYS, ENOMEM, EBUSY: it has no
  // cluster memory then.
  Status start();

  // The units of [p, p + bytes) are there from now on, as far as they are in a region.
  void bring(const void* p, size_t bytes);

  // The bytes are zeros from now on.
  void discard(std::byte* p, size_t bytes);

  // Around a fork of the child's: it is not at work.
  void lock() { at_work_.lock(); }
  void unlock() { at_work_.unlock(); }

 private:
  Status watch();
  bool serve(const os::FaultEvent& event);
  bool fetch(const Region& region, uint64_t unit);
  uint64_t run_of_units(const Region& region, uint64_t unit, uint64_t most) const;

  const Regions* regions_;
  const Residency* residency_;
  const Slots* slots_;
  const Store* store_;
  std::optional<UserfaultRegions> memory_;
  std::byte* buffer_ = nullptr;
  os::SpinLock at_work_;
  RunSet discarded_;                 // units, by address, of which the store has what they were
  const std::byte* next_ = nullptr;  // behind what came last
  uint64_t window_ = 1;              // units that came last
};

}  // namespace tasuki::pager
