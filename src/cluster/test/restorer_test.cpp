// A store of servers that come to their ends, beside a model of what was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/log.h"
#include "cluster/test/fake_servers.h"

namespace tasuki::cluster {
namespace {

// Whether two copies of the first `used` slots surely fit, beside one place for each of the others.
bool fits(const std::vector<uint64_t>& left, uint64_t used, uint64_t slots) {
  const uint64_t sum = std::accumulate(left.begin(), left.end(), uint64_t{0}), whole = 32 * left.size();
  return left.size() > 1 && sum >= slots + used + whole &&
         sum - *std::max_element(left.begin(), left.end()) >= used + whole;
}

// Each has to wait for the copies of the one before, and the data survive one more.
TEST(Restorer, OneServerAfterTheOther) {
  set_log_level(LogLevel::error);
  size_t ended = 0;
  for (uint32_t seed = 1; seed <= 100 && !HasFailure(); seed++) {
    std::mt19937 random(seed);
    std::vector<uint64_t> left = draw_capacities(random, 3 + random() % 4, 150);
    Program program(left, draw_fill(random), seed);
    const uint64_t all = program.store().slots(), slots = 8 + random() % 56;
    std::vector<uint32_t> servers(left.size());
    std::iota(servers.begin(), servers.end(), 0);
    ASSERT_TRUE(program.run(500, slots).ok()) << seed;
    for (bool enough = true; enough;) {
      const size_t victim = random() % servers.size();
      program.courier().end(servers[victim]);
      servers.erase(servers.begin() + static_cast<ptrdiff_t>(victim));
      left.erase(left.begin() + static_cast<ptrdiff_t>(victim));
      enough = fits(left, slots, all);
      ended++;
      Status status = program.run(static_cast<int>(random() % 300), slots);
      if (status.ok()) status = program.settle();
      ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
    }
    const Status status = program.verify();
    ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
    for (const uint32_t server : servers) program.courier().end(server);
    EXPECT_FALSE(program.run(1000, slots).ok()) << "all are lost";
  }
  EXPECT_GT(ended, 200u);
}

// Others are lost while the copies of the first are made again. Nothing may be wrong; it may be lost.
TEST(Restorer, TwoAtOnce) {
  set_log_level(LogLevel::error);
  int right = 0;
  for (uint32_t seed = 1; seed <= 80 && !HasFailure(); seed++) {
    std::mt19937 random(seed);
    const std::vector<uint64_t> capacities(4, 64 + random() % 100);
    Program program(capacities, draw_fill(random), seed);
    const uint64_t slots = capacities[0] / (1 + random() % 3);
    ASSERT_TRUE(program.run(500, slots).ok());
    const uint32_t first = random() % 4, second = (first + 1 + random() % 3) % 4;
    program.courier().end(first);
    Status status = program.run(static_cast<int>(random() % 60), slots);
    program.courier().end(second);
    if (status.ok()) status = program.run(300, slots);
    if (status.ok()) status = program.verify();
    right += status.ok() ? 1 : 0;
  }
  EXPECT_GT(right, 5);
  EXPECT_LT(right, 80);
}

// The program's own transfers are over long before all is copied: who waits for them only does not wait.
TEST(Restorer, WhatItDoesByItselfKeepsNobodyWaiting) {
  Program program({400, 400, 400}, Fill::rank, 3);
  for (uint64_t slot = 0; slot < 160; slot++) ASSERT_TRUE(program.put_and_settle(slot).ok());
  program.courier().end(0);
  pager::Tickets none;
  ASSERT_TRUE(program.store().progress(&none).ok());
  EXPECT_TRUE(program.store().busy());
  EXPECT_TRUE(program.store().settled());
  ASSERT_TRUE(program.settle().ok());
  EXPECT_EQ(program.courier().pages(), 320u);
}

// Two of four servers are lost, one after the other: what is left has room for all that was promised, once.
TEST(Restorer, WhatWasPromisedIsThereAfterTwoLosses) {
  set_log_level(LogLevel::error);
  for (const Fill fill : {Fill::rank, Fill::interleave})
    for (uint32_t seed = 0; seed < 12 && !HasFailure(); seed++) {
      Program program({256, 256, 256, 256}, fill, seed);
      const uint64_t slots = program.store().slots();
      for (uint64_t slot = 0; slot < 64; slot++) ASSERT_TRUE(program.put_and_settle(slot).ok());
      const uint32_t first = seed % 4, second = (first + 1 + seed / 4) % 4;
      program.courier().end(first);
      ASSERT_TRUE(program.settle().ok());
      program.courier().end(second);
      ASSERT_TRUE(program.settle().ok());
      Status status;
      for (uint64_t slot = 0; slot < slots && status.ok(); slot++) status = program.put_and_settle(slot);
      if (status.ok()) status = program.run(500, slots);
      if (status.ok()) status = program.verify();
      ASSERT_TRUE(status.ok()) << first << " then " << second << ": " << status.message();
    }
}

// Two of three are lost. The last one has no room for all that was promised, but for what is in use, wherever
// that is.
TEST(Restorer, WhatIsInUseComesBeforeWhatIsOnlyPromised) {
  set_log_level(LogLevel::error);
  for (const Fill fill : {Fill::rank, Fill::interleave})
    for (uint32_t seed = 0; seed < 6 && !HasFailure(); seed++) {
      Program program({256, 256, 256}, fill, seed);
      for (uint64_t slot = 0; slot < 64; slot++) ASSERT_TRUE(program.put_and_settle(slot).ok());
      const uint32_t first = seed % 3, second = (first + 1 + seed / 3) % 3;
      for (const uint32_t server : {first, second}) {
        program.courier().end(server);
        ASSERT_TRUE(program.settle().ok());
      }
      Status status;
      for (uint64_t slot = 64; slot < program.store().slots() && status.ok(); slot++) {
        status = program.put_and_settle(slot);
        if (status.ok()) status = program.release_and_settle(slot);
      }
      if (status.ok()) status = program.verify();
      ASSERT_TRUE(status.ok()) << first << " then " << second << ": " << status.message();
    }
}

// A program that has little at a time, of all the slots one after the other, does not run out of room.
TEST(Restorer, RoomComesBack) {
  for (const Fill fill : {Fill::rank, Fill::interleave}) {
    Program program({400, 400, 400}, fill, 3);
    program.courier().end(1);
    const uint64_t slots = program.store().slots();
    for (int round = 0; round < 3; round++)
      for (uint64_t first = 0; first + 32 <= slots; first += 32) {
        ASSERT_TRUE(program.put_and_settle(first).ok());
        EXPECT_EQ(program.courier().pages(), 2u) << "copies, of slot " << first;
        ASSERT_TRUE(program.store().release(first, 1).ok());
        program.courier().forget();
      }
  }
}

// One after the other, as long as the others have room for what is promised, the last of them lost instead
// where there are two copies.
TEST(Restorer, WhoLeavesHandsItsPagesOn) {
  set_log_level(LogLevel::error);
  size_t gone = 0;
  for (uint32_t seed = 1; seed <= 100 && !HasFailure(); seed++) {
    std::mt19937 random(seed);
    const uint32_t copies = 1 + seed % 2;
    std::vector<uint64_t> left = draw_capacities(random, 3 + random() % 4, 150);
    Program program(left, draw_fill(random), seed, {copies, 1});
    const uint64_t slots = 8 + random() % 56;
    ASSERT_TRUE(program.store().reserve(slots).ok());
    std::vector<uint32_t> servers(left.size());
    std::iota(servers.begin(), servers.end(), 0);
    ASSERT_TRUE(program.run(500, slots).ok()) << seed;
    while (servers.size() > copies) {
      const auto victim = static_cast<ptrdiff_t>(random() % servers.size());
      const uint32_t server = servers[static_cast<size_t>(victim)];
      program.courier().ask_to_leave(server);
      servers.erase(servers.begin() + victim);
      Status status = program.run(static_cast<int>(random() % 300), slots);
      if (status.ok()) status = program.settle();
      ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
      ASSERT_FALSE(program.courier().alive(server)) << seed << ": server " << server << " stays";
      gone++;
    }
    if (copies == 2) program.courier().end(servers[random() % 2]);
    const Status status = program.verify();
    ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
  }
  EXPECT_GT(gone, 200u);
}

// While the pages of one are moved, another one is lost: nothing is wrong and, with two copies, nothing lost.
TEST(Restorer, OneLeavesAndOneIsLost) {
  set_log_level(LogLevel::error);
  for (uint32_t seed = 1; seed <= 100 && !HasFailure(); seed++) {
    std::mt19937 random(seed);
    Program program({200, 200, 200, 200}, draw_fill(random), seed);
    const uint64_t slots = 100;
    ASSERT_TRUE(program.store().reserve(slots).ok());
    ASSERT_TRUE(program.run(500, slots).ok());
    const uint32_t leaving = random() % 4, lost = (leaving + 1 + random() % 3) % 4;
    program.courier().ask_to_leave(leaving);
    Status status = program.run(static_cast<int>(random() % 60), slots);
    program.courier().end(random() % 8 == 0 ? leaving : lost);
    if (status.ok()) status = program.run(300, slots);
    if (status.ok()) status = program.verify();
    ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
    EXPECT_FALSE(program.courier().alive(leaving)) << seed;
  }
}

// What was promised is not given up for a server that wants to leave; what is not needed any more is.
TEST(Restorer, WhoIsNeededStays) {
  set_log_level(LogLevel::error);
  for (const uint32_t copies : {1u, 2u})
    for (const Fill fill : {Fill::rank, Fill::interleave}) {
      Program program({256, 256, 256}, fill, 7, {copies, 1});
      const uint64_t slots = program.store().slots(), rest = 512 / copies;
      ASSERT_TRUE(program.run(1000, slots).ok());
      program.courier().ask_to_leave(1);
      Status status = program.settle();
      if (status.ok()) status = program.run(1000, slots);
      if (status.ok()) status = program.verify();
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(program.courier().alive(1));
      for (uint64_t slot = rest - 64; slot < slots; slot++)
        ASSERT_TRUE(program.release_and_settle(slot).ok());
      ASSERT_TRUE(program.store().reserve(rest - 64).ok());
      ASSERT_TRUE(program.verify().ok());
      EXPECT_FALSE(program.courier().alive(1));
      EXPECT_EQ(program.store().reserve(slots).err(), ENOMEM);
      ASSERT_TRUE(program.store().reserve(rest - 64).ok());
      ASSERT_TRUE(program.run(1000, rest - 64).ok());
      ASSERT_TRUE(program.verify().ok());
    }
}

// A slot whose lender is lost, on which nothing was, gets another place: not that of a page that is in use.
TEST(Restorer, TheOnlyCopyOfAPageIsNobodyElses) {
  set_log_level(LogLevel::error);
  Program program({256, 256, 256}, Fill::rank, 3, {1, 1});
  for (uint64_t slot = 496; slot < 512; slot++) ASSERT_TRUE(program.put_and_settle(slot).ok());
  program.courier().end(2);
  ASSERT_TRUE(program.settle().ok());
  ASSERT_TRUE(program.put_and_settle(512).ok());
  const Status status = program.verify();
  EXPECT_TRUE(status.ok()) << status.message();
}

// Loss, leave and room come in any order between looks; puts meet servers whose end nobody has noted yet.
TEST(Restorer, ServersGoInAnyOrder) {
  set_log_level(LogLevel::error);
  size_t gone = 0;
  for (uint32_t seed = 1; seed <= 300 && !HasFailure(); seed++) {
    std::mt19937 random(seed);
    const uint32_t copies = 1 + seed % 2;
    const std::vector<uint64_t> room = draw_capacities(random, 3 + random() % 3, 120);
    Program program(room, draw_fill(random), seed, {copies, 1});
    bool lost = copies == 1;
    // Both copies are there before one is lost, and after that nobody else is.
    const auto lose = [&](uint32_t server) {
      if (lost) return Status();
      lost = true;
      const Status status = program.settle();
      if (program.courier().alive(server)) program.courier().end(server);
      return status;
    };
    go_through_steps(program, seed, random, lose, &gone);
  }
  EXPECT_GT(gone, 300u);
}

// Nobody can take its pages: the program goes on with all of it, allocations that come later among it.
TEST(Restorer, TheOnlyOneStays) {
  set_log_level(LogLevel::error);
  Program program({256}, Fill::rank, 3, {1, 1});
  const uint64_t slots = program.store().slots();
  ASSERT_TRUE(program.store().reserve(0).ok());
  program.courier().ask_to_leave(0);
  ASSERT_TRUE(program.settle().ok());
  ASSERT_TRUE(program.store().reserve(64).ok());
  ASSERT_TRUE(program.run(200, 64).ok());
  ASSERT_TRUE(program.verify().ok());
  ASSERT_TRUE(program.store().reserve(slots).ok());
  ASSERT_TRUE(program.run(1000, slots).ok());
  ASSERT_TRUE(program.verify().ok());
  EXPECT_TRUE(program.courier().alive(0));
}

// What is lost stays lost: more that is promised gives it no place where something else was.
TEST(Restorer, WhatIsLostIsNotZero) {
  set_log_level(LogLevel::error);
  Program program({100, 100, 100, 100}, Fill::rank, 3);
  ASSERT_TRUE(program.store().reserve(100).ok());
  for (uint64_t slot = 96; slot < 100; slot++) ASSERT_TRUE(program.put_and_settle(slot).ok());
  for (const uint32_t server : {0u, 1u, 2u}) program.courier().end(server);
  Status status = program.store().reserve(150);
  if (status.ok()) status = program.verify();
  EXPECT_FALSE(status.ok());
}

// All slots are in use: there is no room for other copies, and one is enough.
TEST(Restorer, WithoutRoomEverythingHasOneCopy) {
  set_log_level(LogLevel::error);
  for (uint32_t seed = 1; seed <= 20 && !HasFailure(); seed++) {
    Program program({64, 100, 80}, seed % 2 == 0 ? Fill::rank : Fill::interleave, seed);
    const uint64_t slots = program.store().slots();
    ASSERT_TRUE(program.run(4000, slots).ok());
    program.courier().end(seed % 3);
    Status status = program.run(1000, slots);
    if (status.ok()) status = program.verify();
    ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
  }
}

}  // namespace
}  // namespace tasuki::cluster
