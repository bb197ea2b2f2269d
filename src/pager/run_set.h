// A set of units as runs of addresses, for free memory and free address space: neighbours join.
#pragma once

#include <cstdint>
#include <iterator>

#include "pager/own_memory.h"

namespace tasuki::pager {

class RunSet {
 public:
  uint64_t total() const { return total_; }

  void add(uint64_t first, uint64_t count) {
    if (count == 0) return;
    total_ += count;
    auto next = runs_.lower_bound(first);
    if (next != runs_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == first) {
        before->second += count;
        if (next != runs_.end() && next->first == first + count) {
          before->second += next->second;
          runs_.erase(next);
        }
        return;
      }
    }
    if (next != runs_.end() && next->first == first + count) {
      count += next->second;
      next = runs_.erase(next);
    }
    runs_.emplace_hint(next, first, count);
  }

  // Takes a run of `want` units, or the longest of the few that it looks at; the search goes on where the
  // last ended, so that freed memory rests a while and its neighbours can join. 0: the set is empty.
  uint64_t take(uint64_t want, uint64_t* first) {
    if (runs_.empty()) return 0;
    auto at = runs_.lower_bound(next_);
    auto best = runs_.end();
    for (int looked = 0; looked < 16; looked++, ++at) {
      if (at == runs_.end()) at = runs_.begin();
      if (best == runs_.end() || at->second > best->second) best = at;
      if (best->second >= want) break;
      if (runs_.size() <= static_cast<size_t>(looked) + 1) break;
    }
    *first = best->first;
    const uint64_t got = best->second < want ? best->second : want;
    if (got == best->second) {
      runs_.erase(best);
    } else {
      auto node = runs_.extract(best);
      node.key() += got;
      node.mapped() -= got;
      runs_.insert(std::move(node));
    }
    next_ = *first + got;
    total_ -= got;
    return got;
  }

  // Takes up to `want` units that begin exactly at `first`; how many there are.
  uint64_t take_at(uint64_t first, uint64_t want) {
    auto at = runs_.upper_bound(first);
    if (at == runs_.begin()) return 0;
    --at;
    const uint64_t end = at->first + at->second;
    if (first >= end) return 0;
    const uint64_t got = end - first < want ? end - first : want;
    at->second = first - at->first;
    if (at->second == 0) runs_.erase(at);
    if (first + got < end) runs_.emplace(first + got, end - first - got);
    total_ -= got;
    return got;
  }

  bool has(uint64_t unit) const { return run_at(unit) > 0; }
  // All of the range, or one of it.
  bool covers(uint64_t first, uint64_t count) const { return run_at(first) >= count; }
  bool meets(uint64_t first, uint64_t count) const {
    if (run_at(first) > 0) return true;
    const auto next = runs_.upper_bound(first);
    return next != runs_.end() && next->first < first + count;
  }
  // The range is in the set from now on, or is not, whatever of it was.
  void unite(uint64_t first, uint64_t count) {
    in_parts(first, count, [this](uint64_t from, uint64_t units, bool in) {
      if (!in) add(from, units);
    });
  }
  void subtract(uint64_t first, uint64_t count) {
    in_parts(first, count, [this](uint64_t from, uint64_t units, bool in) {
      if (in) take_at(from, units);
    });
  }
  // For each stretch of the range that is in the set as a whole, or not at all: part(first, count, in). That
  // may add or take the stretch.
  template <class Part>
  void in_parts(uint64_t first, uint64_t count, const Part& part) {
    for (const uint64_t end = first + count; first < end;) {
      const uint64_t run = run_at(first);
      const auto next = runs_.upper_bound(first);
      const uint64_t limit = run > 0 ? first + run : next == runs_.end() ? end : next->first;
      const uint64_t here = (limit < end ? limit : end) - first;
      part(first, here, run > 0);
      first += here;
    }
  }

  // Where the run begins that ends exactly there; `end` if none does.
  uint64_t begin_of_run_to(uint64_t end) const {
    auto at = runs_.lower_bound(end);
    if (at == runs_.begin()) return end;
    --at;
    return at->first + at->second == end ? at->first : end;
  }

 private:
  // How many units from `first` on are in it.
  uint64_t run_at(uint64_t first) const {
    auto at = runs_.upper_bound(first);
    if (at == runs_.begin()) return 0;
    --at;
    const uint64_t end = at->first + at->second;
    return first < end ? end - first : 0;
  }

  OwnMap<uint64_t, uint64_t> runs_;  // first -> count
  uint64_t total_ = 0, next_ = 0;
};

}  // namespace tasuki::pager
