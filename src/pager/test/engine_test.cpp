// The engine without a kernel: random programs against a reference, for all protocols, policies, ways to keep
// copies, page sizes and kinds of mappers, with a store that completes late and out of order; then the
// corners, each by itself.
#include "pager/core/engine.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "pager/test/fake_memory.h"

namespace tasuki::pager {
namespace {

struct Given {
  Options options;
  Style style = Style::move;
  uint64_t local = 64, slots = 512, seed = 1;
  SlowStore::Behaviour store;
  bool late = true;
  uint64_t page_limit = UINT64_MAX;
};

// An engine that serves, with its mapper and store.
class Rig {
 public:
  explicit Rig(const Given& given) : store_(given.slots, given.store, given.seed) {
    Options options = given.options;
    options.local_bytes = given.local * unit_size();
    auto mapper = std::make_unique<FakeMapper>(given.style, given.local, given.seed, given.late);
    mapper->limit_pages(given.page_limit);
    mapper_ = mapper.get();
    engine_ = std::make_unique<Engine>(options, &store_, std::move(mapper));
    serving_ = std::thread([this] { result_ = engine_->serve(); });
  }
  ~Rig() {
    if (!serving_.joinable()) return;
    EXPECT_TRUE(stop().ok()) << result_.message();
  }

  Status stop() {
    engine_->stop();
    return join();
  }
  Status join() {
    serving_.join();
    return result_;
  }

  std::byte* allocate(uint64_t units, size_t page_bytes = 0) {
    Result<void*> got = engine_->allocate(units * unit_size(), 4096, page_bytes);
    return got.ok() ? static_cast<std::byte*>(got.value()) : nullptr;
  }
  // The first and the last word of a unit.
  void write(std::byte* at, uint64_t value, int thread = 1) {
    mapper_->access(at, true, thread, [&](std::byte* p) {
      memcpy(p, &value, 8);
      memcpy(p + unit_size() - 8, &value, 8);
    });
  }
  uint64_t read(std::byte* at, int thread = 1) {
    uint64_t values[2] = {};
    mapper_->access(at, false, thread, [&](std::byte* p) {
      memcpy(&values[0], p, 8);
      memcpy(&values[1], p + unit_size() - 8, 8);
    });
    EXPECT_EQ(values[0], values[1]) << "a unit is in halves of two versions";
    return values[0];
  }
  void fill(std::byte* at, uint64_t units, uint64_t value) {
    for (uint64_t i = 0; i < units; i++) write(at + i * unit_size(), value + i);
  }
  void verify(std::byte* at, uint64_t units, uint64_t value) {
    for (uint64_t i = 0; i < units; i++) ASSERT_EQ(read(at + i * unit_size()), value + i) << "unit " << i;
  }
  uint64_t capacity() const {  // as the program finds out
    uint64_t units = 0;
    std::vector<void*> all;
    for (uint64_t step = 1024; step > 0;) {
      Result<void*> got = engine_->allocate(step * unit_size(), 4096, 0);
      if (got.ok()) {
        all.push_back(got.value());
        units += step;
      } else {
        EXPECT_EQ(got.status().err(), ENOMEM);
        step /= 2;
      }
    }
    for (void* p : all) EXPECT_TRUE(engine_->free(p).ok());
    return units;
  }

  Engine& engine() { return *engine_; }
  FakeMapper& mapper() { return *mapper_; }
  SlowStore& store() { return store_; }

