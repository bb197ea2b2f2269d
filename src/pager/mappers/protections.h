// What the program may do where, as it has asked by mprotect: of units that it may not read and write as all
// others. Kept by the mapper, since the kernel treats pages differently by it. By address, in units of 4 KiB.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "pager/run_set.h"

namespace tasuki::pager {

class Protections {
 public:
  // A union of these, which are the kernel's PROT_*.
  static constexpr int kNone = 0, kRead = 1, kWrite = 2, kExecute = 4, kUsual = kRead | kWrite;

  bool any() const { return any_; }
  int of(uint64_t unit) const {
    for (size_t p = 0; any_ && p < sets_.size(); p++)
      if (sets_[p].has(unit)) return static_cast<int>(p);
    return kUsual;
  }
  bool usual(uint64_t unit) const { return of(unit) == kUsual; }

  void set(uint64_t first, uint64_t count, int protection) {
    if (!any_ && protection == kUsual) return;
    for (RunSet& set : sets_) set.subtract(first, count);
    if (protection != kUsual) sets_[static_cast<size_t>(protection)].unite(first, count);
    any_ = std::any_of(sets_.begin(), sets_.end(), [](const RunSet& set) { return set.total() > 0; });
  }

  // Is there a unit in the range that is not as usual? That has this protection, which is not the usual one?
  bool any_in(uint64_t first, uint64_t count) const {
    return any_ && std::any_of(sets_.begin(), sets_.end(),
                               [&](const RunSet& set) { return set.meets(first, count); });
  }
  bool any_in(uint64_t first, uint64_t count, int protection) const {
    return any_ && sets_[static_cast<size_t>(protection)].meets(first, count);
  }
  // What all of them have; -1: not the same.
  int of_all(uint64_t first, uint64_t count) const {
    const int one = of(first);
    const bool all =
        one == kUsual ? !any_in(first, count) : sets_[static_cast<size_t>(one)].covers(first, count);
    return all ? one : -1;
  }

 private:
  std::array<RunSet, 8> sets_;  // by protection; that of the usual one stays empty
  bool any_ = false;
};

}  // namespace tasuki::pager
