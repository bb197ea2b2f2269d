// A set of slots as a bit for each: one thirty-thousandth of what pages of 4 KiB take.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "pager/own_memory.h"

namespace tasuki::cluster {

class SlotSet {
 public:
  explicit SlotSet(uint64_t slots) : words_((slots + 63) / 64) {}

  void insert(uint64_t begin, uint64_t end) {
    each(begin, end, [](uint64_t* word, uint64_t mask) { *word |= mask; });
  }
  void erase(uint64_t begin, uint64_t end) {
    each(begin, end, [](uint64_t* word, uint64_t mask) { *word &= ~mask; });
  }

  struct Stretch {
    uint64_t begin, end;
    bool empty() const { return begin == end; }
  };
  // The first of its slots between `begin` and `end`, and those that follow there.
  Stretch first_in(uint64_t begin, uint64_t end) const {
    const uint64_t first = find(begin, end, 0);
    return {first, find(first, end, UINT64_MAX)};
  }
  uint64_t count(uint64_t begin, uint64_t end) const {
    uint64_t sum = 0;
    for (Stretch s = first_in(begin, end); !s.empty(); s = first_in(s.end, end)) sum += s.end - s.begin;
    return sum;
  }

 private:
  template <class F>
  void each(uint64_t begin, uint64_t end, F f) {
    for (uint64_t at = begin; at < end;) {
      const uint64_t stop = std::min(end, (at / 64 + 1) * 64);
      f(&words_[at / 64], (~uint64_t{0} >> (64 - (stop - at))) << at % 64);
      at = stop;
    }
  }
  // The first slot whose bit, differing from `flip`'s, is set; `end`: none.
  uint64_t find(uint64_t begin, uint64_t end, uint64_t flip) const {
    for (uint64_t at = begin; at < end; at = (at / 64 + 1) * 64) {
      const uint64_t rest = (words_[at / 64] ^ flip) >> at % 64;
      if (rest != 0) return std::min(end, at + static_cast<uint64_t>(std::countr_zero(rest)));
    }
    return end;
  }

  pager::OwnVector<uint64_t> words_;
};

}  // namespace tasuki::cluster
