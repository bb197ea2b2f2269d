#include "cluster/transport/slot_map.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "cluster/transport/ranges.h"
#include "cluster/transport/slot_set.h"

namespace tasuki::cluster {
namespace {

// Every place is within its server, no two slots share one, and runs are what they say.
void verify(const SlotMap& map, const std::vector<uint64_t>& capacities) {
  std::set<std::pair<uint32_t, uint64_t>> taken;
  for (uint64_t slot = 0; slot < map.slots(); slot++) {
    std::set<uint32_t> servers;
    for (uint32_t copy = 0; copy < map.copies(); copy++) {
      const SlotMap::Place p = map.find(slot, copy);
      ASSERT_LT(p.server, capacities.size());
      ASSERT_LT(p.slot, capacities[p.server]);
      EXPECT_TRUE(taken.insert({p.server, p.slot}).second) << "slot " << slot << " copy " << copy;
      EXPECT_TRUE(servers.insert(p.server).second) << "both copies of slot " << slot << " on one server";
      ASSERT_GE(p.run, map.run_limit(slot));
    }
    const uint64_t run = map.run_limit(slot);
    ASSERT_GE(run, 1u);
    ASSERT_LE(run, map.slots() - slot);
    for (uint32_t copy = 0; copy < map.copies(); copy++) {
      const SlotMap::Place first = map.find(slot, copy), last = map.find(slot + run - 1, copy);
      EXPECT_EQ(first.server, last.server);
      EXPECT_EQ(first.slot + run - 1, last.slot);
    }
  }
}

const std::vector<std::vector<uint64_t>> kClusters = {{100},          {64, 64, 64}, {10, 200, 0, 31},
                                                      {7, 1, 1, 300}, {1, 1},       {0, 0, 17}};

TEST(SlotMap, UsesEverySlotOfEveryServerOnce) {
  for (const auto& capacities : kClusters) {
    const uint64_t sum = std::accumulate(capacities.begin(), capacities.end(), uint64_t{0});
    const SlotMap by_rank(capacities, Fill::rank, 1, 8);
    EXPECT_EQ(by_rank.slots(), sum);
    verify(by_rank, capacities);
    const SlotMap by_turns(capacities, Fill::interleave, 1, 1);
    EXPECT_EQ(by_turns.slots(), sum);
    verify(by_turns, capacities);
    verify(SlotMap(capacities, Fill::interleave, 1, 8), capacities);
  }
}

TEST(SlotMap, TwoCopiesAreOnDifferentServers) {
  for (const auto& capacities : kClusters) {
    const uint64_t sum = std::accumulate(capacities.begin(), capacities.end(), uint64_t{0});
    const uint64_t most = std::min(sum / 2, sum - *std::max_element(capacities.begin(), capacities.end()));
    const SlotMap by_rank(capacities, Fill::rank, 2, 8);
    EXPECT_EQ(by_rank.slots(), most);
    verify(by_rank, capacities);
    const SlotMap by_turns(capacities, Fill::interleave, 2, 1);
    EXPECT_EQ(by_turns.slots(), most);
    verify(by_turns, capacities);
    verify(SlotMap(capacities, Fill::interleave, 2, 4), capacities);
  }
}

TEST(SlotMap, RankOrderFillsTheFirstServerFirst) {
  const SlotMap map({3, 5}, Fill::rank, 1, 1);
  for (uint64_t slot = 0; slot < 8; slot++) EXPECT_EQ(map.find(slot, 0).server, slot < 3 ? 0u : 1u);
  EXPECT_EQ(map.run_limit(0), 3u);
  EXPECT_EQ(map.run_limit(4), 4u);
}

TEST(SlotMap, TurnsGoOnWithoutTheServerThatIsFull) {
  const SlotMap map({2, 6, 4}, Fill::interleave, 1, 2);
  const std::vector<uint32_t> expected = {0, 0, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1};
  ASSERT_EQ(map.slots(), expected.size());
  for (uint64_t slot = 0; slot < map.slots(); slot++)
    EXPECT_EQ(map.find(slot, 0).server, expected[slot]) << slot;
}

TEST(SlotMap, ManyServersDoNotMakeAHugeTable) {
  const std::vector<uint64_t> capacities(100, uint64_t{1} << 30);  // 400 TiB of 4 KiB
  const SlotMap map(capacities, Fill::interleave, 1, 256);
  EXPECT_GT(map.slots(), 99 * (uint64_t{1} << 30));
  EXPECT_GT(map.run_limit(0), 256u);
}

TEST(SlotMap, NoServers) {
  EXPECT_EQ(SlotMap({}, Fill::rank, 1, 1).slots(), 0u);
  EXPECT_EQ(SlotMap({}, Fill::interleave, 2, 1).slots(), 0u);
}

TEST(SlotSet, LikeASetOfNumbers) {
  std::mt19937 random(6);
  for (const uint64_t slots : {1u, 63u, 64u, 65u, 300u}) {
    SlotSet set(slots);
    std::set<uint64_t> reference;
    for (int step = 0; step < 4000; step++) {
      const uint64_t begin = random() % slots, end = begin + 1 + random() % (slots - begin);
      if (random() % 2 == 0) {
        set.insert(begin, end);
        for (uint64_t slot = begin; slot < end; slot++) reference.insert(slot);
      } else {
        set.erase(begin, end);
        reference.erase(reference.lower_bound(begin), reference.lower_bound(end));
      }
      const uint64_t from = random() % slots, to = from + random() % (slots - from + 1);
      EXPECT_EQ(set.count(from, to),
                static_cast<uint64_t>(std::distance(reference.lower_bound(from), reference.lower_bound(to))));
      const SlotSet::Stretch first = set.first_in(from, to);
      const auto at = reference.lower_bound(from);
      ASSERT_EQ(first.begin, at == reference.end() ? to : std::min(*at, to));
      for (uint64_t slot = first.begin; slot < first.end; slot++) EXPECT_EQ(reference.count(slot), 1u);
      EXPECT_TRUE(first.end == to || reference.count(first.end) == 0);
    }
  }
}

TEST(Ranges, LikeASetOfNumbers) {
  std::mt19937 random(5);
  Ranges ranges;
  std::set<uint64_t> reference;
  for (int step = 0; step < 20'000; step++) {
    const uint64_t begin = random() % 100, end = begin + 1 + random() % 20;
    if (random() % 3 != 0) {
      ranges.insert(begin, end);
      for (uint64_t i = begin; i < end; i++) reference.insert(i);
    } else if (random() % 4 != 0 || ranges.empty()) {
      ranges.erase(begin, end);
      for (uint64_t i = begin; i < end; i++) reference.erase(i);
    } else {
      const auto [first, last] = ranges.pop(7);
      ASSERT_LT(first, last);
      ASSERT_LE(last - first, 7u);
      for (uint64_t i = first; i < last; i++) ASSERT_EQ(reference.erase(i), 1u);
      if (last - first < 7) {
        ASSERT_FALSE(reference.contains(last)) << "a range that touches the next";
      }
    }
    ASSERT_EQ(ranges.size(), reference.size());
    ASSERT_EQ(ranges.empty(), reference.empty());
    uint64_t at = 0;
    if (ranges.find(15, &at)) {
      for (uint64_t i = at; i < at + 15; i++) ASSERT_EQ(reference.count(i), 1u);
    }
  }
  while (!ranges.empty()) {
    const auto [first, last] = ranges.pop(UINT64_MAX);
    for (uint64_t i = first; i < last; i++) ASSERT_EQ(reference.erase(i), 1u);
  }
  EXPECT_TRUE(reference.empty());
}

}  // namespace
}  // namespace tasuki::cluster
