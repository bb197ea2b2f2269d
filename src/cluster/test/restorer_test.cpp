// A store of servers that come to their ends, beside a model of what was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "base/log.h"
#include "cluster/transport/cluster_store.h"

namespace tasuki::cluster {
namespace {

constexpr size_t kUnit = 64 << 10;  // 16 in a segment
constexpr size_t kBytes = 64;       // of each, that are looked at

// Servers in this process. Transfers happen when progress() is called, some of them, in any order: data of a
// put are taken then, and so are those of a get.
class FakeCourier final : public Courier {
 public:
  FakeCourier(size_t servers, uint32_t seed)
      : Courier(std::vector<std::string>(servers, "of a test"), true), random_(seed), memory_(servers) {}

  Status get(uint32_t server, uint64_t slot, uint32_t units, std::byte* to, uint64_t token) override {
    return add({server, slot, units, to, nullptr, token});
  }
  Status put(uint32_t server, uint64_t slot, uint32_t units, const std::byte* from, uint64_t token) override {
    return add({server, slot, units, nullptr, from, token});
  }
  bool may_release(uint32_t) const override { return random_() % 4 != 0; }
  Status release(uint32_t server, const Range* ranges, uint32_t count) override {
    for (uint32_t i = 0; i < count && alive(server); i++)
      for (uint64_t slot = ranges[i].slot; slot < ranges[i].slot + ranges[i].units; slot++) {
        for (const Transfer& t : under_way_)
          EXPECT_FALSE(t.server == server && t.slot <= slot && slot < t.slot + t.units)
              << "released, and in use";
        memory_[server].erase(slot);
      }
    return {};
  }
  Status progress(std::vector<uint64_t>* completed, std::vector<uint64_t>* lost) override {
    for (size_t n = random_() % 4; n > 0 && !under_way_.empty(); n--) {
      const size_t i = random_() % under_way_.size();
      const Transfer t = under_way_[i];
      under_way_.erase(under_way_.begin() + static_cast<ptrdiff_t>(i));
      for (uint32_t k = 0; k < t.units; k++) {
        if (t.from != nullptr) {
          Page& page = memory_[t.server][t.slot + k];
          memcpy(page.data(), t.from + k * kUnit, kBytes);
        } else {
          const auto page = memory_[t.server].find(t.slot + k);
          EXPECT_TRUE(page != memory_[t.server].end()) << "of a slot that was never put";
          if (page != memory_[t.server].end()) memcpy(t.to + k * kUnit, page->second.data(), kBytes);
        }
      }
      completed->push_back(t.token);
    }
    lost->insert(lost->end(), lost_.begin(), lost_.end());
    lost_.clear();
    return {};
  }
  int longest_rest_ms() override { return -1; }
  bool busy() const override { return !under_way_.empty() || !lost_.empty(); }
  void finish() override {}
  void goodbye(int, bool) override {}

  void end(uint32_t server) { lose(server, " has ended"); }
  void ask_to_leave(uint32_t server) { wants_to_leave(server); }
  size_t pages() const {
    return std::accumulate(memory_.begin(), memory_.end(), size_t{0},
                           [](size_t sum, const auto& pages) { return sum + pages.size(); });
  }
  void forget() {
    std::for_each(memory_.begin(), memory_.end(), [](auto& pages) { pages.clear(); });
  }

 private:
  using Page = std::array<std::byte, kBytes>;
  struct Transfer {
    uint32_t server;
    uint64_t slot;
    uint32_t units;
    std::byte* to;
    const std::byte* from;
    uint64_t token;
  };
  Status add(const Transfer& t) {
    if (!alive(t.server)) {
      lost_.push_back(t.token);
      return {};
    }
    for (const Transfer& o : under_way_)
      EXPECT_FALSE(o.server == t.server && o.slot < t.slot + t.units && t.slot < o.slot + o.units &&
                   (o.from != nullptr || t.from != nullptr))
          << "two transfers of slot " << t.slot << " of server " << t.server;
    under_way_.push_back(t);
    return {};
  }
  void give_up(uint32_t server) override {
    for (const Transfer& t : under_way_)
      if (t.server == server) lost_.push_back(t.token);
    std::erase_if(under_way_, [server](const Transfer& t) { return t.server == server; });
    memory_[server].clear();
  }

