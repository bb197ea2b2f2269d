// A set of address ranges: sorted, disjoint, adjacent ones joined. Memory comes straight from the kernel, so
// that it can be used below malloc, and a set is never destroyed, since libraries unmap memory while the
// process ends. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::task {

struct Range {
  uintptr_t begin, end;  // end: one behind the last byte
};

class RangeSet {
 public:
  void add(uintptr_t begin, uintptr_t end);
  void remove(uintptr_t begin, uintptr_t end);
  bool covers(uintptr_t begin, uintptr_t end) const;
  void release();  // empties it, and gives its memory back
  size_t size() const { return count_; }
  const Range* begin() const { return ranges_; }
  const Range* end() const { return ranges_ + count_; }

 private:
  bool reserve_one();
  size_t first_ending_at_or_after(uintptr_t address) const;

  Range* ranges_ = nullptr;
  size_t count_ = 0;
  size_t capacity_ = 0;
};

}  // namespace tasuki::task
