#include "bench/driver/figures/stats.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tasuki::bench {
namespace {

TEST(Stats, MedianOfOddAndEvenCountsInAnyOrder) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({7}), 7);
  EXPECT_DOUBLE_EQ(median({}), 0);
}

TEST(Stats, MedianIgnoresWhatAnotherProgramStole) {
  std::vector<double> samples(100, 10.0);
  for (int i = 0; i < 40; i++) samples[static_cast<size_t>(i)] = 4000;
  EXPECT_DOUBLE_EQ(median(samples), 10);
}

TEST(Stats, QuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(quantile({0, 10, 20}, 1), 20);
  EXPECT_DOUBLE_EQ(quantile({0, 10, 20}, 0), 0);
}

TEST(Stats, GeometricMeanOfAGainAndItsInverseIsOne) {
  EXPECT_NEAR(geometric_mean({4, 0.25}), 1, 1e-12);
  EXPECT_NEAR(geometric_mean({2, 2, 2}), 2, 1e-12);
  EXPECT_NEAR(geometric_mean({1, 8}), std::sqrt(8), 1e-12);
  EXPECT_DOUBLE_EQ(geometric_mean({}), 0);
}

TEST(Stats, BlocksAreAsLongAsTheyShallBe) {
  const Repetitions r = repetitions(10, 10, 50'000, 1000);
  EXPECT_EQ(r.n, 100);
  EXPECT_EQ(r.blocks, 50);
}

TEST(Stats, RepetitionsFillTheBudgetWithShortBlocks) {
  const Repetitions fast = repetitions(0.5, 0.5, 50000);
  EXPECT_EQ(fast.n, 200);                                 // 100 us
  EXPECT_EQ(fast.blocks, 500);                            // 50 ms
  EXPECT_EQ(fast.warm, 1000);                             // at most
  const Repetitions loaded = repetitions(0.5, 5, 50000);  // other programs take nine tenths of the time
  EXPECT_EQ(loaded.n, 200);
  EXPECT_EQ(loaded.blocks, 50);
  const Repetitions slow = repetitions(12000, 12000, 50000);
  EXPECT_EQ(slow.n, 1);
  EXPECT_EQ(slow.blocks, kFewestBlocks);  // more than the budget rather than too few
  EXPECT_EQ(slow.warm, 3);
  const Repetitions none = repetitions(10, 10, 0);
  EXPECT_EQ(none.blocks, kFewestBlocks);
  EXPECT_LE(repetitions(0, 0, 1e12).blocks, kMostBlocks);
}

}  // namespace
}  // namespace tasuki::bench
