// Distributions and loops against counting one by one.
#include "coarray/global/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "coarray/global/iterations.h"

namespace tasuki::coarray {
namespace {

using Subscripts = Run;  // Run is a member of every test

std::mt19937 generator(11);
int pick(int from, int to) {
  return std::uniform_int_distribution<int>(from, to)(generator);
}

Run any_run() {
  const int step = pick(1, 6);
  return {pick(-30, 30), pick(0, 25), pick(0, 1) == 1 ? step : -step};
}

std::vector<int64_t> elements(const Run& run) {
  std::vector<int64_t> all;
  for (int64_t k = 0; k < run.count; k++) all.push_back(run.at(k));
  return all;
}

std::vector<int64_t> elements(const Pieces& pieces) {
  std::vector<int64_t> all;
  for (int64_t r = 0; r < pieces.runs; r++)
    for (int64_t x : elements(pieces.run(r))) all.push_back(x);
  return all;
}

template <typename Condition>
std::vector<int64_t> those(const Run& run, Condition condition) {
  std::vector<int64_t> all;
  for (int64_t x : elements(run))
    if (condition(x)) all.push_back(x);
  return all;
}

// A distribution, and the owner of each subscript from lower, found by dealing out as the specification says.
struct Dealt {
  Distribution distribution;
  std::vector<int> owner;
};

Dealt any_distribution() {
  const int lower = pick(-9, 9), size = pick(1, 40), nodes = pick(1, 7);
  const int64_t upper = lower + size - 1;
  std::vector<int> owner;
  switch (pick(0, 3)) {
    case 0:
      return {Distribution::all(lower, upper), std::vector<int>(static_cast<size_t>(size), 0)};
    case 1: {
      const int even = (size + nodes - 1) / nodes, width = even + pick(0, 3);
      for (int i = 0; i < size; i++) owner.push_back(i / width);
      return {Distribution::block(lower, upper, nodes, width == even ? 0 : width), owner};
    }
    case 2: {
      const int width = pick(1, 6);
      for (int i = 0, node = 0; i < size; i++) {
        owner.push_back(node);
        if (i % width == width - 1) node = (node + 1) % nodes;
      }
      return {Distribution::cyclic(lower, upper, nodes, width), owner};
    }
    default: {
      std::vector<int64_t> sizes;
      for (int left = size, node = 0; node < nodes; node++) {
        const int part = node == nodes - 1 ? left : pick(0, left);
        sizes.push_back(part);
        owner.insert(owner.end(), static_cast<size_t>(part), node);
        left -= part;
      }
      return {Distribution::gblock(lower, sizes), owner};
    }
  }
}

TEST(Distribution, parts_of_runs_are_those_of_their_elements) {
  for (int round = 0; round < 20000; round++) {
    const Subscripts a = any_run(), b = any_run();
    const int low = pick(-60, 60), high = low + pick(-2, 40), modulus = pick(1, 12), residue = pick(-20, 20);
    ASSERT_EQ(elements(clip(a, low, high)), those(a, [&](int64_t x) { return x >= low && x <= high; }));
    ASSERT_EQ(elements(congruent(a, modulus, residue)),
              those(a, [&](int64_t x) { return (x - residue) % modulus == 0; }));
    const std::vector<int64_t> others = elements(b);
    ASSERT_EQ(elements(common(a, b)), those(a, [&](int64_t x) {
                return std::find(others.begin(), others.end(), x) != others.end();
              }));
  }
}

TEST(Distribution, every_subscript_is_where_it_was_dealt_to) {
  for (int round = 0; round < 5000; round++) {
    const Dealt dealt = any_distribution();
    const Distribution& d = dealt.distribution;
    const auto owner = [&](int64_t x) { return dealt.owner[static_cast<size_t>(x - d.lower())]; };
    for (int64_t x = d.lower(); x <= d.upper(); x++) ASSERT_EQ(d.owner(x), owner(x));
    const Subscripts run = any_run();
    for (int c = 0; c < d.nodes(); c++) {
      const auto mine =
          those(run, [&](int64_t x) { return x >= d.lower() && x <= d.upper() && owner(x) == c; });
      ASSERT_EQ(elements(d.pieces(c, run)), mine);
      ASSERT_EQ(d.has(c, run), !mine.empty());
    }
  }
}

TEST(Distribution, a_loop_is_executed_once_and_in_order) {
  for (int round = 0; round < 5000; round++) {
    const Dealt dealt = any_distribution();
    const Distribution& d = dealt.distribution;
    const Subscripts loop = clip(any_run(), d.lower(), d.upper());
    std::multiset<int64_t> executed;
    for (int c = 0; c < d.nodes(); c++)
      for (int64_t x : elements(iterations(d, c, loop, {}, Part::expanded))) executed.insert(x);
    const std::vector<int64_t> all = elements(loop);
    ASSERT_EQ(executed, std::multiset<int64_t>(all.begin(), all.end()));
  }
}

TEST(Distribution, expanded_loops_and_their_margins_are_the_sets_of_the_specification) {
  for (int round = 0; round < 20000; round++) {
    const Dealt dealt = any_distribution();
    const Distribution& d = dealt.distribution;
    if (!d.contiguous()) continue;
    const Subscripts loop = any_run();
    const Edges edges = {pick(-6, 6), pick(-6, 6), pick(0, 1) == 1};
    for (int c = 0; c < d.nodes(); c++) {
      const auto of = [&](Part part) { return elements(iterations(d, c, loop, edges, part)); };
      const std::vector<int64_t> original = elements(d.pieces(c, loop));
      std::vector<int64_t> expanded;
      if (!original.empty()) {
        const auto [low, high] = std::minmax_element(original.begin(), original.end());
        const Subscripts longer = {loop.begin - 6 * loop.step, loop.count + 12, loop.step};
        expanded = those(edges.unbound ? longer : loop,
                         [&](int64_t x) { return x >= *low - edges.below && x <= *high + edges.above; });
      }
      const auto in = [](const std::vector<int64_t>& all, int64_t x) {
        return std::find(all.begin(), all.end(), x) != all.end();
      };
      const auto filtered = [&](const std::vector<int64_t>& all, const std::vector<int64_t>& by,
                                bool wanted) {
        std::vector<int64_t> result;
        for (int64_t x : all)
          if (in(by, x) == wanted) result.push_back(x);
        return result;
      };
      ASSERT_EQ(of(Part::expanded), expanded);
      ASSERT_EQ(of(Part::original), original);
      ASSERT_EQ(of(Part::inner), filtered(original, expanded, true));
      ASSERT_EQ(of(Part::more), filtered(expanded, original, false));
      ASSERT_EQ(of(Part::less), filtered(original, expanded, false));
    }
  }
}

}  // namespace
}  // namespace tasuki::coarray
