// What is fetched for which pattern of accesses. The program is a list of units; what it touches and is not
// there yet is a fault, and the plan of each fault is taken to be there at once.
#include "pager/pages/streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tasuki::pager {
namespace {

constexpr uint64_t kLocal = 16384;    // 64 MiB
constexpr uint64_t kRegion = 262144;  // 1 GiB: random units are hardly ever neighbours

struct Program {
  explicit Program(Prefetch prefetch = Prefetch::automatic, uint64_t units = kRegion, uint32_t fixed = 0)
      : streams(prefetch, kLocal), here(units) {
    locality.fixed = fixed;
  }

  void touch(uint64_t unit, bool write = false) {
    touched++;
    if (here[unit]) return;
    faults++;
    plan = streams.fault(1, &locality, unit, write);
    ASSERT_GE(unit, plan.first);
    ASSERT_LT(unit, plan.first + plan.units) << "the page that was asked for is not in the plan";
    fetch(plan.first, plan.units);
    if (plan.stride != 0) {
      for (uint32_t i = 1; i <= plan.ahead_units; i++) {
        const int64_t first = static_cast<int64_t>(plan.first) + plan.stride * i;
        if (first < 0) break;
        ahead += plan.units;
        fetch(static_cast<uint64_t>(first), plan.units);
      }
    } else {
      if (plan.ahead_units > 0) {
        ASSERT_GT(plan.page, 0u);
        const uint64_t border = plan.backward ? plan.ahead_first + plan.ahead_units : plan.first + plan.units;
        ASSERT_EQ(border, plan.backward ? plan.first : plan.ahead_first) << "a gap before what is ahead";
      }
      ahead += plan.ahead_units;
      fetch(plan.ahead_first, plan.ahead_units);
    }
  }
  void fetch(uint64_t first, uint64_t units) {
    for (uint64_t u = first; u < first + units && u < here.size(); u++) {
      fetched += !here[u];
      here[u] = true;
    }
  }

