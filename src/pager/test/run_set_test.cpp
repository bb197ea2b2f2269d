// RunSet against a set of single units: random adds and takes, nothing invented, nothing lost, neighbours
// joined.
#include "pager/run_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace tasuki::pager {
namespace {

constexpr uint64_t kUnits = 300;

// The longest stretch of consecutive numbers in `set`.
uint64_t longest(const std::set<uint64_t>& set) {
  uint64_t best = 0, length = 0, last = 0;
  for (const uint64_t u : set) {
    length = length > 0 && u == last + 1 ? length + 1 : 1;
    last = u;
    best = std::max(best, length);
  }
  return best;
}

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {
    for (uint64_t u = 0; u < kUnits; u++) away_.insert(u);
  }

  void add() {
    if (away_.empty()) return;
    // A stretch that begins somewhere and ends where the next unit is there already.
    auto at = away_.lower_bound(random_() % kUnits);
    if (at == away_.end()) at = away_.begin();
    const uint64_t first = *at;
    uint64_t count = 0;
    const uint64_t most = 1 + random_() % 9;
    while (count < most && away_.contains(first + count)) count++;
    set_.add(first, count);
    for (uint64_t u = first; u < first + count; u++) {
      away_.erase(u);
      here_.insert(u);
    }
  }

  void take() {
    const uint64_t want = 1 + random_() % 12;
    uint64_t first = kUnits;
    const uint64_t got = set_.take(want, &first);
    ASSERT_LE(got, want);
    ASSERT_EQ(got == 0, here_.empty());
    took(first, got);
  }

  void take_at() {
    const uint64_t first = random_() % kUnits, want = 1 + random_() % 12;
    uint64_t expected = 0;
    while (expected < want && here_.contains(first + expected)) expected++;
    ASSERT_EQ(set_.take_at(first, want), expected);
    took(first, expected);
  }

  // Everything comes back as the runs that it consists of: the neighbours have joined.
  void empty() {
    while (!here_.empty()) {
      const uint64_t all = longest(here_);
      uint64_t best = 0;
      for (int i = 0; i < 40 && best < all && !here_.empty(); i++) {
        uint64_t first = 0;
        const uint64_t got = set_.take(kUnits, &first);
        best = std::max(best, got);
        took(first, got);
      }
      ASSERT_EQ(best, all);
    }
    uint64_t first = 0;
    ASSERT_EQ(set_.take(1, &first), 0u);
  }

  void check() const { ASSERT_EQ(set_.total(), here_.size()); }
  uint64_t random() { return random_(); }

 private:
  void took(uint64_t first, uint64_t count) {
    for (uint64_t u = first; u < first + count; u++) {
      ASSERT_EQ(here_.erase(u), 1u) << "unit " << u << " was not in the set";
      away_.insert(u);
    }
  }

  RunSet set_;
  std::set<uint64_t> here_, away_;
  std::mt19937_64 random_;
};

TEST(RunSet, IsASetOfUnits) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    SCOPED_TRACE(seed);
    Model model(seed);
    const uint64_t adds = 20 + model.random() % 60;  // percent: from nearly empty to nearly full
    for (int i = 0; i < 500 && !::testing::Test::HasFatalFailure(); i++) {
      const uint64_t die = model.random() % 100;
      if (die < adds)
        model.add();
      else if (die % 2 == 0)
        model.take();
      else
        model.take_at();
      model.check();
    }
    model.empty();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RunSet, NeighboursJoinFromBothSides) {
  RunSet set;
  set.add(10, 5);
  set.add(20, 5);
  set.add(15, 5);
  uint64_t first = 0;
  EXPECT_EQ(set.take(100, &first), 15u);
  EXPECT_EQ(first, 10u);
}

TEST(RunSet, AddsNothingForNothing) {
  RunSet set;
  set.add(10, 0);
  EXPECT_EQ(set.total(), 0u);
  EXPECT_EQ(set.take_at(10, 1), 0u);
}

TEST(RunSet, TheRunThatEndsSomewhere) {
  RunSet set;
  EXPECT_EQ(set.begin_of_run_to(10), 10u);
  set.add(2, 3);
  set.add(7, 3);
  EXPECT_EQ(set.begin_of_run_to(10), 7u);
  EXPECT_EQ(set.begin_of_run_to(9), 9u);
  EXPECT_EQ(set.begin_of_run_to(5), 2u);
  EXPECT_EQ(set.begin_of_run_to(2), 2u);
  set.add(5, 2);
  EXPECT_EQ(set.begin_of_run_to(10), 2u);
}

TEST(RunSetInParts, EveryUnitOnceAndAsItIs) {
  std::mt19937_64 random(4);
  RunSet set;
  std::set<uint64_t> model;
  for (int round = 0; round < 2000; round++) {
    const uint64_t first = random() % kUnits, count = random() % 40;
    const bool fills = round % 2 == 0;  // the range is in it afterwards, or not
    uint64_t expected = first;
    set.in_parts(first, count, [&](uint64_t from, uint64_t units, bool in) {
      EXPECT_EQ(from, expected);
      EXPECT_GT(units, 0u);
      for (uint64_t u = from; u < from + units; u++) EXPECT_EQ(in, model.contains(u));
      if (fills && !in) set.add(from, units);
      if (!fills && in) {
        EXPECT_EQ(set.take_at(from, units), units);
      }
      expected = from + units;
    });
    EXPECT_EQ(expected, first + count);
    for (uint64_t u = first; u < first + count; u++) {
      if (fills)
        model.insert(u);
      else
        model.erase(u);
    }
    ASSERT_EQ(set.total(), model.size());
    ASSERT_EQ(set.has(first), model.contains(first));
  }
}

TEST(RunSetRanges, AreInAsAWholeOrNotAtAll) {
  std::mt19937_64 random(5);
  RunSet set;
  std::vector<bool> model(kUnits + 50);
  for (int round = 0; round < 3000; round++) {
    const uint64_t first = random() % kUnits, count = 1 + random() % 40;
    const auto begin = model.begin() + static_cast<ptrdiff_t>(first),
               end = begin + static_cast<ptrdiff_t>(count);
    ASSERT_EQ(set.covers(first, count), std::find(begin, end, false) == end);
    ASSERT_EQ(set.meets(first, count), std::find(begin, end, true) != end);
    const bool in = random() % 2 == 0;
    if (in)
      set.unite(first, count);
    else
      set.subtract(first, count);
    std::fill(begin, end, in);
    ASSERT_EQ(set.total(), static_cast<uint64_t>(std::count(model.begin(), model.end(), true)));
  }
}

}  // namespace
}  // namespace tasuki::pager
