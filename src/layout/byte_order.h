// Byte order: packed bytes that the layout's copies know nothing of are elements of known sizes; "external32"
// (MPI-4.0, 14.5.2) wants each of them with its most significant byte first.
//
// Not shared between tasks: std:: containers are allowed here.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/layout.h"

namespace tasuki::layout {

// `count` elements of `size` bytes behind each other: 1, 2, 4 or 8 bytes.
struct ElementRun {
  uint64_t size, count;
};

// The elements of a stream of packed bytes: these runs, again and again.
struct Elements {
  std::vector<ElementRun> runs;
};

// The elements of types, put together as constructors do. A pattern of more runs than kMostRuns is not kept.
class ElementsBuilder {
 public:
  static constexpr size_t kMostRuns = 1024;
  void append(uint64_t size, uint64_t count);
  void append(const ElementsBuilder& child, uint64_t copies);
  bool complete() const { return complete_; }
  Elements take();

 private:
  void write_out();
  std::vector<ElementRun> runs_;
  uint64_t repeats_ = 1;
  bool complete_ = true;
};

// Reverses the bytes of elements, from the first one on, in as many calls as the caller likes.
class ByteSwapper {
 public:
  explicit ByteSwapper(const Elements& elements) : runs_(&elements.runs) {}
  // Moves the next whole elements that fit into `most` bytes from `in` to `out` (the same address, or apart),
  // reversed. Returns their bytes.
  uint64_t swap(char* out, const char* in, uint64_t most);

 private:
  const std::vector<ElementRun>* runs_;
  size_t run_ = 0;
  uint64_t done_ = 0;  // elements of that run
};

// As pack and unpack of the whole region, with the bytes of every element reversed. `elements` are not empty
// if the region is not.
void pack_swapped(char* out, const Region& src, const Elements& elements);
void unpack_swapped(const Region& dst, const char* in, const Elements& elements);

}  // namespace tasuki::layout
