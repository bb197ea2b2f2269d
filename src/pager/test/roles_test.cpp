// The roles of the engine, each by itself.
#include <gtest/gtest.h>

#include <thread>

#include "pager/core/read_ahead.h"
#include "pager/pages/victims.h"
#include "pager/test/fake_memory.h"
#include "pager/threads/commands.h"

namespace tasuki::pager {
namespace {

class Roles : public ::testing::Test {
 protected:
  // Watched, without pages and slots.
  Region* region(uint64_t units, uint32_t fixed_page = 0) {
    Result<std::unique_ptr<Region>> made = regions_.reserve(units * unit_size(), 4096, fixed_page);
    EXPECT_TRUE(made.ok());
    Region* added = regions_.add(std::move(made.value()));
    std::vector<uint8_t> present;
    EXPECT_TRUE(regions_.watch(added, &present).ok());
    EXPECT_EQ(present.size(), units);
    Pages::watch(added);
    Slots::watch(added);
    return added;
  }

  FakeMapper mapper_{Style::move, 64, 1};
  Regions regions_{&mapper_};
};

using RegionsTest = Roles;

TEST_F(RegionsTest, AnAddressLeadsToItsRegionAndUnit) {
  Region* a = region(10);
  Region* b = region(20);
  EXPECT_EQ(regions_.of(a->at()), a);
  EXPECT_EQ(regions_.of(a->end() - 1), a);
  EXPECT_EQ(regions_.of(b->address(7) + 5), b);
  EXPECT_EQ(b->unit_of(b->address(7) + 5), 7u);
  EXPECT_NE(regions_.of(a->end()), a);
  EXPECT_EQ(regions_.with_id(a->id()), a);
  EXPECT_EQ(regions_.units(), 30u);
  EXPECT_EQ(regions_.at(a->at() + 1), nullptr) << "an allocation is known by its beginning";
}

TEST_F(RegionsTest, ARangeIsInPieces) {
  Region* a = region(10);
  const std::byte* end = a->address(4);
  EXPECT_EQ(regions_.of(a->address(1), &end), a);
  EXPECT_EQ(end, a->address(4)) << "asked for less than the region";
  end = a->end() + 1;
  EXPECT_EQ(regions_.of(a->address(1), &end), a);
  EXPECT_EQ(end, a->end());
  end = a->address(2);
  EXPECT_EQ(regions_.of(a->at() - 1, &end), nullptr);
  EXPECT_EQ(end, a->at()) << "up to where the next region begins";
}

TEST_F(RegionsTest, NamesEndBeforeTheRegion) {
  Region* a = region(10);
  std::byte* at = a->at();
  EXPECT_EQ(regions_.size_of(at), 10 * unit_size());
  EXPECT_TRUE(regions_.touches(at + 5, 1));
  EXPECT_FALSE(regions_.touches(at, 0));
  regions_.resize(a, 9 * unit_size() + 1);
  EXPECT_EQ(regions_.size_of(at), 9 * unit_size() + 1);
  const std::unique_ptr<Region> unnamed = regions_.take_name(at);
  ASSERT_EQ(unnamed.get(), a);
  EXPECT_EQ(regions_.take_name(at), nullptr);
  EXPECT_EQ(regions_.of(at), nullptr);
  EXPECT_EQ(regions_.size_of(at), 0u);
  EXPECT_FALSE(regions_.touches(at, 1));
  EXPECT_EQ(regions_.units(), 10u) << "it counts until it is forgotten";
  EXPECT_EQ(regions_.with_id(a->id()), a);
  regions_.forget(*unnamed);
  EXPECT_EQ(regions_.units(), 0u);
  EXPECT_EQ(regions_.with_id(a->id()), nullptr);
  regions_.release(*unnamed);
}

class SlotsTest : public Roles {
 protected:
  SlowStore store_{100, {.run = 40}, 1};  // servers of 40, 40 and 20 slots
  Failure failure_;
  Slots slots_{&store_, &failure_};
};

TEST_F(SlotsTest, NeighboursTravelTogetherButNotAcrossServers) {
  Region* a = region(90);
  EXPECT_FALSE(Slots::has_any(*a, 0, 90));
  EXPECT_TRUE(slots_.give(a, 0, 30));
  EXPECT_TRUE(slots_.give(a, 30, 30));
  EXPECT_TRUE(a->stored(59));
  EXPECT_FALSE(a->stored(60));
  Slot slot = 0;
  EXPECT_EQ(slots_.run(*a, 0, 60, &slot), 40u);
  EXPECT_EQ(slot, 0u);
  EXPECT_EQ(slots_.run(*a, 40, 20, &slot), 20u);
  EXPECT_EQ(slot, 40u);
  EXPECT_EQ(slots_.run(*a, 25, 10, &slot), 10u) << "the first and the second thirty are one stretch";
}

TEST_F(SlotsTest, WhoHasSlotsKeepsThem) {
  Region* a = region(10);
  EXPECT_TRUE(slots_.give(a, 4, 2));
  EXPECT_TRUE(slots_.give(a, 0, 10));
  EXPECT_EQ(slots_.free(), 90u);
  EXPECT_TRUE(slots_.give(a, 0, 10));
  EXPECT_EQ(slots_.free(), 90u);
}

TEST_F(SlotsTest, TooFewSlotsAreGivenAndComeBack) {
  Region* a = region(70);
  Region* b = region(70);
  EXPECT_TRUE(slots_.give(a, 0, 70));
  EXPECT_FALSE(slots_.give(b, 0, 70));
  EXPECT_EQ(slots_.free(), 0u);
  EXPECT_TRUE(Slots::has_any(*b, 0, 70));
  slots_.take(b, 0, 70);
  EXPECT_FALSE(Slots::has_any(*b, 0, 70));
  EXPECT_EQ(slots_.free(), 30u);
  slots_.take(a, 10, 60);
  EXPECT_TRUE(a->stored(9));
  EXPECT_EQ(slots_.free(), 90u);
  EXPECT_TRUE(slots_.give(b, 0, 70));
  EXPECT_TRUE(failure_.ok());
}

// A disk: 30 slots of memory before it, and room for `most` in all.
class Growing final : public Store {
 public:
  explicit Growing(uint64_t most) : most_(most) {}
  size_t unit_bytes() const override { return unit_size(); }
  uint64_t slots() const override { return 100'000; }
  uint64_t reserved() const override { return reserved_; }
  Status reserve(uint64_t slots) override {
    asked_++;
    if (slots > most_) return Status::error(ENOMEM, "the disk is full");
    reserved_ = slots;
    return {};
  }
  uint64_t part_end(Slot slot) const override { return slot < 30 ? 30 : slots(); }
  uint64_t run_limit(Slot slot) const override { return part_end(slot) - slot; }
  Status get(Slot, uint32_t, std::byte*, Ticket) override { return {}; }
  Status put(Slot, uint32_t, const std::byte*, Ticket) override { return {}; }
  Status release(Slot, uint32_t) override { return {}; }
  Status progress(Tickets*) override { return {}; }
  bool busy() const override { return false; }
  int asked() const { return asked_; }

 private:
  uint64_t most_, reserved_ = 30;
  int asked_ = 0;
};

class GrowingSlots : public Roles {
 protected:
  Growing store_{40'000};
  Failure failure_;
  Slots slots_{&store_, &failure_};
};

TEST_F(GrowingSlots, AreReservedInStepsAndGivenBackWithTheirLastUse) {
  EXPECT_EQ(slots_.free(), 100'000u) << "those that can be had count";
  EXPECT_TRUE(slots_.reserve(30).ok());
  EXPECT_EQ(store_.reserved(), 30u);
  EXPECT_TRUE(slots_.reserve(50).ok());
  EXPECT_EQ(store_.reserved(), 16'384u) << "64 MiB";
  EXPECT_TRUE(slots_.reserve(16'384).ok());
  EXPECT_EQ(store_.asked(), 1);
  EXPECT_TRUE(slots_.reserve(35'000).ok());
  EXPECT_EQ(store_.reserved(), 35'000u) << "no room for a whole step";
  EXPECT_EQ(slots_.reserve(40'001).err(), ENOMEM);
  EXPECT_EQ(store_.reserved(), 35'000u);
  EXPECT_EQ(slots_.free(), 100'000u);

  Region* a = region(35'000);
  EXPECT_TRUE(slots_.give(a, 0, 35'000));
  EXPECT_FALSE(slots_.give(region(1), 0, 1)) << "of what is reserved";
  slots_.take(a, 100, 34'900);
  slots_.needs_only(35'000);
  EXPECT_EQ(store_.reserved(), 35'000u) << "all of it may be needed again";
  slots_.needs_only(100);
  EXPECT_EQ(store_.reserved(), 16'384u);
  Slot slot = 0;
  EXPECT_EQ(slots_.run(*a, 30, 100, &slot), 70u);
  EXPECT_EQ(slot, 30u);
  slots_.take(a, 0, 100);
  slots_.needs_only(0);
  EXPECT_EQ(store_.reserved(), 16'384u) << "one step stays, for what is allocated next";
  EXPECT_TRUE(slots_.reserve(35'000).ok());
  EXPECT_TRUE(slots_.give(a, 0, 35'000));
  EXPECT_TRUE(failure_.ok());
}

TEST_F(GrowingSlots, TheBetterPartIsUsedFirst) {
  EXPECT_TRUE(slots_.reserve(1000).ok());
  Region* a = region(40);
  Region* b = region(40);
  EXPECT_TRUE(slots_.give(a, 0, 40));
  Slot slot = 0;
  EXPECT_EQ(slots_.run(*a, 0, 40, &slot), 30u);
  EXPECT_EQ(slot, 0u);
  EXPECT_EQ(slots_.run(*a, 30, 10, &slot), 10u);
  EXPECT_EQ(slot, 30u);
  slots_.take(a, 3, 4);
  EXPECT_TRUE(slots_.give(b, 0, 4));
  EXPECT_EQ(slots_.run(*b, 0, 4, &slot), 4u);
  EXPECT_EQ(slot, 3u);
}

class PagesTest : public Roles {
 protected:
  PageId page(Region* region, uint64_t first, uint32_t units) {
    const PageId id = pages_.begin(region, first, units);
    victims_.begin(id);
    return id;
  }
  PageId resident(Region* region, uint64_t first, uint32_t units, double woke = 0) {
    const PageId id = page(region, first, units);
    pages_[id].state.found();
    victims_.appear(id, woke);
    return id;
  }
  void end(PageId id) {
    victims_.end(id);
    pages_.end(id);
  }

  Pages pages_;
  Victims victims_{&pages_, ReplacementPolicy::fifo};
};

TEST_F(PagesTest, UnitsKnowTheirPage) {
  Region* a = region(20);
  const PageId one = page(a, 2, 3), two = page(a, 5, 4);
  EXPECT_EQ(a->page(1), kNoPage);
  EXPECT_EQ(a->page(4), one);
  EXPECT_EQ(a->page(5), two);
  pages_.join(one, two);
  EXPECT_EQ(a->page(8), one);
  EXPECT_EQ(pages_[one].end(), 9u);
  EXPECT_EQ(pages_.alive(), 1u);
  EXPECT_EQ(page(a, 10, 1), two) << "records are used again";
  end(one);
  EXPECT_EQ(a->page(8), kNoPage);
  EXPECT_EQ(pages_.records(), 2u);
}

TEST_F(PagesTest, PagesLeaveInOrder) {
  Region* a = region(20);
  EXPECT_EQ(victims_.next(), kNoPage);
  const PageId one = resident(a, 0, 1), two = resident(a, 1, 1), three = resident(a, 2, 1);
  EXPECT_EQ(victims_.next(), one);
  victims_.skip(one);
  EXPECT_EQ(victims_.next(), two);
  victims_.leave(two);
  EXPECT_EQ(victims_.next(), three);
  end(three);
  EXPECT_EQ(victims_.next(), one);
  EXPECT_EQ(victims_.apart(one, two), 1u);
}

TEST_F(PagesTest, WhoWasWokenHasAGrace) {
  Region* a = region(20);
  const PageId one = resident(a, 0, 1, 100);
  EXPECT_FALSE(victims_.may_leave(one, 100.0001));
  EXPECT_TRUE(victims_.may_leave(one, 100.1));
}

TEST_F(PagesTest, HeldPagesStayAndCountOnce) {
  Region* a = region(20);
  const PageId one = resident(a, 0, 5), two = page(a, 5, 2);
  victims_.hold(one, false, 1);
  EXPECT_FALSE(victims_.may_leave(one, 1));
  EXPECT_EQ(victims_.held_units(), 5u);
  EXPECT_EQ(victims_.kept_units(), 0u);
  victims_.hold(one, true, 1);
  EXPECT_EQ(victims_.held_units(), 5u);
  EXPECT_EQ(victims_.kept_units(), 5u);
  EXPECT_EQ(victims_.next(), kNoPage) << "what is kept is not with the policy";
  victims_.hold(one, false, -1);
  EXPECT_EQ(victims_.next(), one);
  EXPECT_FALSE(victims_.may_leave(one, 1)) << "one pin is left";
  victims_.hold(two, true, 0);
  EXPECT_EQ(victims_.held_units(), 7u);
  end(one);
  end(two);
  EXPECT_EQ(victims_.held_units(), 0u);
  EXPECT_EQ(victims_.kept_units(), 0u);
}

TEST_F(PagesTest, BusyPagesAreTriedAgainLater) {
  Region* a = region(20);
  const PageId one = resident(a, 0, 5);
  victims_.set_busy(one, 100);
  EXPECT_EQ(victims_.busy_units(), 5u);
  EXPECT_EQ(victims_.next(), kNoPage);
  victims_.retry_busy(100.001);
  EXPECT_TRUE(victims_.busy(one));
  victims_.retry_busy(100.01);
  EXPECT_FALSE(victims_.busy(one));
  EXPECT_EQ(victims_.next(), one);
  EXPECT_EQ(victims_.busy_units(), 0u);
}

TEST(Ahead, ForwardPagesComeNearestFirst) {
  Ahead ahead{.region = 1, .first = 10, .units = 5, .page = 2, .write = true};
  FetchPlan plan;
  for (const auto& [first, units] : {std::pair(10u, 2u), {12u, 2u}, {14u, 1u}}) {
    ASSERT_TRUE(ahead.next(100, &plan));
    EXPECT_EQ(plan.first, first);
    EXPECT_EQ(plan.units, units);
    EXPECT_TRUE(plan.write);
  }
  EXPECT_EQ(ahead.units, 0u);
}

TEST(Ahead, BackwardPagesComeNearestFirst) {
  Ahead ahead{.region = 1, .first = 10, .units = 5, .page = 2, .backward = true};
  FetchPlan plan;
  for (const auto& [first, units] : {std::pair(13u, 2u), {11u, 2u}, {10u, 1u}}) {
    ASSERT_TRUE(ahead.next(100, &plan));
    EXPECT_EQ(plan.first, first);
    EXPECT_EQ(plan.units, units);
  }
  EXPECT_EQ(ahead.units, 0u);
}

TEST(Ahead, AStrideEndsWithTheRegion) {
  FetchPlan plan;
  Ahead up{.region = 1, .first = 10, .units = 5, .page = 2, .stride = 40};
  ASSERT_TRUE(up.next(100, &plan));
  EXPECT_EQ(plan.first, 50u);
  EXPECT_EQ(plan.units, 2u);
  ASSERT_TRUE(up.next(100, &plan));
  EXPECT_EQ(plan.first, 90u);
  EXPECT_FALSE(up.next(100, &plan));
  Ahead down{.region = 1, .first = 10, .units = 5, .page = 2, .stride = -11};
  EXPECT_FALSE(down.next(100, &plan));
}

TEST(Commands, AreDoneWhereNobodyServes) {
  const os::Wakeup wakeup;
  Turn turn;
  Commands commands(&wakeup, &turn);
  int done = 0;
  commands.run([&] { return ++done > 0; });
  EXPECT_EQ(done, 1);
  commands.begin();
  EXPECT_FALSE(commands.serve());
  commands.end();
  commands.run([&] { return ++done < 0; });
  EXPECT_EQ(done, 2) << "what cannot be finished any more is given up";
}

TEST(Commands, WaitUntilTheyAreDone) {
  const os::Wakeup wakeup;
  Turn turn;
  Commands commands(&wakeup, &turn);
  commands.begin();
  int calls = 0;
  std::thread program([&] { commands.run([&] { return ++calls == 3; }); });
  while (!commands.serve()) EXPECT_LT(calls, 3);
  program.join();
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(commands.unfinished());
  commands.end();
}

}  // namespace
}  // namespace tasuki::pager