 private:
  SlowStore store_;
  FakeMapper* mapper_ = nullptr;
  std::unique_ptr<Engine> engine_;
  std::thread serving_;
  Status result_;
};

struct Block {
  std::byte* at = nullptr;
  std::vector<uint64_t> value;  // what each unit must have
};

// One thread of a random program: its own blocks, which come and go, and one that all threads share.
class Thread {
 public:
  Thread(Rig* rig, Block* shared, int id, uint64_t seed, const Given& given)
      : rig_(rig),
        shared_(shared),
        id_(id),
        given_(given),
        random_(seed * 1000 + static_cast<uint64_t>(id)) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); i++) {
      const uint64_t die = random_() % 100;
      if (die < 5)
        allocate();
      else if (die < 8)
        free();
      else if (die < 13)
        advise();
      else if (die < 18)
        pin();
      else if (die < 35 || blocks_.empty())
        shared();
      else if (die < 60)
        walk();
      else
        touch(&pick(), random_());
    }
    for (Block& b : blocks_) {
      for (uint64_t u = 0; u < b.value.size(); u++)
        ASSERT_EQ(rig_->read(b.at + u * unit_size(), id_), b.value[u]) << "unit " << u;
      ASSERT_TRUE(rig_->engine().free(b.at).ok());
    }
  }

 private:
  Block& pick() { return blocks_[random_() % blocks_.size()]; }

  void allocate() {
    const uint64_t units = 1 + random_() % (random_() % 4 == 0 ? 2 * given_.local : given_.local / 4);
    const size_t pages[] = {0, 0, 0, unit_size(), 4 * unit_size(), 16 * unit_size(), 2u << 20};
    std::byte* at = rig_->allocate(units, pages[random_() % 7]);
    if (at == nullptr) return free();
    blocks_.push_back({at, std::vector<uint64_t>(units)});
  }
  void free() {
    if (blocks_.empty()) return;
    std::swap(pick(), blocks_.back());
    ASSERT_EQ(rig_->engine().size_of(blocks_.back().at), blocks_.back().value.size() * unit_size());
    const Status freed = rig_->engine().free(blocks_.back().at);
    ASSERT_TRUE(freed.ok()) << freed.message();
    blocks_.pop_back();
  }
  void touch(Block* b, uint64_t where) {
    const uint64_t unit = where % b->value.size();
    std::byte* at = b->at + unit * unit_size();
    if (random_() % 2 == 0) {
      ASSERT_EQ(rig_->read(at, id_), b->value[unit]) << "unit " << unit;
    } else {
      rig_->write(at, b->value[unit] = random_(), id_);
    }
  }
  void walk() {
    Block& b = pick();
    const uint64_t step = random_() % 4 == 0 ? random_() % 9 : 1, from = random_();
    for (uint64_t i = 0; i < 30; i++) touch(&b, from + i * step);
  }
  // All threads add to the units of one block; the reference is updated at the same moment.
  void shared() {
    const uint64_t unit = random_() % shared_->value.size();
    rig_->mapper().access(shared_->at + unit * unit_size(), true, id_, [&](std::byte* p) {
      uint64_t now;
      memcpy(&now, p, 8);
      if (now != shared_->value[unit]) ADD_FAILURE() << "an update of shared unit " << unit << " is lost";
      shared_->value[unit] = ++now;
      memcpy(p, &now, 8);
      memcpy(p + unit_size() - 8, &now, 8);
    });
  }
  void advise() {
    if (blocks_.empty()) return;
    Block& b = pick();
    static constexpr Advice kAll[] = {Advice::normal,    Advice::sequential, Advice::random,
                                      Advice::will_need, Advice::done_with,  Advice::keep_local};
    const Advice advice = kAll[random_() % 6];
    const uint64_t first = random_() % b.value.size(), count = 1 + random_() % (b.value.size() - first);
    const Status status = rig_->engine().advise(b.at + first * unit_size(), count * unit_size(), advice);
    if (advice == Advice::keep_local) {
      if (!status.ok()) {
        ASSERT_EQ(status.err(), ENOMEM) << status.message();
      }
      // Not for long: the others want memory too.
      ASSERT_TRUE(rig_->engine().advise(b.at, b.value.size() * unit_size(), Advice::normal).ok());
    } else {
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
  // What is pinned stays where it is, whatever the others do.
  void pin() {
    if (blocks_.empty()) return;
    Block& b = pick();
    const uint64_t first = random_() % b.value.size(), most = given_.local / 16;
    const uint64_t count = std::min(1 + random_() % most, b.value.size() - first);
    const bool write = random_() % 2 == 0;
    std::byte* at = b.at + first * unit_size();
    const size_t got = rig_->engine().pin(at, count * unit_size(), write);
    ASSERT_GT(got, 0u);
    ASSERT_LE(got, count * unit_size());
    for (int i = 0; i < 20; i++) {
      ASSERT_TRUE(rig_->mapper().accessible(at, got, write)) << "a pinned page left";
      std::this_thread::yield();
    }
    rig_->engine().unpin(at, got);
  }

  Rig* rig_;
  Block* shared_;
  int id_;
  const Given& given_;
  std::mt19937_64 random_;
  std::vector<Block> blocks_;
};

void random_program(const Given& given, int threads, int steps) {
  Rig rig(given);
  Block shared;
  shared.value.resize(given.local / 2);
  shared.at = rig.allocate(shared.value.size());
  ASSERT_NE(shared.at, nullptr);
  std::vector<std::thread> all;
  for (int t = 1; t <= threads; t++)
    all.emplace_back([&, t] { Thread(&rig, &shared, t, given.seed, given).run(steps); });
  for (std::thread& t : all) t.join();
  for (uint64_t u = 0; u < shared.value.size(); u++)
    ASSERT_EQ(rig.read(shared.at + u * unit_size()), shared.value[u]);
  ASSERT_TRUE(rig.engine().free(shared.at).ok());
  const Stats stats = rig.engine().stats();
  EXPECT_EQ(stats.allocated_bytes, 0u);
  EXPECT_EQ(stats.resident_bytes, 0u);
  EXPECT_EQ(rig.mapper().held(), 0u) << "local memory is lost";
  EXPECT_EQ(rig.store().used(), 0u) << "slots are lost";
}

using Combination = std::tuple<Protocol, ReplacementPolicy, Copies, Style>;
class RandomPrograms : public ::testing::TestWithParam<Combination> {};

TEST_P(RandomPrograms, ReadWhatTheyWrote) {
  uint64_t seed = 1;
  for (const auto& [units, direct] : {std::pair(0, false), {1, true}, {4, false}, {16, true}, {16, false}}) {
    Given given;
    std::tie(given.options.protocol, given.options.replacement, given.options.copies, given.style) =
        GetParam();
    given.options.page_bytes = static_cast<size_t>(units) * unit_size();
    given.local = direct ? 64 : 200;
    given.slots = 700;
    // In cache mode a page that was stored keeps its slot, so there must be one for every page.
    given.store.run = direct ? 0 : 100;
    given.store.patience = 1 + static_cast<uint32_t>(seed % 6);
    given.store.direct = direct;
    given.seed = seed++;
    given.late = seed % 3 != 0;
    SCOPED_TRACE("units of a page " + std::to_string(units) + ", seed " + std::to_string(given.seed));
    random_program(given, 3, 100);
    if (HasFailure()) return;
  }
}

std::string name_of_test(const ::testing::TestParamInfo<Combination>& test) {
  static constexpr const char *kProtocols[] = {"ahead", "cs", "cross", "as1", "as2"},
                              *kPolicies[] = {"clock", "fifo", "address"},
                              *kCopies[] = {"automatic", "cache", "exclusive"},
                              *kStyles[] = {"move", "copy", "protect", "drop"};
  const auto& [protocol, policy, copies, style] = test.param;
  return std::string(kProtocols[static_cast<int>(protocol)]) + "_" + kPolicies[static_cast<int>(policy)] +
         "_" + kCopies[static_cast<int>(copies)] + "_" + kStyles[static_cast<int>(style)];
}

INSTANTIATE_TEST_SUITE_P(
    All, RandomPrograms,
    ::testing::Combine(
        ::testing::Values(Protocol::ahead, Protocol::cs, Protocol::cross, Protocol::as1, Protocol::as2),
        ::testing::Values(ReplacementPolicy::clock, ReplacementPolicy::fifo, ReplacementPolicy::address),
        ::testing::Values(Copies::automatic, Copies::cache, Copies::exclusive),
        ::testing::Values(Style::move, Style::copy, Style::protect, Style::drop)),
    name_of_test);

// Everything that can be allocated can be used, all at once: in cache mode the copies are the store's, in the
// others each slot counts.
class Full : public ::testing::TestWithParam<std::tuple<Protocol, Copies, bool>> {};

TEST_P(Full, EveryByteThatIsAllocatedCanBeUsed) {
  for (const uint64_t local : {64u, 300u, 2000u})
    for (const uint64_t slots : {0u, 1u, 30u, 500u}) {
      SCOPED_TRACE(std::to_string(local) + " units here, " + std::to_string(slots) + " slots");
      Given given;
      std::tie(given.options.protocol, given.options.copies, given.store.direct) = GetParam();
      given.local = local;
      given.slots = slots;
      given.style = Style::protect;
      Rig rig(given);
      const uint64_t all = rig.capacity();
      const bool inclusive = given.options.copies == Copies::cache;
      EXPECT_GE(all, std::max(local, inclusive ? slots : slots + local / 2));
      EXPECT_LE(all, slots + local);
      std::byte* at = rig.allocate(all);
      ASSERT_NE(at, nullptr);
      EXPECT_EQ(rig.allocate(1), nullptr);
      rig.fill(at, all, 1000);
      rig.verify(at, all, 1000);
      std::mt19937_64 random(1);
      for (int i = 0; i < 300; i++) {
        const uint64_t unit = random() % all;
        rig.write(at + unit * unit_size(), 1000 + unit);
      }
      // All of it at once wants to leave: as much as there is room for does.
      EXPECT_TRUE(rig.engine().advise(at, all * unit_size(), Advice::done_with).ok());
      EXPECT_TRUE(rig.engine().advise(at, all * unit_size(), Advice::will_need).ok());
      rig.verify(at, all, 1000);
      EXPECT_TRUE(rig.engine().free(at).ok());
      EXPECT_EQ(rig.mapper().held(), 0u);
      EXPECT_EQ(rig.store().used(), 0u);
      EXPECT_EQ(rig.capacity(), all);
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, Full,
    ::testing::Combine(::testing::Values(Protocol::ahead, Protocol::cs, Protocol::cross, Protocol::as1),
                       ::testing::Values(Copies::automatic, Copies::cache, Copies::exclusive),
                       ::testing::Bool()));

TEST(Engine, WithoutSlotsEverythingIsLocal) {
  // A mapper that must watch from the beginning, so that the engine could evict.
  Given given;
  given.slots = 0;
  given.late = false;
  Rig rig(given);
  std::byte* at = rig.allocate(64);
  ASSERT_NE(at, nullptr);
  rig.fill(at, 64, 1);
  rig.verify(at, 64, 1);
  EXPECT_EQ(rig.allocate(1), nullptr);
}

TEST(Engine, AllocationsAreChecked) {
  Rig rig(Given{});
  Engine& e = rig.engine();
  EXPECT_EQ(e.allocate(0, 1, 0).status().err(), EINVAL);
  EXPECT_EQ(e.allocate(1, 3, 0).status().err(), EINVAL);
  EXPECT_EQ(e.allocate(1, 1, 100).status().err(), EINVAL);
  EXPECT_EQ(e.allocate(1, 1, 4u << 20).status().err(), EINVAL);
  EXPECT_EQ(e.allocate(SIZE_MAX, 1, 0).status().err(), ENOMEM);
  EXPECT_EQ(e.allocate(SIZE_MAX - 4095, 1, 0).status().err(), ENOMEM);
  std::byte* at = rig.allocate(3);
  EXPECT_EQ(e.free(at + unit_size()).err(), EINVAL);
  EXPECT_EQ(e.free(nullptr).err(), EINVAL);
  EXPECT_EQ(e.advise(at, 4 * unit_size(), Advice::normal).err(), EINVAL);
  EXPECT_EQ(e.advise(nullptr, 1, Advice::normal).err(), EINVAL);
  EXPECT_EQ(e.reallocate(at + 1, 5).status().err(), EINVAL);
  EXPECT_EQ(e.size_of(at), 3 * unit_size());
  EXPECT_EQ(e.size_of(at + 1), 0u);
  EXPECT_TRUE(e.touches(at - 10, 11));
  EXPECT_TRUE(e.touches(at + 3 * unit_size() - 1, 1));
  EXPECT_FALSE(e.touches(at - 10, 10));
  EXPECT_FALSE(e.touches(at + 3 * unit_size(), 100));
  EXPECT_FALSE(e.touches(at, 0));
  EXPECT_TRUE(e.free(at).ok());
  EXPECT_EQ(e.free(at).err(), EINVAL);
  EXPECT_FALSE(e.touches(at, 1));
}

TEST(Engine, WhatWasTouchedBeforeTheSwitchStays) {
  Given given;
  Rig rig(given);
  std::byte* first = rig.allocate(60);
  rig.fill(first, 30, 5);
  EXPECT_EQ(rig.engine().stats().faults, 0u) << "everything fits: nothing to watch";
  std::byte* second = rig.allocate(200);
  ASSERT_NE(second, nullptr);
  rig.fill(second, 200, 700);
  rig.verify(first, 30, 5);
  for (uint64_t i = 30; i < 60; i++) EXPECT_EQ(rig.read(first + i * unit_size()), 0u);
  rig.verify(second, 200, 700);
}

TEST(Engine, CleanPagesLeaveWithoutATransfer) {
  Given given;
  given.style = Style::protect;
  given.options.copies = Copies::cache;
  given.options.prefetch = Prefetch::off;
  Rig rig(given);
  std::byte* at = rig.allocate(400);
  rig.fill(at, 400, 1);
  rig.verify(at, 400, 1);
  const uint64_t out = rig.engine().stats().swaps_out;
  rig.verify(at, 400, 1);
  rig.verify(at, 400, 1);
  EXPECT_LE(rig.engine().stats().swaps_out, out + 20);  // those that were dirty still
}

TEST(Engine, SmallCleanPagesAreDroppedTogether) {
  Given given;
  given.style = Style::drop;
  given.options.copies = Copies::cache;
  given.options.prefetch = Prefetch::off;
  given.options.page_bytes = unit_size();
  Rig rig(given);
  std::byte* at = rig.allocate(400);
  rig.fill(at, 400, 1);
  rig.verify(at, 400, 1);
  const Stats before = rig.engine().stats();
  const uint64_t dropped = rig.mapper().dropped();
  for (int round = 0; round < 3; round++) rig.verify(at, 400, 1);
  const Stats after = rig.engine().stats();
  EXPECT_LE(after.swaps_out, before.swaps_out + 20);
  EXPECT_GE(rig.mapper().dropped() - dropped, 3 * 400 - 2 * given.local);
  EXPECT_GE(after.drops - before.drops, rig.mapper().dropped() - dropped);
}

TEST(Engine, ZerosNeverTravel) {
  Given given;
  given.style = Style::protect;
  Rig rig(given);
  std::byte* at = rig.allocate(500);
  for (int round = 0; round < 2; round++)
    for (uint64_t i = 0; i < 500; i++) ASSERT_EQ(rig.read(at + i * unit_size()), 0u);
  EXPECT_EQ(rig.engine().stats().swaps_out, 0u);
  EXPECT_EQ(rig.engine().stats().swaps_in, 0u);
}

TEST(Engine, AFailingStoreEndsServe) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::cs, Protocol::cross, Protocol::as1})
    for (int64_t at = 0; at < 60; at += 7) {
      Given given;
      given.options.protocol = protocol;
      given.store.fail_at = at;
      auto rig = std::make_unique<Rig>(given);
      std::byte* memory = rig->allocate(400);
      // Not by accesses: those never return after the error.
      while (rig->store().calls() <= static_cast<uint64_t>(at)) {
        for (const Advice advice : {Advice::will_need, Advice::done_with})
          EXPECT_TRUE(rig->engine().advise(memory, 400 * unit_size(), advice).ok());
        rig->engine().pin(memory, 16 * unit_size(), true);
        rig->mapper().write_if_there(memory, rig->store().calls());  // else it need not travel again
        rig->engine().unpin(memory, 16 * unit_size());
      }
      const Status status = rig->join();
      EXPECT_EQ(status.err(), EIO);
      EXPECT_NE(status.message().find("as the test wanted"), std::string::npos) << status.message();
      EXPECT_GT(rig->engine().stats().allocated_bytes, 0u) << "who ends the program asks for the statistics";
    }
}

