// A region that leaves the pager with what it holds, and is ordinary memory from then on: where the program
// maps something of its own over a part of it.
#pragma once

#include "pager/core/residency.h"

namespace tasuki::pager {

class Withdrawal {
 public:
  Withdrawal(Mapper* mapper, Residency* residency, const Slots* slots, const Store* store)
      : mapper_(mapper), residency_(residency), slots_(slots), store_(store) {}

  // All of a watched region is in its place, also beyond the limit. False: transfers are under way; to be
  // called again. EBUSY: some of it cannot come (servers that are reached by messages; without userfaultfd).
  bool complete(Region* region, Status* status);

 private:
  bool fill(const Region& region, uint64_t unit, uint64_t* next);

  Mapper* mapper_;
  Residency* residency_;
  const Slots* slots_;
  const Store* store_;
};

}  // namespace tasuki::pager
