#include "pager/pages/budget.h"

#include <gtest/gtest.h>

namespace tasuki::pager {
namespace {

TEST(Budget, CountsWhereTheMemoryIs) {
  Budget budget(1000, 0, ReplacementPolicy::clock);
  budget.take(30);  // arriving
  EXPECT_EQ(budget.used(), 30u);
  EXPECT_EQ(budget.resident(), 0u);
  budget.appear(30);
  EXPECT_EQ(budget.resident(), 30u);
  EXPECT_EQ(budget.resident_pages(), 1u);
  budget.disappear(30);
  budget.begin_send(30);
  EXPECT_EQ(budget.leaving(), 30u);
  budget.end_send(30);
  budget.enter_limbo(30);
  EXPECT_EQ(budget.limbo(), 30u);
  EXPECT_EQ(budget.used(), 30u) << "limbo is local memory too";
  budget.leave_limbo(30);
  budget.give_back(30);
  EXPECT_EQ(budget.used() + budget.resident() + budget.leaving() + budget.limbo() + budget.resident_pages(),
            0u);
}

TEST(Budget, HasRoomUpToItsLastUnit) {
  Budget budget(1000, 0, ReplacementPolicy::clock);
  budget.take(990);
  EXPECT_TRUE(budget.has_room(10));
  EXPECT_FALSE(budget.has_room(11));
  EXPECT_TRUE(budget.has_room(11, 1));
  EXPECT_FALSE(budget.full());
  budget.take(10);
  EXPECT_TRUE(budget.full());
  EXPECT_FALSE(budget.exceeded());
  budget.take(1);
  EXPECT_TRUE(budget.exceeded());
}

TEST(Budget, ASurplusIsWhatStandsInTheWayOfTheSpare) {
  Budget budget(1000, 0, ReplacementPolicy::clock);  // 64 spare
  budget.take(936);
  EXPECT_FALSE(budget.has_surplus());
  budget.take(10);
  EXPECT_TRUE(budget.has_surplus());
  budget.begin_send(10);  // it will be free
  EXPECT_FALSE(budget.has_surplus());
  budget.end_send(10);
  EXPECT_TRUE(budget.has_surplus());
  budget.enter_limbo(10);  // it is free for whoever needs it
  EXPECT_FALSE(budget.has_surplus());
}

TEST(Budget, ARegionWithLargePagesNeedsMoreSpare) {
  Budget budget(1000, 0, ReplacementPolicy::clock);
  budget.take(900);
  EXPECT_FALSE(budget.has_surplus());
  budget.prepare_for(128);
  EXPECT_TRUE(budget.has_surplus());
  budget.prepare_for(0);
  EXPECT_TRUE(budget.has_surplus()) << "others may still have such pages";
  Budget other(1000, 0, ReplacementPolicy::clock);
  other.prepare_for(512);
  other.take(750);
  EXPECT_FALSE(other.has_surplus()) << "no more than a quarter";
}

TEST(Budget, EvictionBeginsBelowTheLowWatermarkAndEndsAtTheHighOne) {
  Budget budget(1000, 0, ReplacementPolicy::clock);  // low 62, high 124
  budget.take(930);
  EXPECT_FALSE(budget.wants_eviction(0, false));
  EXPECT_TRUE(budget.wants_eviction(0, true));
  budget.take(9);
  EXPECT_TRUE(budget.wants_eviction(0, false));
  budget.enter_limbo(62);
  EXPECT_TRUE(budget.wants_eviction(0, true));
  budget.enter_limbo(1);
  EXPECT_FALSE(budget.wants_eviction(0, true));
  EXPECT_TRUE(budget.wants_eviction(0, false, 125)) << "187 are to be free";
  EXPECT_TRUE(budget.wants_eviction(0, true, 1000)) << "an eighth at most: 249";
  budget.enter_limbo(125);
  EXPECT_FALSE(budget.wants_eviction(0, true, 1000));
}

TEST(Budget, WhatComesBackTakesFromWhatMayLeave) {
  Budget budget(1000, 0, ReplacementPolicy::clock);  // low 62, high 124
  budget.take(950);
  EXPECT_TRUE(budget.wants_eviction(0, true));
  budget.rescue(80);
  EXPECT_FALSE(budget.wants_eviction(0, true)) << "50 are free, and 44 are to be";
  budget.rescue(80);
  budget.take(40);
  EXPECT_TRUE(budget.wants_eviction(0, true)) << "what is new gives all of it back";
}

TEST(Budget, NoMoreIsKeptFreeThanHalfOfWhatMayLeave) {
  Budget budget(1000, 0, ReplacementPolicy::clock);
  budget.take(960);
  EXPECT_TRUE(budget.wants_eviction(0, false));
  EXPECT_TRUE(budget.wants_eviction(918, false));
  EXPECT_FALSE(budget.wants_eviction(920, false)) << "40 of 80";
  EXPECT_FALSE(budget.wants_eviction(1200, false));
}

TEST(Budget, CapacityIsBothMemoriesLessWhatMoves) {
  const Budget budget(1000, 0, ReplacementPolicy::clock);
  EXPECT_EQ(budget.capacity(0, Copies::automatic), 1000u) << "without slots everything is local";
  EXPECT_EQ(budget.capacity(5000, Copies::cache), 5000u) << "each page has its slot";
  EXPECT_EQ(budget.capacity(500, Copies::cache), 1000u);
  EXPECT_EQ(budget.capacity(5000, Copies::automatic), 5750u) << "two pages of 125 move";
  EXPECT_EQ(budget.capacity(100, Copies::exclusive), 1000u);
}

TEST(Budget, PagesAreNoLargerThanAnEighthOfTheMemory) {
  EXPECT_EQ(Budget(64, 0, ReplacementPolicy::clock).largest_page(), 8u);
  EXPECT_EQ(Budget(1 << 20, 0, ReplacementPolicy::clock).largest_page(), 512u);
}

}  // namespace
}  // namespace tasuki::pager