TEST(Engine, MemoryIsFreedDuringTransfers) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::cs, Protocol::as1}) {
    Given given;
    given.options.protocol = protocol;
    given.store.patience = 50;
    Rig rig(given);
    for (int round = 0; round < 30; round++) {
      std::byte* at = rig.allocate(300);
      ASSERT_NE(at, nullptr);
      rig.fill(at, 80, 1);
      EXPECT_TRUE(rig.engine().advise(at, 300 * unit_size(), Advice::will_need).ok());
      EXPECT_TRUE(rig.engine().advise(at, 40 * unit_size(), Advice::done_with).ok());
      EXPECT_TRUE(rig.engine().free(at).ok());
      ASSERT_EQ(rig.mapper().held(), 0u);
      ASSERT_EQ(rig.store().used(), 0u);
    }
  }
}

TEST(Engine, WillNeedWithOneSwapAtATime) {
  // Several pages arrive that nobody waits for, while the protocol holds each back until its swap is over.
  for (const Protocol protocol : {Protocol::cs, Protocol::cross, Protocol::as1}) {
    Given given;
    given.options.protocol = protocol;
    given.local = 512;
    given.slots = 4000;
    given.store.patience = 20;
    Rig rig(given);
    std::byte* at = rig.allocate(3000);
    rig.fill(at, 3000, 1);
    for (int round = 0; round < 10; round++)
      for (uint64_t first = 0; first < 3000; first += 300) {
        EXPECT_TRUE(rig.engine().advise(at + first * unit_size(), 200 * unit_size(), Advice::will_need).ok());
        rig.verify(at + first * unit_size(), 200, 1 + first);
      }
    EXPECT_TRUE(rig.engine().free(at).ok());
    EXPECT_EQ(rig.mapper().held(), 0u);
  }
}

