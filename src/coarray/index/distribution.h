// distribution: which subscripts of one dimension a node has (XcalableMP 1.4, section 4.4, `distribute`).
// Index arithmetic only: no MPI, no memory.
//
//   run         begin, begin + step, ..: `count` subscripts
//   pieces      subscripts in several runs of equal step, in an order that is kept
//   coordinate  a node's index in the dimension of the node array, from 0
#pragma once

#include <cstdint>
#include <vector>

namespace tasuki::coarray {

struct Run {
  int64_t begin = 0, count = 0, step = 1;

  int64_t at(int64_t k) const { return begin + k * step; }
  int64_t last() const { return at(count - 1); }
  int64_t least() const { return step > 0 ? begin : last(); }
  int64_t most() const { return step > 0 ? last() : begin; }
  bool operator==(const Run&) const = default;
};

int64_t floor_div(int64_t a, int64_t b);  // b > 0
int64_t ceil_div(int64_t a, int64_t b);

// Parts of a run, in its order: what lies within [low, high]; what is `residue` modulo `modulus`; what
// `other` has too.
Run clip(const Run& run, int64_t low, int64_t high);
Run congruent(const Run& run, int64_t modulus, int64_t residue);
Run common(const Run& run, const Run& other);

// Run r is what `of` has within [low + r * low_step, high + r * high_step].
struct Pieces {
  Run of;
  int64_t runs = 0;
  int64_t low = 0, high = 0, low_step = 0, high_step = 0;

  Run run(int64_t r) const { return clip(of, low + r * low_step, high + r * high_step); }
  bool any() const;
};

class Distribution {
 public:
  enum class Kind { all, block, cyclic, gblock };

  static Distribution all(int64_t lower, int64_t upper);
  static Distribution block(int64_t lower, int64_t upper, int nodes,
                            int64_t width);  // width 0: as even as it gets
  static Distribution cyclic(int64_t lower, int64_t upper, int nodes, int64_t width);
  static Distribution gblock(int64_t lower, const std::vector<int64_t>& sizes);

  Kind kind() const { return kind_; }
  // Each node has one interval.
  bool contiguous() const { return kind_ != Kind::cyclic || nodes_ == 1; }
  int64_t lower() const { return lower_; }
  int64_t upper() const { return upper_; }
  int64_t width() const { return width_; }
  int nodes() const { return nodes_; }
  // gblock: the size of each node's block.
  int64_t size_of(int coordinate) const { return begin(coordinate + 1) - begin(coordinate); }

  // Who has it; lower() <= x <= upper().
  int owner(int64_t x) const;
  // Contiguous ones: the first subscript of a node, or where it would be; begin(nodes()) is upper() + 1.
  int64_t begin(int coordinate) const;
  // What a node has of a run, in the run's order.
  Pieces pieces(int coordinate, const Run& run) const;
  // Whether it has any of it.
  bool has(int coordinate, const Run& run) const { return pieces(coordinate, run).any(); }

 private:
  Kind kind_ = Kind::all;
  int64_t lower_ = 0, upper_ = -1, width_ = 1;
  int nodes_ = 1;
  std::vector<int64_t> starts_;  // gblock: nodes + 1
};

}  // namespace tasuki::coarray
