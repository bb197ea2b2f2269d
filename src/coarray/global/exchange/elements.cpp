#include "coarray/global/exchange/elements.h"

#include <algorithm>
#include <numeric>

namespace tasuki::coarray {

ElementMap::ElementMap(const Held& held, const Team& team, const char* name, Where where) : held_(held) {
  const Geometry& g = geometry();
  const Template& space = *g.space;
  factor_.assign(dimensions(), 0);
  copies_ = {0};
  if (space.everywhere) {
    index_.resize(static_cast<size_t>(team.size()));
    std::iota(index_.begin(), index_.end(), 0);
    copies_ = index_;
    near_ = team.me;
    speaks_ = team.me == 0;
  } else {
    speaks_ = g.mine;
    int factor = 1;
    for (size_t n = 0; n < space.sizes.size(); factor *= space.sizes[n++]) {
      if (g.axis_of[n] >= 0) {
        factor_[static_cast<size_t>(g.axis_of[n])] = factor;
        continue;
      }
      const int only = g.only[n], size = space.sizes[n];
      const int near = only >= 0 ? only : space.member ? space.own[n] : team.me % size;
      near_ += near * factor;
      if (only < 0) speaks_ = speaks_ && near == 0;
      std::vector<int> more;
      for (int copy : copies_)
        for (int c = only >= 0 ? only : 0; c < (only >= 0 ? only + 1 : size); c++)
          more.push_back(copy + c * factor);
      copies_ = more;
    }
    std::vector<int> node(space.sizes.size());
    for (size_t i = 0; i < space.ranks.size(); i++) {
      index_.push_back(team.index[static_cast<size_t>(space.ranks[i])]);
      auto rest = static_cast<int>(i);
      for (size_t n = 0; n < node.size(); rest /= space.sizes[n++]) node[n] = rest % space.sizes[n];
      if (index_.back() < 0 && g.has(node))
        fail(where, "a node that has a part of '%s' does not execute this", name);
    }
  }
  for (size_t d = 0; d < dimensions(); d++) {
    const Axis& axis = g.axis[d];
    const int coordinate = g.coordinate(d, space.own);
    mine_.emplace_back();
    if (!g.mine) continue;
    const Pieces pieces = axis.owned(coordinate, {0, axis.extent, 1});
    for (int64_t r = 0; r < pieces.runs; r++) {
      const Run run = pieces.run(r);
      for (int64_t k = 0; k < run.count; k++)
        mine_[d].push_back(
            {run.at(k), axis.local(coordinate, run.at(k)) * axis.stride * static_cast<int64_t>(g.element)});
    }
  }
}

int64_t ElementMap::count() const {
  int64_t result = 1;
  for (const Axis& axis : geometry().axis) result *= axis.extent;
  return result;
}

int64_t ElementMap::owned() const {
  int64_t result = 1;
  for (const std::vector<Mine>& some : mine_) result *= static_cast<int64_t>(some.size());
  return result;
}

void ElementMap::subscripts_of(int64_t number, int64_t* x) const {
  for (size_t d = dimensions(); d-- > 0; number /= extent(d)) x[d] = number % extent(d);
}

int ElementMap::place(const int64_t* x, int64_t* at) const {
  int node = 0;
  *at = 0;
  for (size_t d = 0; d < dimensions(); d++) {
    const Axis& axis = geometry().axis[d];
    const int coordinate = axis.node_dimension < 0 ? 0 : axis.distribution->owner(x[d] + axis.offset);
    node += coordinate * factor_[d];
    *at += axis.local(coordinate, x[d]) * axis.stride;
  }
  *at *= static_cast<int64_t>(geometry().element);
  return node;
}

Spot ElementMap::nearest(const int64_t* x) const {
  Spot spot;
  const int node = place(x, &spot.at) + near_;
  spot.node = index_[static_cast<size_t>(node)];
  return spot;
}

}  // namespace tasuki::coarray