  mutable std::mt19937 random_;
  std::vector<std::map<uint64_t, Page>> memory_;
  std::vector<Transfer> under_way_;
  std::vector<uint64_t> lost_;
};

// Random gets, puts and releases of the store's first slots, and what they must find.
class Program {
 public:
  Program(const std::vector<uint64_t>& capacities, Fill fill, uint32_t seed, uint32_t copies = 2)
      : random_(seed) {
    auto courier = std::make_unique<FakeCourier>(capacities.size(), seed);
    courier_ = courier.get();
    std::vector<Lender> lenders(capacities.size());
    for (size_t i = 0; i < lenders.size(); i++) {
      lenders[i].name = "server " + std::to_string(i);
      lenders[i].slots = capacities[i];
    }
    store_ = std::make_unique<ClusterStore>(std::move(lenders), std::move(courier), kUnit, fill, copies);
    EXPECT_TRUE(store_->reserve(store_->slots()).ok());
    versions_.resize(store_->slots());
    taken_.resize(store_->slots());
    for (uint64_t slot = 0; slot < store_->slots(); slot++) limits_.push_back(store_->run_limit(slot));
    memory_.resize(kMost * kLongest * kUnit);
    for (size_t i = 0; i < kMost; i++) idle_.push_back(i);
  }

  ClusterStore& store() { return *store_; }
  FakeCourier& courier() { return *courier_; }

  Status run(int operations, uint64_t slots) {
    Status status;
    for (int i = 0; i < operations && status.ok(); i++) {
      if (idle_.empty() || random_() % 3 == 0) status = progress();
      if (status.ok() && !idle_.empty()) status = one(slots);
    }
    return status;
  }
  // Until nothing is under way, copies that are made again included.
  Status settle() {
    Status status;
    while (status.ok() && store_->busy()) status = progress();
    return status.ok() ? progress() : status;
  }
  Status put_and_settle(uint64_t slot) {
    const Status status = start({false, slot, 1});
    return status.ok() ? settle() : status;
  }
  Status release_and_settle(uint64_t slot) {
    versions_[slot] = 0;
    const Status status = store_->release(slot, 1);
    return status.ok() ? settle() : status;
  }
  // Everything that was put is there.
  Status verify() {
    Status status = settle();
    for (uint64_t slot = 0; slot < versions_.size() && status.ok(); slot++) {
      if (versions_[slot] == 0) continue;
      status = start({true, slot, 1});
      if (status.ok()) status = settle();
    }
    return status;
  }

 private:
  static constexpr uint32_t kMost = 8, kLongest = 24;
  struct Operation {
    bool get;
    uint64_t slot;
    uint32_t units;
  };