TEST(Engine, WhatIsKeptLocalStays) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::cs, Protocol::as1})
    for (const Style style : {Style::move, Style::copy, Style::protect, Style::drop}) {
      Given given;
      given.options.protocol = protocol;
      given.style = style;
      given.local = 128;
      given.slots = 2000;
      Rig rig(given);
      std::byte* at = rig.allocate(1000);
      for (int round = 0; round < 20; round++) {  // at a different moment of the life of its pages each time
        rig.fill(at, 1000, 1);
        std::byte* mine = at + static_cast<size_t>(round) * 50 * unit_size();
        const Status kept = rig.engine().advise(mine, 40 * unit_size(), Advice::keep_local);
        ASSERT_TRUE(kept.ok()) << kept.message();
        for (uint64_t i = 0; i < 40; i++) rig.read(mine + i * unit_size());
        const Stats before = rig.engine().stats();
        for (uint64_t i = 0; i < 1000; i += 7) {
          rig.read(at + i * unit_size());
          ASSERT_TRUE(rig.mapper().accessible(mine, 40 * unit_size(), false)) << "a page that is kept left";
        }
        EXPECT_GT(rig.engine().stats().faults, before.faults);
        ASSERT_TRUE(rig.engine().advise(mine, 40 * unit_size(), Advice::normal).ok());
      }
      rig.verify(at, 1000, 1);
    }
}

