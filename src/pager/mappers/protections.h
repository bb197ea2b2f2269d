// What the program may do where, as it has asked by mprotect: of units that it may not read and write as all
// others. Kept by the mapper, since the kernel treats pages differently by it. By address, in units of 4 KiB.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "pager/own_memory.h"

namespace tasuki::pager {

class Protections {
 public:
  // A union of these, which are the kernel's PROT_*.
  static constexpr int kNone = 0, kRead = 1, kWrite = 2, kExecute = 4, kUsual = kRead | kWrite;

  bool any() const { return !runs_.empty(); }
  int of(uint64_t unit) const {
    if (runs_.empty()) [[likely]]
      return kUsual;
    const auto at = run_of(unit);
    return at != runs_.end() ? at->second.protection : kUsual;
  }
  bool usual(uint64_t unit) const { return of(unit) == kUsual; }

  void set(uint64_t first, uint64_t count, int protection) {
    if (count == 0 || (runs_.empty() && protection == kUsual)) return;
    split(first);
    split(first + count);
    runs_.erase(runs_.lower_bound(first), runs_.lower_bound(first + count));
    if (protection == kUsual) return;
    const auto added = runs_.insert_or_assign(first, Run{count, protection}).first;
    join(added);
    if (added != runs_.begin()) join(std::prev(added));
  }

  // Is there a unit in the range that is not as usual?
  bool any_in(uint64_t first, uint64_t count) const {
    if (runs_.empty()) return false;
    if (run_of(first) != runs_.end()) return true;
    const auto next = runs_.lower_bound(first);
    return next != runs_.end() && next->first < first + count;
  }

 private:
  struct Run {
    uint64_t count;
    int protection;
  };
  using Runs = OwnMap<uint64_t, Run>;  // by the first unit

  Runs::const_iterator run_of(uint64_t unit) const {
    auto at = runs_.upper_bound(unit);
    if (at == runs_.begin()) return runs_.end();
    --at;
    return unit < at->first + at->second.count ? at : runs_.end();
  }
  // No run reaches across the beginning of the unit.
  void split(uint64_t unit) {
    auto at = runs_.lower_bound(unit);
    if (at == runs_.begin()) return;
    --at;
    const uint64_t end = at->first + at->second.count;
    if (end <= unit) return;
    at->second.count = unit - at->first;
    runs_.emplace(unit, Run{end - unit, at->second.protection});
  }
  void join(Runs::iterator at) {
    const auto next = std::next(at);
    if (next == runs_.end() || next->first != at->first + at->second.count ||
        next->second.protection != at->second.protection)
      return;
    at->second.count += next->second.count;
    runs_.erase(next);
  }

  Runs runs_;
};

}  // namespace tasuki::pager
