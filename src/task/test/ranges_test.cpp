#include "task/ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tasuki::task {
namespace {

TEST(RangeSet, JoinsSplitsAndCovers) {
  RangeSet s;
  s.add(10, 20);
  s.add(30, 40);
  EXPECT_EQ(s.size(), 2u);
  EXPECT_FALSE(s.covers(10, 40));
  s.add(20, 30);
  EXPECT_EQ(s.size(), 1u);
  EXPECT_TRUE(s.covers(10, 40));
  EXPECT_FALSE(s.covers(9, 11));
  s.remove(15, 16);
  EXPECT_TRUE(s.covers(10, 15));
  EXPECT_TRUE(s.covers(16, 40));
  EXPECT_FALSE(s.covers(14, 17));
  s.remove(0, 100);
  EXPECT_EQ(s.size(), 0u);
}

// Against an array of flags, one per address.
TEST(RangeSet, AgreesWithABitmap) {
  constexpr size_t kSize = 400;
  std::mt19937 random(7);
  for (int run = 0; run < 50; run++) {
    RangeSet s;
    std::vector<bool> expected(kSize, false);
    for (int step = 0; step < 400; step++) {
      const size_t begin = random() % (kSize - 40), end = begin + random() % 40;
      switch (random() % 3) {
        case 0:
          s.add(begin, end);
          for (size_t i = begin; i < end; i++) expected[i] = true;
          break;
        case 1:
          s.remove(begin, end);
          for (size_t i = begin; i < end; i++) expected[i] = false;
          break;
        default: {
          bool all = true;
          for (size_t i = begin; i < end; i++) all = all && expected[i];
          ASSERT_EQ(s.covers(begin, end), all) << "[" << begin << ", " << end << ") in run " << run;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tasuki::task