TEST(Engine, KeepingLocalTwiceCountsOnceAndEndsWithTheMemory) {
  Given given;
  given.local = 256;
  given.slots = 1000;
  Rig rig(given);
  for (int round = 0; round < 10; round++) {
    std::byte* at = rig.allocate(1000);
    ASSERT_NE(at, nullptr);
    for (int again = 0; again < 3; again++) {
      const Status kept = rig.engine().advise(at, 120 * unit_size(), Advice::keep_local);
      ASSERT_TRUE(kept.ok()) << kept.message() << " round " << round;
    }
    EXPECT_EQ(rig.engine().advise(at, 250 * unit_size(), Advice::keep_local).err(), ENOMEM);
    rig.fill(at, 1000, 1);
    rig.verify(at, 1000, 1);
    ASSERT_TRUE(rig.engine().free(at).ok());
  }
}

// What has been granted counts although it is not here yet: two that each get a half would wait for each
// other for ever.
TEST(Engine, ThreadsThatKeepMemoryLocalAtTheSameTime) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::cs})
    for (const Copies copies : {Copies::automatic, Copies::cache, Copies::exclusive}) {
      Given given;
      given.options.protocol = protocol;
      given.options.copies = copies;
      given.local = 64;
      given.slots = 700;
      given.store.patience = 6;
      Rig rig(given);
      const uint64_t each = rig.capacity() / 4;
      std::byte* at = rig.allocate(4 * each);
      rig.fill(at, 4 * each, 1);
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
          std::byte* mine = at + static_cast<size_t>(t) * each * unit_size();
          for (int i = 0; i < 60; i++) {
            std::byte* here = mine + static_cast<size_t>(i % 4) * 35 * unit_size();
            const Status kept = rig.engine().advise(here, 30 * unit_size(), Advice::keep_local);
            ASSERT_TRUE(kept.ok() || kept.err() == ENOMEM) << kept.message();
            rig.read(mine + static_cast<size_t>(i) * unit_size(), t);
            ASSERT_TRUE(rig.engine().advise(here, 30 * unit_size(), Advice::normal).ok());
          }
        });
      for (std::thread& t : threads) t.join();
      rig.verify(at, 4 * each, 1);
    }
}

