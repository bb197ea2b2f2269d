// gmove_plan: which elements of an assignment between sections go between this node and others (XcalableMP
// 1.4, section 4.6.2).
//
//   side       one operand: a section of a distributed array, or of memory that each node has for itself
//   position   index in a dimension of the assignment, from 0: dimensions of more than one element are paired in their order
//   way        pull: the nodes that have the left side fetch their elements; push: those with the right side store them
#pragma once

#include <string>
#include <vector>

#include "coarray/global/exchange/links.h"

namespace tasuki::coarray {

struct Side {
  const Geometry* geometry = nullptr;  // nullptr: memory of this node
  uint64_t element = 0;
  std::vector<Run> run;         // subscripts, by dimension
  std::vector<int64_t> stride;  // bytes from one local index to the next
  std::vector<size_t> paired;   // dimensions with several elements
  uint64_t elements = 1;

  // The positions of a paired dimension that a coordinate has, upwards.
  std::vector<Run> positions(size_t d, int coordinate) const;
  int64_t local(size_t d, int coordinate, int64_t position) const;
  int64_t period(size_t d) const;  // of positions, 0: none
};

Side side_of(const tasuki_xmp_global_section& section, Arrays* arrays, Where where);

enum class Way { pull, push };

struct Plan {
  bool single = false;  // one element goes to all of the left side
  bool remote = false;  // some node reads memory of others
  bool staged = false;  // elements are overwritten that others, or this node, still have to read
  std::vector<Link> links;
  uint64_t bytes = 0;  // in all links
};

// `executing`: ranks of the nodes that execute the assignment, `own_rank` among them. `same_memory`: both
// sides are the same array.
Plan plan_of(const Side& to, const Side& from, Way way, bool same_memory, const std::vector<int>& executing,
             int own_rank);

}  // namespace tasuki::coarray
