// A set of slots as ranges that neither overlap nor touch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pager/own_memory.h"

namespace tasuki::cluster {

class Ranges {
 public:
  bool empty() const { return ranges_.empty(); }
  uint64_t size() const { return size_; }  // slots

  void insert(uint64_t begin, uint64_t end) {
    erase(begin, end);
    size_ += end - begin;
    auto next = ranges_.lower_bound(begin);
    if (next != ranges_.end() && next->first == end) {
      end = next->second;
      next = ranges_.erase(next);
    }
    if (next != ranges_.begin()) {
      const auto before = std::prev(next);
      if (before->second == begin) {
        before->second = end;
        return;
      }
    }
    ranges_.emplace_hint(next, begin, end);
  }

  void erase(uint64_t begin, uint64_t end) {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second > begin) --at;
    while (at != ranges_.end() && at->first < end) {
      const uint64_t first = at->first, last = at->second;
      size_ -= std::min(last, end) - std::max(first, begin);
      at = ranges_.erase(at);
      if (first < begin) ranges_.emplace_hint(at, first, begin);
      if (last > end) at = ranges_.emplace_hint(at, end, last);
    }
  }

  // A range of at least so many slots.
  bool find(uint64_t units, uint64_t* begin) const {
    for (const auto& [first, last] : ranges_) {
      if (last - first < units) continue;
      *begin = first;
      return true;
    }
    return false;
  }

  // Removes the first range, or its first `most` slots; the set is not empty.
  std::pair<uint64_t, uint64_t> pop(uint64_t most) {
    const auto [begin, end] = *ranges_.begin();
    const uint64_t stop = end - begin > most ? begin + most : end;
    erase(begin, stop);
    return {begin, stop};
  }

 private:
  pager::OwnMap<uint64_t, uint64_t> ranges_;  // begin -> end
  uint64_t size_ = 0;
};

}  // namespace tasuki::cluster