TEST(Engine, PinsOfManyThreadsLeaveRoomForFaults) {
  Given given;
  given.local = 64;
  given.slots = 2000;
  Rig rig(given);
  std::byte* at = rig.allocate(1600);
  ASSERT_TRUE(rig.engine().advise(at, 30 * unit_size(), Advice::keep_local).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; t++)
    threads.emplace_back([&, t] {
      std::byte* mine = at + static_cast<size_t>(t) * 100 * unit_size();
      for (int i = 0; i < 50; i++) {
        std::byte* here = mine + static_cast<size_t>(i % 3) * 30 * unit_size();
        const size_t got = rig.engine().pin(here, 30 * unit_size(), true);
        ASSERT_GT(got, 0u);
        ASSERT_TRUE(rig.mapper().accessible(here, got, true));
        // What a system call's wrapper may do with other memory meanwhile.
        rig.write(mine + 95 * unit_size(), static_cast<uint64_t>(i), t);
        ASSERT_TRUE(rig.mapper().accessible(here, got, true));
        rig.engine().unpin(here, got);
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(Engine, PinsOutsideOfRegionsAreIgnored) {
  Given given;
  given.late = false;
  Rig rig(given);
  std::byte* at = rig.allocate(8);
  EXPECT_EQ(rig.engine().pin(at - 4 * unit_size(), 8 * unit_size(), true), 8 * unit_size());
  EXPECT_TRUE(rig.mapper().accessible(at, 4 * unit_size(), true));
  rig.engine().unpin(at - 4 * unit_size(), 8 * unit_size());
  int local = 0;
  EXPECT_EQ(rig.engine().pin(&local, sizeof local, true), sizeof local);
  rig.engine().unpin(&local, sizeof local);
  EXPECT_EQ(rig.engine().pin(at + 100, 1, false), 1u);
  rig.engine().unpin(at + 100, 1);
}

TEST(Engine, PinsOfBeforeTheSwitchHold) {
  Given given;
  Rig rig(given);
  std::byte* at = rig.allocate(16);
  const size_t got = rig.engine().pin(at, 10 * unit_size(), true);  // everything fits: plain memory so far
  ASSERT_EQ(got, 10 * unit_size());
  std::byte* large = rig.allocate(300);
  ASSERT_NE(large, nullptr);
  for (uint64_t i = 0; i < 300; i++) {
    rig.write(large + i * unit_size(), i);
    ASSERT_TRUE(rig.mapper().accessible(at, got, true)) << "a pinned page left after unit " << i;
  }
  rig.engine().unpin(at, got);
  // And the pins are gone now: all of it may be elsewhere.
  for (uint64_t i = 0; i < 300; i++) rig.write(large + i * unit_size(), i);
  EXPECT_FALSE(rig.mapper().accessible(at, got, true));
}

// A device or another process writes there: a page that left would be the one that it writes to no more.
TEST(Engine, WhatOthersUseStaysAndTheRestGoesOn) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::cs, Protocol::as1})
    for (const uint64_t busy : {10, 40, 200}) {  // some, most, and more than there is room for
      Given given;
      given.options.protocol = protocol;
      given.slots = 2000;
      Rig rig(given);
      std::byte* at = rig.allocate(1000);
      rig.fill(at, 1000, 1);
      for (uint64_t i = 0; i < busy;
           i++) {  // as the kernel pins them: page after page, none of which may leave meanwhile
        rig.mapper().occupy(at + i * unit_size(), 1, true);
        rig.read(at + i * unit_size());
      }
      for (uint64_t i = busy; i < 1000; i++) {
        rig.write(at + i * unit_size(), 1 + i);
        ASSERT_TRUE(rig.mapper().accessible(at, busy * unit_size(), false)) << "a page in use left";
      }
      rig.mapper().occupy(at, busy, false);
      for (int round = 0; round < 2; round++) rig.verify(at, 1000, 1);
      usleep(5000);  // pages that were in use are left alone for a moment
      rig.verify(at, 1000, 1);
      EXPECT_LE(rig.engine().stats().resident_bytes, given.local * unit_size());
    }
}

TEST(Engine, AnAllocationThatCannotBeWatchedFailsAndTheNextIsWhole) {
  for (const int fails : {1, 2, 3, 4}) {
    Given given;
    Rig rig(given);
    std::byte* small[3];
    for (auto& at : small) {
      at = rig.allocate(15);
      rig.fill(at, 15, 7);
    }
    rig.mapper().fail_watch(fails);
    EXPECT_EQ(rig.allocate(300), nullptr);
    for (std::byte* at : small) rig.fill(at, 15, 100);
    std::byte* large = rig.allocate(300);
    ASSERT_NE(large, nullptr);
    rig.fill(large, 300, 1000);
    for (std::byte* at : small) rig.verify(at, 15, 100);
    rig.verify(large, 300, 1000);
    EXPECT_LE(rig.engine().stats().resident_bytes, given.local * unit_size());
  }
}

TEST(Engine, PagesLargerThanTheLocalMemory) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::cs, Protocol::cross, Protocol::as1})
    for (const size_t page : {size_t{128} << 10, size_t{256} << 10, size_t{2} << 20}) {
      SCOPED_TRACE(page);
      Given given;
      given.options.protocol = protocol;
      Rig rig(given);
      std::byte* small = rig.allocate(50, page);
      rig.fill(small, 50, 9);
      std::byte* at = rig.allocate(300, page);  // the first one is watched now
      ASSERT_NE(at, nullptr);
      rig.fill(at, 300, 1);
      rig.verify(at, 300, 1);
      rig.verify(small, 50, 9);
    }
}

