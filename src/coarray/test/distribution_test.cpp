// Distributions and loops against counting one by one.
#include "coarray/index/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "coarray/index/iterations.h"
#include "coarray/index/strips.h"

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
        const auto ends = std::minmax_element(original.begin(), original.end());
        const int64_t low = *ends.first, high = *ends.second;
        const Subscripts longer = {loop.begin - 6 * loop.step, loop.count + 12, loop.step};
        expanded = those(edges.unbound ? longer : loop,
                         [&](int64_t x) { return x >= low - edges.below && x <= high + edges.above; });
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

// The memory index of a subscript on its node: the blocks of the node, one after the other.
int64_t local_index(const Distribution& d, int64_t x) {
  if (d.contiguous()) return x - d.begin(d.owner(x));
  const int64_t round = d.width() * d.nodes(), ahead = x - d.lower();
  return ahead / round * d.width() + ahead % d.width();
}

int64_t period_of(const Distribution& d, int64_t step) {
  return d.contiguous() ? 1 : d.width() * d.nodes() / std::gcd(d.width() * d.nodes(), step);
}

// Positions of a run's elements that a coordinate has.
std::vector<Subscripts> positions_of(const Distribution& d, int coordinate, const Subscripts& run) {
  std::vector<Subscripts> all;
  const Pieces pieces = d.pieces(coordinate, run);
  for (int64_t r = 0; r < pieces.runs; r++)
    if (const Subscripts piece = pieces.run(r); piece.count > 0)
      all.push_back({(piece.begin - run.begin) / run.step, piece.count, piece.step / run.step});
  return all;
}

TEST(Strips, hold_each_element_that_goes_between_two_nodes_once) {
  for (int round = 0; round < 3000; round++) {
    const Distribution to = any_distribution().distribution, from = any_distribution().distribution;
    const auto within = [](const Distribution& d, int64_t count) {
      const int64_t room = d.upper() - d.lower(), most = count > 1 ? room / (count - 1) : 1;
      const int64_t step = pick(1, static_cast<int>(most));
      const int64_t begin = d.lower() + pick(0, static_cast<int>(room - (count - 1) * step));
      return pick(0, 1) == 1 ? Subscripts{begin, count, step}
                             : Subscripts{begin + (count - 1) * step, count, -step};
    };
    const int64_t count =
        pick(1, static_cast<int>(std::min(to.upper() - to.lower(), from.upper() - from.lower()) + 1));
    const Subscripts left = within(to, count), right = within(from, count);
    const int64_t period = std::lcm(period_of(to, left.step), period_of(from, right.step));
    std::vector<int> moved(static_cast<size_t>(count), 0);
    for (int a = 0; a < to.nodes(); a++) {
      for (int b = 0; b < from.nodes(); b++) {
        // Both memories, in which each element of the assignment has its position.
        std::map<int64_t, int64_t> there, here;
        for (int64_t k = 0; k < count; k++) {
          if (to.owner(left.at(k)) == a) here[local_index(to, left.at(k))] = k;
          if (from.owner(right.at(k)) == b) there[local_index(from, right.at(k))] = k;
        }
        const auto strips = strips_of(
            positions_of(to, a, left), positions_of(from, b, right), period > 1 ? period : 0,
            [&](int64_t k) { return local_index(to, left.at(k)); },
            [&](int64_t k) { return local_index(from, right.at(k)); });
        for (const Strip& strip : strips) {
          for (int64_t r = 0; r < strip.repeat; r++) {
            for (int64_t k = 0; k < strip.count; k++) {
              const auto mine = here.find(strip.to + k * strip.to_step + r * strip.to_again);
              const auto theirs = there.find(strip.from + k * strip.from_step + r * strip.from_again);
              ASSERT_TRUE(mine != here.end() && theirs != there.end());
              ASSERT_EQ(mine->second, theirs->second);
              moved[static_cast<size_t>(mine->second)]++;
            }
          }
        }
      }
    }
    ASSERT_EQ(moved, std::vector<int>(static_cast<size_t>(count), 1));
  }
}

TEST(Strips, of_two_cyclic_distributions_are_few) {
  const Distribution to = Distribution::cyclic(0, 9999, 4, 3), from = Distribution::cyclic(0, 9999, 4, 2);
  const Subscripts all = {0, 10000, 1};
  const auto strips = strips_of(
      positions_of(to, 1, all), positions_of(from, 2, all), 24, [&](int64_t k) { return local_index(to, k); },
      [&](int64_t k) { return local_index(from, k); });
  ASSERT_FALSE(strips.empty());
  EXPECT_LE(strips.size(), 4U);
}

}  // namespace
}  // namespace tasuki::coarray