  Streams streams;
  Locality locality;
  std::vector<bool> here;
  FetchPlan plan;
  uint64_t touched = 0, faults = 0, fetched = 0, ahead = 0;
};

TEST(Streams, SequentialNeedsFewFaults) {
  for (const uint32_t fixed : {0u, 1u, 16u, 512u}) {
    SCOPED_TRACE(fixed);
    Program run(Prefetch::automatic, kRegion, fixed);
    for (uint64_t u = 0; u < 100'000; u++) run.touch(u);
    // 2 MiB windows after a few doublings.
    EXPECT_LT(run.faults, 100'000u / 512 + 30);
    EXPECT_LE(run.fetched, 100'000u + 2 * 512);
  }
}

TEST(Streams, BackwardIsAsGoodAsForward) {
  for (const uint32_t fixed : {0u, 1u, 16u}) {
    SCOPED_TRACE(fixed);
    Program run(Prefetch::automatic, kRegion, fixed);
    for (uint64_t u = 200'000; u > 100'000; u--) run.touch(u);
    EXPECT_LT(run.faults, 100'000u / 256 + 60);
    EXPECT_LE(run.fetched, 100'000u + 4 * 512);
  }
}

TEST(Streams, BackwardToTheFirstUnit) {
  Program run;
  for (uint64_t u = 1000; u-- > 0;) run.touch(u);
  EXPECT_TRUE(run.here[0]);
}

// Each page ahead is asked for while it is still on its way: what comes next follows without a gap, and the
// program never comes to the end of what was planned.
void expect_window_to_move(bool backward) {
  Program p;
  for (uint64_t i = 0; i < 20000; i++) p.touch(backward ? kRegion - 1 - i : i);
  uint64_t at = backward ? p.plan.first - 1 : p.plan.ahead_first;
  uint64_t planned = backward ? p.plan.ahead_first : p.plan.ahead_first + p.plan.ahead_units;
  const uint32_t page = p.plan.page, window = p.plan.units + p.plan.ahead_units;
  for (int i = 0; i < 20; i++) {
    const FetchPlan more = p.streams.awaited(1, p.locality, at);
    EXPECT_EQ(more.page, page);
    EXPECT_EQ(more.backward, backward);
    ASSERT_GT(more.ahead_units, 0u);
    EXPECT_EQ(backward ? more.ahead_first + more.ahead_units : more.ahead_first, planned);
    planned = backward ? more.ahead_first : more.ahead_first + more.ahead_units;
    EXPECT_LE(backward ? at + 1 - planned : planned - at, window);
    EXPECT_EQ(p.streams.awaited(1, p.locality, at).ahead_units, 0u) << "another thread, the same page";
    at += backward ? -uint64_t{page} : page;
  }
  EXPECT_EQ(p.streams.awaited(1, p.locality, kRegion / 2).ahead_units, 0u) << "no stream is there";
  EXPECT_EQ(p.streams.awaited(2, p.locality, at).ahead_units, 0u) << "nor in that region";
}

TEST(Streams, TheWindowMovesOnWhereTheStoreIsSlower) {
  expect_window_to_move(false);
  expect_window_to_move(true);
}

TEST(Streams, TheWindowEndsWithTheRegion) {
  Program p;
  for (uint64_t i = 0; i < 20000; i++) p.touch(kRegion - 1 - i);
  for (uint64_t at = p.plan.first - 1; at < kRegion; at -= p.plan.page) {
    const FetchPlan more = p.streams.awaited(1, p.locality, at);
    EXPECT_LE(more.ahead_first + more.ahead_units, kRegion);
  }
}

TEST(Streams, FourteenStreamsAtOnce) {  // as many as SP's arrays
  Program run;
  constexpr uint64_t kLength = 15'000;
  for (uint64_t u = 0; u < kLength; u++)
    for (uint64_t s = 0; s < 14; s++) run.touch(s * 18'000 + u);
  // The windows share a quarter of the local memory: 14 of them have 292 units each.
  EXPECT_LT(run.faults, 14 * (kLength / 256 + 60));
  EXPECT_LE(run.fetched, 14 * (kLength + 1024));
}

TEST(Streams, TheWindowsLeaveMostOfTheLocalMemoryAlone) {
  for (const uint64_t local : {64u, 1024u, 16384u}) {
    Streams streams(Prefetch::automatic, local);
    Locality locality;
    std::vector<uint64_t> next(14), ahead(14);
    for (int round = 0; round < 200; round++)
      for (uint64_t s = 0; s < 14; s++) {
        const FetchPlan plan = streams.fault(1, &locality, s * 1'000'000 + next[s], false);
        next[s] = plan.first + plan.units + plan.ahead_units - s * 1'000'000;
        ahead[s] = plan.ahead_units;
      }
    uint64_t sum = 0;
    for (const uint64_t a : ahead) sum += a;
    EXPECT_LE(sum, local / 2) << local;
  }
}

TEST(Streams, RandomUnitsShrinkTheGranuleToOneAndFetchNothingAhead) {
  Program run;
  std::mt19937_64 random(1);
  uint64_t until_one = 0;
  for (int i = 0; i < 20'000; i++) {
    const uint64_t before = run.faults;
    run.here.assign(run.here.size(), false);  // nothing stays: memory is far larger than what is local
    run.touch(random() % kRegion);
    if (run.locality.granule > 1) until_one = before + 1;
    if (i == 100) run.ahead = 0;
  }
  EXPECT_EQ(run.locality.granule, 1u);
  EXPECT_LE(until_one, 100u);
  // A neighbour by chance, one in about 50,000.
  EXPECT_LE(run.ahead, 20u);
}

TEST(Streams, ShortRunsAtRandomPlacesTravelWhole) {
  for (const uint64_t length : {2u, 4u, 8u, 16u, 32u}) {
    Program run;
    std::mt19937_64 random(length);
    uint64_t faults = 0, fetched = 0;
    for (int i = 0; i < 20'000; i++) {
      run.here.assign(run.here.size(), false);
      const uint64_t first = random() % (kRegion / length) * length;
      for (uint64_t u = first; u < first + length; u++) run.touch(u);
      if (i == 10'000) faults = run.faults, fetched = run.fetched;
    }
    SCOPED_TRACE(length);
    EXPECT_GE(run.locality.granule, length / 2);
    EXPECT_LE(run.locality.granule, length * 2);
    // In the steady state: at most about two faults a run, and at most about twice the bytes.
    EXPECT_LE(run.faults - faults, 10'000u * 5 / 2);
    EXPECT_LE(run.fetched - fetched, 10'000u * length * 5 / 2);
  }
}

TEST(Streams, StridesAreFollowed) {
  for (const Prefetch prefetch : {Prefetch::automatic, Prefetch::majority, Prefetch::strided})
    for (const int64_t stride : {100, -100, 1000}) {
      SCOPED_TRACE(stride);
      Program run(prefetch);
      int64_t at = stride < 0 ? 200'000 : 0;
      uint64_t touched = 0;
      for (; at >= 0 && at < static_cast<int64_t>(kRegion) && touched < 250; at += stride, touched++)
        run.touch(static_cast<uint64_t>(at));
      EXPECT_LT(run.faults, touched / 3) << "faults of " << touched;
    }
}

TEST(Streams, AStrideWithNoiseIsFollowedByMajority) {
  Program run;
  std::mt19937_64 random(3);
  uint64_t touched = 0;
  for (uint64_t at = 0; at < kRegion; at += 500, touched++) {
    run.touch(at);
    if (touched % 16 == 15) run.touch(random() % kRegion);
  }
  EXPECT_LT(run.faults, touched * 2 / 3);
}

TEST(Streams, OffFetchesNothingAhead) {
  Program run(Prefetch::off);
  for (uint64_t u = 0; u < 20'000; u++) run.touch(u);
  for (uint64_t u = 30'000; u < kRegion; u += 100) run.touch(u);
  EXPECT_EQ(run.ahead, 0u);
}

TEST(Streams, AdviceRandomFetchesSingleUnits) {
  Program run;
  run.locality.advice = Advice::random;
  for (uint64_t u = 0; u < 1000; u++) run.touch(u);
  EXPECT_EQ(run.faults, 1000u);
  EXPECT_EQ(run.fetched, 1000u);
}

// Where most of a region lies behind one fetch or another, chance is no stream: pages become small, and stay
// so.
TEST(Streams, RandomAccessesInASmallRegionFetchLittle) {
  for (const uint64_t region : {256, 512}) {
    Program run(Prefetch::automatic, region);
    run.locality.units = region;
    std::mt19937_64 random(1);
    uint64_t fetched = 0;
    for (int i = 0; i < 20'000; i++) {
      if (i % 16 == 0) run.here.assign(run.here.size(), false);  // and little of it is there
      const size_t before = run.faults;
      run.touch(random() % region);
      if (i >= 2000 && run.faults > before) fetched += run.plan.units + run.plan.ahead_units;
    }
    EXPECT_LE(fetched, 18'000 * 16) << region;
  }
}

TEST(Streams, FixedPagesAreAligned) {
  Program run(Prefetch::automatic, kRegion, 16);
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; i++) {
    run.here.assign(run.here.size(), false);
    const uint64_t unit = random() % kRegion;
    run.touch(unit);
    ASSERT_EQ(run.plan.first, unit / 16 * 16);
    ASSERT_EQ(run.plan.units, 16u);
  }
}

TEST(Streams, WritingStreamsArePredictedToWrite) {
  Program run;
  run.touch(0, true);
  EXPECT_TRUE(run.plan.write);
  uint64_t u = 0;
  for (; run.faults < 4; u++) run.touch(u, false);
  EXPECT_TRUE(run.plan.write) << "a stream that wrote goes on writing";
  Program reader;
  for (u = 0; reader.faults < 4; u++) reader.touch(u, false);
  EXPECT_FALSE(reader.plan.write);
  reader.streams.written(1, &reader.locality, u);
  const uint64_t before = reader.faults;
  for (; reader.faults == before; u++) reader.touch(u, false);
  EXPECT_TRUE(reader.plan.write) << "the program told by writing";
}

TEST(Streams, AForgottenRegionHasNoStreams) {
  Program run;
  for (uint64_t u = 0; u < 1000; u++) run.touch(u);
  run.streams.forget(1);
  uint64_t next = 1000;
  while (run.here[next]) next++;
  run.touch(next);
  EXPECT_EQ(run.plan.ahead_units, 0u);
}

}  // namespace
}  // namespace tasuki::pager