TEST(Engine, MoreThreadsThanPages) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::cs, Protocol::cross, Protocol::as1}) {
    Given given;
    given.options.protocol = protocol;
    given.options.page_bytes = 16 * unit_size();  // four pages
    Rig rig(given);
    std::byte* at = rig.allocate(512);
    std::vector<std::thread> threads;
    for (int t = 0; t < 32; t++)
      threads.emplace_back([&, t] {
        std::byte* mine = at + static_cast<size_t>(t) * 16 * unit_size();
        for (uint64_t i = 0; i < 20; i++) {
          rig.write(mine, i, t);
          ASSERT_EQ(rig.read(mine, t), i);
        }
      });
    for (std::thread& t : threads) t.join();
  }
}

TEST(Engine, FewMappingsAreEnough) {
  Given given;
  given.style = Style::protect;
  given.local = 256;
  given.slots = 1000;
  given.page_limit = 10;
  given.options.page_bytes = unit_size();
  Rig rig(given);
  std::byte* at = rig.allocate(1000);
  rig.fill(at, 1000, 1);
  rig.verify(at, 1000, 1);
}

TEST(Engine, StopReturnsAlthoughThreadsWait) {
  Given given;
  given.store.patience = 1 << 30;  // never
  auto rig = std::make_unique<Rig>(given);
  rig->allocate(400);
  EXPECT_TRUE(rig->stop().ok());
  EXPECT_EQ(rig->engine().stats().allocated_bytes, 400 * unit_size()) << "answered without serve()";
}

