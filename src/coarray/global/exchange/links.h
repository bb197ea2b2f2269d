// links: the pieces that go between this node and others for one directive, as shapes at their places:
// computed once and used again for all arrays of the same geometry.
//
//   box     a strip for each dimension: what goes between two nodes in one transfer
#pragma once

#include <vector>

#include "coarray/global/records/arrays.h"
#include "coarray/index/strips.h"
#include "coarray/local/place.h"

namespace tasuki::coarray {

// The same elements in the memory of two nodes. Places are bound to memory when the link is used.
struct Link {
  static constexpr int kHere = -1;  // a rank: memory of this node that is no distributed array

  int to_rank = 0, from_rank = 0;  // in MPI_COMM_WORLD
  int64_t to_at = 0, from_at = 0;  // bytes from the beginning of the memory
  Operand to, from;
};

class Box {
 public:
  // single: one element goes to all of `to`.
  explicit Box(uint64_t element, bool single = false) : element_(element), single_(single) {}
  // Outermost dimension first; bytes from one local index to the next.
  void add(const Strip& strip, int64_t to_stride, int64_t from_stride);
  // At one place.
  void move(int64_t to_bytes, int64_t from_bytes);
  Link link(int to_rank, int from_rank) const;

 private:
  struct Level {
    int64_t count, to, from;
  };
  uint64_t element_;
  bool single_;
  std::vector<Level> levels_;
  int64_t to_at_ = 0, from_at_ = 0;
};

// The place of an array's byte on a node. Fails if the node has no part of the memory.
Place place_in(const Held& held, int rank, int64_t at, Where where);

}  // namespace tasuki::coarray
