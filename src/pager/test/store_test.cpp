#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>

#include "os/files/disk_file.h"
#include "pager/stores/compressed_cache.h"
#include "pager/stores/file_store.h"
#include "pager/stores/ram_store.h"
#include "pager/stores/tiered_store.h"
#include "pager/test/store_conformance.h"

namespace tasuki::pager {
namespace {

// Its transfers are made in any order, and some late: what must not overtake something else is found.
class Disorderly final : public Store {
 public:
  Disorderly(RamStore* memory, uint64_t seed) : memory_(memory), random_(seed) {}
  size_t unit_bytes() const override { return memory_->unit_bytes(); }
  uint64_t slots() const override { return memory_->slots(); }
  uint64_t run_limit(Slot slot) const override { return memory_->run_limit(slot); }
  Status get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) override {
    waiting_.push_back([=, this] { return memory_->get(slot, units, to, ticket); });
    return {};
  }
  Status put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) override {
    waiting_.push_back([=, this] { return memory_->put(slot, units, from, ticket); });
    return {};
  }
  Status release(Slot slot, uint32_t units) override { return memory_->release(slot, units); }
  Status progress(Tickets* completed) override {
    std::shuffle(waiting_.begin(), waiting_.end(), random_);
    while (!waiting_.empty() && random_() % 8 != 0) {
      if (Status s = waiting_.back()(); !s.ok()) return s;
      waiting_.pop_back();
    }
    return memory_->progress(completed);
  }
  bool busy() const override { return !waiting_.empty() || memory_->busy(); }

 private:
  RamStore* memory_;
  std::mt19937_64 random_;
  std::vector<std::function<Status()>> waiting_;
};

class Stores : public ::testing::TestWithParam<size_t> {};

TEST_P(Stores, Ram) {
  Result<std::unique_ptr<RamStore>> store = RamStore::create(GetParam(), 300);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(check_store(*store.value(), {.operations = 5000}), "");
}

void expect_right(const Result<std::unique_ptr<FileStore>>& store, const Conformance& conformance) {
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(check_store(*store.value(), conformance), "");
}

TEST_P(Stores, File) {
  expect_right(FileStore::create("/tmp", GetParam(), 300), {.operations = 5000});
}

TEST_P(Stores, FileThroughThePageCache) {
  expect_right(FileStore::create("/tmp", GetParam(), 300, {.ring = false}), {.operations = 5000});
}

// A file system in memory, with an io_uring of its own ways.
TEST_P(Stores, FileInMemory) {
  expect_right(FileStore::create("/dev/shm", GetParam(), 300), {.operations = 5000});
}

TEST_P(Stores, MoreUnderWayThanTheRingHolds) {
  expect_right(FileStore::create("/tmp", GetParam(), 2000),
               {.operations = 5000, .in_flight = 300, .longest = 4});
}

TEST_P(Stores, Tiers) {
  Result<std::unique_ptr<RamStore>> first = RamStore::create(GetParam(), 70),
                                    second = RamStore::create(GetParam(), 0);
  Result<std::unique_ptr<FileStore>> last = FileStore::create("/tmp", GetParam(), 200);
  ASSERT_TRUE(first.ok() && second.ok() && last.ok());
  TieredStore store({first.value().get(), second.value().get(), last.value().get()});
  EXPECT_EQ(store.slots(), 270u);
  EXPECT_EQ(store.reserved(), 70u);
  EXPECT_EQ(store.part_end(69), 70u);
  EXPECT_EQ(store.part_end(70), 270u);
  EXPECT_EQ(store.describe(75), "page 5 of the file in /tmp");
  EXPECT_EQ(check_store(store, {.operations = 5000}), "");
}

// Rings that hold a tenth of what is put, and all of it.
TEST_P(Stores, CompressedCache) {
  Result<std::unique_ptr<RamStore>> ram = RamStore::create(GetParam(), 700);
  Result<std::unique_ptr<FileStore>> file = FileStore::create("/tmp", GetParam(), 700);
  ASSERT_TRUE(ram.ok() && file.ok());
  Disorderly disorderly(ram.value().get(), 1);
  uint64_t seed = 0;
  for (Store* below : std::initializer_list<Store*>{ram.value().get(), &disorderly, file.value().get()})
    for (const uint64_t units : {64, 2000})
      for (const bool compressible : {true, true, false}) {
        Result<std::unique_ptr<CompressedCache>> store = CompressedCache::create(below, units * GetParam());
        ASSERT_TRUE(store.ok()) << store.status().message();
        const Conformance conformance = {
            .seed = ++seed, .operations = GetParam() > 4096 ? 1000u : 20000u, .compressible = compressible};
        EXPECT_EQ(check_store(*store.value(), conformance), "");
        const CompressedCache::Counters& c = store.value()->counters();
        EXPECT_EQ(c.hits > 0, compressible);
        EXPECT_GT(c.went_below, 0u);
        EXPECT_LE(c.bytes, units * GetParam());
      }
}

INSTANTIATE_TEST_SUITE_P(Units, Stores, ::testing::Values(4096, 65536));

TEST(RamStore, NoMoreThanTheAddressSpace) {
  EXPECT_EQ(RamStore::create(4096, UINT64_MAX / 4096).status().err(), ENOMEM);
  EXPECT_TRUE(RamStore::create(4096, 0).ok());
}

TEST(FileStore, NamesTheDirectoryThatIsWrong) {
  const Status status = FileStore::create("/nowhere/at all", 4096, 10).status();
  EXPECT_EQ(status.err(), ENOENT);
  EXPECT_NE(status.message().find("/nowhere/at all"), std::string::npos) << status.message();
}

TEST(FileStore, AFileThatMayNotGrowIsAClearError) {
  Result<std::unique_ptr<FileStore>> store = FileStore::create("/tmp", 4096, 100);
  ASSERT_TRUE(store.ok());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 10 * 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const Status within = store.value()->reserve(10);
  const Status beyond = store.value()->reserve(50);  // and no SIGXFSZ, which would end this test
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(within.ok()) << within.message();
  EXPECT_EQ(beyond.err(), ENOMEM);
  EXPECT_NE(beyond.message().find("ulimit -f"), std::string::npos) << beyond.message();
  EXPECT_EQ(store.value()->reserved(), 10u);
}

TEST(FileStore, MoreThanTheDiskHasIsAClearErrorAndTakesNothing) {
  const uint64_t before = os::free_disk_bytes("/tmp");
  ASSERT_GT(before, 0u);
  const uint64_t slots = before / 4096 * 2;
  Result<std::unique_ptr<FileStore>> store = FileStore::create("/tmp", 4096, slots);
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(store.value()->reserve(16).ok());
  const Status beyond = store.value()->reserve(slots);
  EXPECT_EQ(beyond.err(), ENOMEM);
  EXPECT_NE(beyond.message().find("/tmp"), std::string::npos) << beyond.message();
  EXPECT_EQ(store.value()->reserved(), 16u);
  EXPECT_GT(os::free_disk_bytes("/tmp"), before / 2);
}

}  // namespace
}  // namespace tasuki::pager
