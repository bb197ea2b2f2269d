// All-to-all: every block arrives at its place, once; and what A2AT promises beyond.
#include <cstdlib>
#include <map>
#include <set>

#include "schedule/test/execution.h"

namespace tasuki::schedule {
namespace {

TEST(Alltoall, AnyNumberOfRanks) {
  for (const char* name : {"pairwise", "ring", "bruck", "linear", "spread"})
    for (const uint32_t ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 25, 32, 64})
      for (const uint64_t bytes : {0, 1, 3}) {
        SCOPED_TRACE(std::string(name) + " " + std::to_string(ranks));
        expect_alltoall(made(name, {.ranks = ranks, .bytes = bytes}), bytes);
      }
}

Parameters square(uint32_t n, uint64_t bytes = 1) {
  return {.ranks = n * n, .bytes = bytes, .shape = {n, n}};
}

TEST(A2at, EveryBlockArrives) {
  for (uint32_t n = 1; n <= 8; n++) {
    SCOPED_TRACE(n);
    expect_alltoall(made("a2at", square(n)), 1);
  }
  expect_alltoall(made("a2at", square(5, 7)), 7);
}

// What one rank sends in each round, as relative coordinates in -(n-1)/2 .. n/2.
using Offsets = std::vector<std::vector<std::pair<int, int>>>;
Offsets offsets(uint32_t n, uint32_t rank) {
  const Schedule s = made("a2at", square(n));
  const auto relative = [&](uint32_t to, uint32_t from) {
    const int d = static_cast<int>((to + n - from) % n);
    return d > static_cast<int>(n / 2) ? d - static_cast<int>(n) : d;
  };
  Offsets all;
  std::vector<Step> steps;
  for (uint32_t r = 0; r < s.rounds(); r++) {
    s.round(rank, 0, r, steps);
    all.emplace_back();
    int16_t nic = 0;
    for (const Step& step : steps) {
      if (step.action != Action::send) continue;
      EXPECT_EQ(step.nic, nic++);
      EXPECT_EQ(step.sequence, r);
      all.back().emplace_back(relative(step.peer % n, rank % n), relative(step.peer / n, rank / n));
    }
  }
  return all;
}

TEST(A2at, EveryDestinationOnceFromAnywhere) {
  for (uint32_t n = 2; n <= 17; n++)
    for (const uint32_t rank : {0u, n * n / 2, n * n - 1}) {
      std::set<std::pair<int, int>> seen;
      const Offsets all = offsets(n, rank);
      for (const auto& round : all)
        for (const auto& to : round) EXPECT_TRUE(seen.insert(to).second) << to.first << ", " << to.second;
      EXPECT_EQ(seen.size(), n * n - 1);
      EXPECT_FALSE(seen.contains({0, 0}));
      // Four at a time throughout, but for the last round of an even extent.
      for (size_t r = 0; r < all.size(); r++)
        EXPECT_EQ(all[r].size(), n % 2 == 0 && r + 1 == all.size() ? 3u : 4u);
    }
}

TEST(A2at, SequencesOfThePaper) {
  const Offsets nine = offsets(9, 40);
  ASSERT_EQ(nine.size(), 20u);
  using Round = std::vector<std::pair<int, int>>;
  EXPECT_EQ(nine[0], (Round{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}));
  EXPECT_EQ(nine[1], (Round{{1, 1}, {-1, -1}, {1, -1}, {-1, 1}}));
  EXPECT_EQ(nine[4], (Round{{2, 1}, {-2, -1}, {1, 2}, {-1, -2}}));
  EXPECT_EQ(nine[5], (Round{{-2, 1}, {2, -1}, {-1, 2}, {1, -2}}));
  // Number 14, counted from 1, is the only one of eight links.
  for (size_t r = 0; r < 20; r++)
    for (const auto& [x, y] : nine[r]) EXPECT_EQ(std::abs(x) + std::abs(y) == 8, r == 13) << r;
  // The even phases come last.
  const Offsets four = offsets(4, 0);
  ASSERT_EQ(four.size(), 4u);
  EXPECT_EQ(four[2], (Round{{2, -1}, {2, 1}, {-1, 2}, {1, 2}}));
  EXPECT_EQ(four[3], (Round{{2, 2}, {2, 0}, {0, 2}}));
}

// Messages that each direction of links carries, all ranks sending alike: the links that a rank's own
// messages take in that direction.
std::map<std::string, int> load(const std::vector<std::pair<int, int>>& round) {
  std::map<std::string, int> links{{"+x", 0}, {"-x", 0}, {"+y", 0}, {"-y", 0}};
  for (const auto& [x, y] : round) {
    links[x > 0 ? "+x" : "-x"] += std::abs(x);
    links[y > 0 ? "+y" : "-y"] += std::abs(y);
  }
  return links;
}

TEST(A2at, LinksAreSharedByAsManyMessagesAsTheyHaveLinksToGo) {
  for (uint32_t n = 3; n <= 17; n += 2)
    for (const auto& round : offsets(n, 0)) {
      const int links = std::abs(round[0].first) + std::abs(round[0].second);
      for (const auto& [direction, messages] : load(round)) EXPECT_EQ(messages, links) << direction;
    }
}

// Nothing is stored by pairs of ranks: this would be 33 million steps.
TEST(Alltoall, LargeSchedulesAreComputedOnDemand) {
  for (const char* name : {"a2at", "pairwise", "ring", "spread"}) {
    const Schedule s = made(name, square(64, 16384));
    std::set<uint32_t> to, from;
    for (const Step& step : s.steps(2077)) {
      if (step.action == Action::send) {
        EXPECT_TRUE(to.insert(step.peer).second);
      }
      if (step.action == Action::receive) {
        EXPECT_TRUE(from.insert(step.peer).second);
      }
    }
    EXPECT_EQ(to.size(), 4095u) << name;
    EXPECT_EQ(from.size(), 4095u) << name;
  }
}

}  // namespace
}  // namespace tasuki::schedule
