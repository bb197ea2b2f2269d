// What is built from a shape once and then found again: layouts, MPI datatypes. A small table; what falls out
// is freed when a few more have: one transfer uses two values.
#pragma once

#include <array>

#include "coarray/index/shape.h"

namespace tasuki::coarray {

// Maker: static Value make(const Shape&), static void free(Value).
template <typename Value, typename Maker>
class ShapeCache {
 public:
  ~ShapeCache() { clear(); }

  Value get(const Shape& shape) {
    Entry& entry = entries_[hash(shape) % entries_.size()];
    if (entry.used && entry.shape == shape) return entry.value;
    Value value = Maker::make(shape);
    if (entry.used) {
      Leaving& leaving = leaving_[evictions_++ % leaving_.size()];
      if (leaving.used) Maker::free(leaving.value);
      leaving = {entry.value, true};
    }
    entry = {shape, value, true};
    return value;
  }

  void clear() {
    for (Entry& entry : entries_) {
      if (entry.used) Maker::free(entry.value);
      entry.used = false;
    }
    for (Leaving& leaving : leaving_) {
      if (leaving.used) Maker::free(leaving.value);
      leaving.used = false;
    }
  }

 private:
  struct Entry {
    Shape shape;
    Value value{};
    bool used = false;
  };
  struct Leaving {
    Value value{};
    bool used = false;
  };
  std::array<Entry, 256> entries_;
  std::array<Leaving, 4> leaving_;
  size_t evictions_ = 0;
};

}  // namespace tasuki::coarray
