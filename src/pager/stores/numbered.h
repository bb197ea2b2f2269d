// What a store has under way, by numbers that are used again. Memory as own_memory.h says.
#pragma once

#include <cstdint>

#include "pager/own_memory.h"

namespace tasuki::pager {

template <class T>
class Numbered {
 public:
  // The number under which it is kept until leave().
  uint32_t enter(const T& one) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(all_.size()));
      all_.emplace_back();
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    all_[number] = one;
    return number;
  }
  void leave(uint32_t number) { free_.push_back(number); }

  // Numbers that ever were.
  size_t size() const { return all_.size(); }
  T& operator[](uint64_t number) { return all_[number]; }
  const T& operator[](uint64_t number) const { return all_[number]; }

 private:
  OwnVector<T> all_;
  OwnVector<uint32_t> free_;
};

}  // namespace tasuki::pager