// The engine calls progress() in every turn: it stands still until the test lets it go on.
class GatedStore final : public Store {
 public:
  size_t unit_bytes() const override { return unit_size(); }
  uint64_t slots() const override { return 64; }
  uint64_t run_limit(Slot slot) const override { return 64 - slot; }
  Status get(Slot, uint32_t, std::byte*, Ticket) override { return Status::error(EIO, "not here"); }
  Status put(Slot, uint32_t, const std::byte*, Ticket) override { return Status::error(EIO, "not here"); }
  Status release(Slot, uint32_t) override { return {}; }
  Status progress(Tickets*) override {
    std::unique_lock lock(mutex_);
    standing_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    return {};
  }
  bool busy() const override { return false; }

  void wait_until_it_stands() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return standing_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool standing_ = false, open_ = false;
};

TEST(Engine, AThreadThatIsCancelledGetsItsAnswerFirst) {
  struct Asking {
    Engine* engine;
    std::atomic<bool> answered{false};
  };
  GatedStore store;
  Options options;
  options.local_bytes = 64 * unit_size();
  Engine engine(options, &store, std::make_unique<FakeMapper>(Style::move, 64, 1, true));
  std::thread serving([&] { EXPECT_TRUE(engine.serve().ok()); });
  store.wait_until_it_stands();
  Asking asking{&engine};
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* argument) -> void* {
                  auto* a = static_cast<Asking*>(argument);
                  static_cast<void>(a->engine->stats());
                  a->answered = true;
                  for (;;) pause();
                },
                &asking),
            0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // now it waits
  EXPECT_EQ(pthread_cancel(thread), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  store.open();
  void* result = nullptr;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_TRUE(asking.answered.load()) << "the engine had a command of a thread that is gone";
  EXPECT_EQ(engine.stats().allocated_bytes, 0u);
  engine.stop();
  serving.join();
}

TEST(Engine, AfterStopNothingIsUnderWay) {
  for (int round = 0; round < 20; round++) {
    Given given;
    given.seed = static_cast<uint64_t>(round);
    given.store.patience = 30;
    Rig rig(given);
    std::byte* at = rig.allocate(400);
    rig.fill(at, 100, 1);
    EXPECT_TRUE(rig.stop().ok());
    EXPECT_FALSE(rig.store().busy()) << "the store would move memory that is gone";
  }
}

TEST(Engine, AShrinkingReallocationNeedsNoMemory) {
  Given given;
  Rig rig(given);
  std::byte* at = rig.allocate(rig.capacity());
  ASSERT_NE(at, nullptr);
  rig.write(at, 17);
  Result<void*> smaller = rig.engine().reallocate(at, 3 * unit_size());
  ASSERT_TRUE(smaller.ok()) << smaller.status().message();
  EXPECT_EQ(rig.engine().size_of(smaller.value()), 3 * unit_size());
}

}  // namespace
}  // namespace tasuki::pager
