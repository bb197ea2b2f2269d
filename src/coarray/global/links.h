// links: the pieces that go between this node and others for one directive, as shapes at their places: computed once and used
// again for all arrays of the same geometry.
//
//   strip   of one dimension: local indices here and there that belong together, in the same order
//   box     a strip for each dimension: what goes between two nodes in one transfer
#pragma once

#include <functional>
#include <vector>

#include "coarray/global/arrays.h"
#include "coarray/transfer.h"

namespace tasuki::coarray {

// Element k of repetition r: to + k * to_step + r * to_again, and the same of from.
struct Strip {
  int64_t count = 0;
  int64_t to = 0, to_step = 1;
  int64_t from = 0, from_step = 1;
  int64_t repeat = 1, to_again = 0, from_again = 0;
};

// The elements that two sets of positions have in common, as strips. Positions are runs upwards that do not reach into each other; `to` and
// `from` give local indices, which are linear within a run and from one period of positions to the next (0: there is none).
std::vector<Strip> strips_of(const std::vector<Run>& to_positions, const std::vector<Run>& from_positions,
                             int64_t period, const std::function<int64_t(int64_t)>& to,
                             const std::function<int64_t(int64_t)>& from);

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