  uint32_t contents(uint64_t slot) const { return versions_[slot] * 10'007 + static_cast<uint32_t>(slot); }

  Status one(uint64_t slots) {
    const uint64_t slot = random_() % slots;
    // Also as long as a run was at the start.
    const uint64_t most = std::min({uint64_t{1} + random_() % kLongest, slots - slot,
                                    random_() % 2 == 0 ? limits_[slot] : store_->run_limit(slot)});
    uint32_t units = 0;
    while (units < most && !taken_[slot + units]) units++;
    if (units == 0) return {};
    const uint32_t kind = random_() % 8;
    if (kind == 0) {
      for (uint32_t k = 0; k < units; k++) versions_[slot + k] = 0;
      return store_->release(slot, units);
    }
    if (kind < 4) {
      for (uint32_t k = 0; k < units; k++) versions_[slot + k] = ++version_;
      return start({false, slot, units});
    }
    uint32_t there = 0;
    while (there < units && versions_[slot + there] != 0) there++;
    return there == 0 ? Status() : start({true, slot, there});
  }

  Status start(const Operation& operation) {
    const size_t ticket = idle_.back();
    idle_.pop_back();
    under_way_[ticket] = operation;
    std::byte* const at = memory_.data() + ticket * kLongest * kUnit;
    for (uint32_t k = 0; k < operation.units; k++) {
      taken_[operation.slot + k] = true;
      const uint32_t word = operation.get ? 0 : contents(operation.slot + k);
      for (size_t w = 0; w < kBytes; w += 4) memcpy(at + k * kUnit + w, &word, 4);
    }
    return operation.get ? store_->get(operation.slot, operation.units, at, ticket)
                         : store_->put(operation.slot, operation.units, at, ticket);
  }

  Status progress() {
    pager::Tickets done;
    const Status status = store_->progress(&done);
    for (const pager::Ticket ticket : done) {
      const Operation& o = under_way_[ticket];
      const std::byte* const at = memory_.data() + ticket * kLongest * kUnit;
      for (uint32_t k = 0; k < o.units; k++) {
        taken_[o.slot + k] = false;
        uint32_t words[kBytes / 4];
        memcpy(words, at + k * kUnit, kBytes);
        for (const uint32_t word : words) EXPECT_EQ(word, contents(o.slot + k)) << "slot " << o.slot + k;
      }
      idle_.push_back(ticket);
    }
    return status;
  }

  std::mt19937 random_;
  FakeCourier* courier_;
  std::unique_ptr<ClusterStore> store_;
  std::vector<uint32_t> versions_;  // of each slot; 0: not in use
  std::vector<bool> taken_;         // by an operation under way
  std::vector<uint64_t> limits_;
  std::vector<std::byte> memory_;
  std::vector<size_t> idle_;
  Operation under_way_[kMost] = {};
  uint32_t version_ = 0;
};

std::vector<uint64_t> draw_capacities(std::mt19937& random, size_t servers, uint64_t least) {
  std::vector<uint64_t> all(servers);
  for (uint64_t& capacity : all) capacity = least + random() % 150;
  return all;
}

Fill draw_fill(std::mt19937& random) {
  return random() % 2 == 0 ? Fill::rank : Fill::interleave;
}

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
    Program program(left, draw_fill(random), seed, copies);
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
      Program program({256, 256, 256}, fill, 7, copies);
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
  Program program({256, 256, 256}, Fill::rank, 3, 1);
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
    Program program(room, draw_fill(random), seed, copies);
    uint64_t slots = 40;
    ASSERT_TRUE(program.store().reserve(slots).ok());
    bool lost = copies == 1;
    for (int step = 0; step < 30; step++) {
      Status status;
      const auto server = static_cast<uint32_t>(random() % room.size());
      switch (random() % 6) {
        case 0:
          program.courier().ask_to_leave(server);
          break;
        case 1:  // both copies are there before, and after that nobody else is lost
          if (!lost) status = program.settle();
          if (!lost && program.courier().alive(server)) program.courier().end(server);
          lost = true;
          break;
        case 2:
          if (const uint64_t more = std::min<uint64_t>(60, slots + random() % 40);
              program.store().reserve(more).ok())
            slots = more;
          break;
        case 3:
          status = program.settle();
          for (uint64_t slot = slots - slots / 4; slot < slots && status.ok(); slot++)
            status = program.release_and_settle(slot);
          slots -= slots / 4;
          if (status.ok()) status = program.store().reserve(slots);
          break;
        default:
          status = program.run(static_cast<int>(random() % 100), slots);
          break;
      }
      ASSERT_TRUE(status.ok()) << seed << ", step " << step << ": " << status.message();
    }
    const Status status = program.verify();
    ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
    for (uint32_t server = 0; server < room.size(); server++) gone += program.courier().alive(server) ? 0 : 1;
  }
  EXPECT_GT(gone, 300u);
}

// Nobody can take its pages: the program goes on with all of it, allocations that come later among it.
TEST(Restorer, TheOnlyOneStays) {
  set_log_level(LogLevel::error);
  Program program({256}, Fill::rank, 3, 1);
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
