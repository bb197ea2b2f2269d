#include "coarray/index/iterations.h"

#include <algorithm>
#include <utility>

namespace tasuki::coarray {
namespace {

struct Interval {
  int64_t low, high;
  bool empty() const { return low > high; }
};

// Two runs, of which either may be empty, in the direction of the loop.
Pieces two(const Run& of, Interval first, Interval second) {
  if (of.step < 0) std::swap(first, second);
  return {of, 2, first.low, first.high, second.low - first.low, second.high - first.high};
}

// What `a` has and `b` has not.
Pieces without(const Run& of, const Interval& a, const Interval& b) {
  if (a.empty()) return {};
  if (b.empty()) return {of, 1, a.low, a.high};
  return two(of, {a.low, std::min(a.high, b.low - 1)}, {std::max(a.low, b.high + 1), a.high});
}

}  // namespace

Pieces iterations(const Distribution& d, int coordinate, const Run& loop, const Edges& edges, Part part) {
  const Pieces plain = d.pieces(coordinate, loop);
  if (!d.contiguous() || (edges.below == 0 && edges.above == 0))
    return part == Part::more || part == Part::less ? Pieces{} : plain;
  const Run mine = plain.runs > 0 ? plain.run(0) : Run{};
  if (mine.count == 0) return {};
  // "Subtracted from the local lower bound", "added to the local upper bound": of the iterations, not of the
  // template's block.
  const Interval original = {mine.least(), mine.most()};
  Interval expanded = {original.low - edges.below, original.high + edges.above};
  Run all = loop;
  if (edges.unbound) {
    const int64_t step = loop.step > 0 ? loop.step : -loop.step;
    const int64_t less = std::max<int64_t>(0, edges.below) / step,
                  more = std::max<int64_t>(0, edges.above) / step;
    all.begin -= (loop.step > 0 ? less : more) * loop.step;
    all.count += less + more;
  } else {
    expanded = {std::max(expanded.low, loop.least()), std::min(expanded.high, loop.most())};
  }
  switch (part) {
    case Part::expanded:
      return {all, 1, expanded.low, expanded.high};
    case Part::original:
      return {all, 1, original.low, original.high};
    case Part::inner:
      return {all, 1, std::max(expanded.low, original.low), std::min(expanded.high, original.high)};
    case Part::more:
      return without(all, expanded, original);
    case Part::less:
      break;
  }
  return without(all, original, expanded);
}

}  // namespace tasuki::coarray
