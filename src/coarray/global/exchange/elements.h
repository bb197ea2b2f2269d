// elements: which elements of a distributed array this node has, and which nodes have any given one. For
// procedures whose elements go where the data say, so that no plan can be made before.
//
//   number   an element's position in the order of the array's elements (the last subscript varies fastest)
//   spot     an element's place: a node, and bytes in its memory of the array
#pragma once

#include <cstdint>
#include <vector>

#include "coarray/global/records/arrays.h"
#include "coarray/local/team.h"

namespace tasuki::coarray {

struct Spot {
  int node = 0;  // index in the team
  int64_t at = 0;
};

class ElementMap {
 public:
  // Every node that has a part of the array must be in the team.
  ElementMap(const Held& held, const Team& team, const char* name, Where where);

  const Geometry& geometry() const { return *held_.geometry; }
  size_t dimensions() const { return geometry().axis.size(); }
  int64_t extent(size_t d) const { return geometry().axis[d].extent; }
  int64_t count() const;                                                              // on all nodes together
  int64_t owned() const;                                                              // on this node
  int64_t owned_in(size_t d) const { return static_cast<int64_t>(mine_[d].size()); }  // subscripts
  char* memory() const { return held_.segment->begin + held_.offset; }
  // Of the nodes that have copies of the same elements, this is the one that sends them.
  bool speaks() const { return speaks_; }

  void subscripts_of(int64_t number, int64_t* x) const;
  // The copy that this node reads: its own, if it has one.
  Spot nearest(const int64_t* x) const;
  // visit(spot) for each copy.
  template <typename Visit>
  void each_copy(const int64_t* x, Visit visit) const {
    int64_t at = 0;
    const int node = place(x, &at);
    for (int copy : copies_) visit(Spot{index_[static_cast<size_t>(node + copy)], at});
  }
  // visit(number, at) for this node's elements, in their order.
  template <typename Visit>
  void each_owned(Visit visit) const {
    if (owned() == 0) return;
    std::vector<size_t> now(dimensions(), 0);
    for (;;) {
      int64_t number = 0, at = 0;
      for (size_t d = 0; d + 1 < now.size(); d++) {
        number = (number + mine_[d][now[d]].x) * extent(d + 1);
        at += mine_[d][now[d]].at;
      }
      for (const Mine& last : mine_.back()) visit(number + last.x, at + last.at);
      size_t d = now.size() - 1;
      while (d-- > 0 && ++now[d] == mine_[d].size()) now[d] = 0;
      if (d == ~size_t{0}) return;
    }
  }

 private:
  struct Mine {
    int64_t x, at;  // a subscript, and the bytes that it moves the element by
  };
  // The node by its distributed dimensions, and where it has the element.
  int place(const int64_t* x, int64_t* at) const;

  Held held_;
  std::vector<std::vector<Mine>> mine_;  // by dimension
  std::vector<int> factor_;              // by dimension: from one coordinate to the next
  std::vector<int> index_;               // by node of the node array: in the team
  std::vector<int> copies_;              // what leads to the other nodes with the same elements
  int near_ = 0;                         // of these, the one that this node reads
  bool speaks_ = false;
};

}  // namespace tasuki::coarray
