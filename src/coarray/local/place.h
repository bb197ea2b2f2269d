// place: where the bytes of a reference are, and what a section is there. What moves them is in
// host_transfers.h and access/transfers.h.
#pragma once

#include <cstdint>

#include "coarray/index/shape.h"
#include "coarray/local/memory.h"

namespace tasuki::coarray {

// Where bytes of some image are. direct != nullptr: here; else `offset` in the segment's part of image
// `target`.
struct Place {
  char* direct = nullptr;
  Segment* segment = nullptr;
  int target = 0;  // index in the segment's team
  uint64_t offset = 0;
  bool device = false;  // in device memory; `direct` is an address of the device then
};

inline Place place_of(Segment* segment, int target, const void* p) {
  Place place;
  place.segment = segment;
  place.target = target;
  place.offset = static_cast<uint64_t>(static_cast<const char*>(p) - segment->begin);
  char* direct = segment->direct[static_cast<size_t>(target)];
  place.direct = direct != nullptr ? direct + place.offset : nullptr;
  return place;
}

// A section at its place: of its first element.
struct Operand {
  Place place;
  Extent extent;
};

inline Operand dense_operand(char* memory, uint64_t bytes) {
  Operand operand;
  operand.place.direct = memory;
  operand.extent.shape.block = bytes;
  operand.extent.high = static_cast<int64_t>(bytes);
  return operand;
}

// May bytes of both, which are here and in one memory, be the same?
inline bool overlap(const Operand& a, const Operand& b) {
  const char *a_begin = a.place.direct - a.extent.first + a.extent.low,
             *b_begin = b.place.direct - b.extent.first + b.extent.low;
  return a_begin < b_begin + (b.extent.high - b.extent.low) &&
         b_begin < a_begin + (a.extent.high - a.extent.low);
}

// When a transfer is through: at return (what was read may be changed, and what is here has arrived), or at
// complete().
enum class Through { at_return, at_complete };

}  // namespace tasuki::coarray
