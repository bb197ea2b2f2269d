// How much memory a region touches: what the message layer's cost model counts (message/cost/cost.h).
#include <algorithm>
#include <cmath>

#include "layout/layout_impl.h"

namespace tasuki::layout {
namespace {

double span_of(const Node& n) {
  return static_cast<double>(n.max) - static_cast<double>(n.min);
}

// Pieces of `size` bytes that runs touch on average, if each may begin anywhere in one.
double touched_by_runs(double bytes, double runs, double size) {
  return runs + (bytes - runs) / size;
}

// Of elements that begin an extent apart. Where each lies beyond the one before it, they share pieces at
// their ends only; where they lie within each other, as the columns of a matrix, each of their runs does.
uint64_t repeated(double of_one, const Region& r, double size) {
  const double further = static_cast<double>(r.count - 1);
  const double step = std::abs(static_cast<double>(extent(r.layout)));
  const double length = static_cast<double>(true_extent(r.layout));
  const double shared = step / size * (length <= step ? 1 : static_cast<double>(run_count(r.layout)));
  const double pieces = of_one + further * std::min(of_one, shared);
  return static_cast<uint64_t>(std::round(std::min(pieces, (further * step + length) / size + 1)));
}

}  // namespace

// No more than lie between a node's first byte and its last one, at each level: neighbours share pieces.
double touched(const Node& n, double size) {
  const double count = static_cast<double>(n.count);
  double pieces = 0;
  switch (n.kind) {
    case Kind::empty:
      return 0;
    case Kind::block:
      return touched_by_runs(static_cast<double>(n.size), 1, size);
    case Kind::strided:
    case Kind::indexed:
      pieces = count * (n.child == nullptr ? touched_by_runs(static_cast<double>(n.block), 1, size)
                                           : touched(*n.child, size));
      break;
    case Kind::blocks:
      pieces = touched_by_runs(static_cast<double>(n.size), count, size);
      break;
    case Kind::seq:
      for (uint64_t i = 0; i < n.count; i++) pieces += touched(*n.children[i], size);
      break;
  }
  return std::min(pieces, span_of(n) / size + 1);
}

Footprint footprint(const Region& r) {
  const uint64_t n = bytes(r);
  if (n == 0) return {};
  uint64_t runs = r.count * run_count(r.layout);
  if (run_count(r.layout) == 1 && extent(r.layout) == static_cast<int64_t>(size(r.layout))) runs = 1;
  return {n, runs, repeated(r.layout->lines, r, kLineBytes), repeated(r.layout->pages, r, kPageBytes)};
}

}  // namespace tasuki::layout
