// Lenders and those who borrow from them, in one process.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/lend/lender_process.h"
#include "cluster/lend/socket_courier.h"
#include "cluster/transport/cluster_store.h"
#include "os/files/secret_file.h"
#include "os/files/temporary_folder.h"
#include "pager/test/store_conformance.h"

namespace tasuki::cluster::lend {
namespace {

constexpr size_t kUnit = 4096;
constexpr uint64_t MiB = 1 << 20;

Key some_key(char first = 1) {
  Key key = {};
  key.bytes[0] = first;
  return key;
}

// A lender that serves.
class Serving {
 public:
  explicit Serving(uint64_t bytes, uint64_t quota = 0) {
    LenderOptions options;
    options.listen = {"127.0.0.1", 0};
    options.bytes = bytes;
    options.quota = quota;
    options.key = some_key();
    Result<std::unique_ptr<LenderProcess>> opened = LenderProcess::open(options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    lender_ = std::move(opened.value());
    thread_ = std::thread([this] { EXPECT_TRUE(lender_->serve().ok()); });
  }
  ~Serving() { end(); }
  // At once: who borrows loses what is there.
  void end() {
    if (!thread_.joinable()) return;
    lender_->leave();
    lender_->leave();
    wait_for_end();
  }
  // As soon as who borrows has its pages elsewhere.
  void leave() { lender_->leave(); }
  void wait_for_end() {
    thread_.join();
    lender_.reset();
  }
  os::HostPort at() const { return {"127.0.0.1", lender_->port()}; }
  LenderProcess& operator*() { return *lender_; }

 private:
  std::unique_ptr<LenderProcess> lender_;
  std::thread thread_;
};

std::vector<std::unique_ptr<Serving>> four_lenders(std::vector<os::HostPort>* places) {
  std::vector<std::unique_ptr<Serving>> lenders;
  for (int i = 0; i < 4; i++) {
    lenders.push_back(std::make_unique<Serving>(8 * MiB));
    places->push_back(lenders.back()->at());
  }
  return lenders;
}

SocketCourier::Options options_for(uint64_t bytes, bool keeps_on = false) {
  SocketCourier::Options options;
  options.unit_bytes = kUnit;
  options.bytes = bytes;
  options.timeout_s = 5;
  options.keeps_on = keeps_on;
  options.key = some_key();
  options.name = "a test";
  return options;
}

Result<std::unique_ptr<ClusterStore>> borrow(const std::vector<os::HostPort>& lenders,
                                             const SocketCourier::Options& options, Fill fill = Fill::rank) {
  std::vector<uint64_t> bytes;
  Result<std::unique_ptr<SocketCourier>> courier = SocketCourier::connect(lenders, options, &bytes);
  if (!courier.ok()) return courier.status();
  std::vector<Lender> all;
  for (size_t i = 0; i < lenders.size(); i++) {
    Lender lender;
    lender.name = lenders[i].text();
    lender.slots = bytes[i] / kUnit;
    all.push_back(std::move(lender));
  }
  const Redundancy redundancy = {options.keeps_on ? 2u : 1u, 1};
  return std::make_unique<ClusterStore>(std::move(all), std::move(courier.value()), kUnit, fill, redundancy,
                                        nullptr);
}

// Until all of so many transfers are over. False: an error.
bool wait(ClusterStore* store, size_t count) {
  pager::Tickets done;
  while (done.size() < count)
    if (const Status status = store->progress(&done); !status.ok()) {
      ADD_FAILURE() << status.message();
      return false;
    }
  return true;
}

TEST(Lend, AStoreLikeAnyOther) {
  Serving one(8 * MiB), two(8 * MiB);
  for (const Fill fill : {Fill::rank, Fill::interleave}) {
    Result<std::unique_ptr<ClusterStore>> store = borrow({one.at(), two.at()}, options_for(4 * MiB), fill);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ(store.value()->slots(), 2048u);
    EXPECT_EQ(pager::check_store(*store.value(), {}), "");
    store.value()->goodbye(0);
  }
}

TEST(Lend, BorrowersDoNotSeeEachOther) {
  Serving lender(16 * MiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<uint64_t>(t));
      for (int again = 0; again < 3; again++) {
        Result<std::unique_ptr<ClusterStore>> store = borrow({lender.at()}, options_for(4 * MiB));
        ASSERT_TRUE(store.ok()) << store.status().message();
        std::vector<uint64_t> page(16 * kUnit / 8), back(page.size());
        std::vector<uint64_t> seeds(64);
        for (int i = 0; i < 400; i++) {
          const uint64_t slot = random() % 64;
          if (seeds[slot] != 0) {
            ASSERT_TRUE(store.value()->get(slot * 16, 16, reinterpret_cast<std::byte*>(back.data()), 1).ok());
            ASSERT_TRUE(wait(store.value().get(), 1));
            for (size_t w = 0; w < back.size(); w++) ASSERT_EQ(back[w], seeds[slot] + w);
          }
          seeds[slot] = random() | 1;
          for (size_t w = 0; w < page.size(); w++) page[w] = seeds[slot] + w;
          ASSERT_TRUE(
              store.value()->put(slot * 16, 16, reinterpret_cast<const std::byte*>(page.data()), 2).ok());
          ASSERT_TRUE(wait(store.value().get(), 1));
        }
        store.value()->goodbye(0);
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(Lend, WhatIsLentComesBack) {
  Serving lender(8 * MiB, 6 * MiB);
  for (int again = 0; again < 3; again++) {
    // A lender that has just heard of the end of another borrower may not have done so yet.
    Result<std::unique_ptr<ClusterStore>> store = borrow({lender.at()}, options_for(0));
    for (int i = 0; i < 100 && !store.ok(); i++) {
      usleep(10'000);
      store = borrow({lender.at()}, options_for(0));
    }
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ(store.value()->slots() * kUnit, 6 * MiB) << "the quota";
    const Result<std::unique_ptr<ClusterStore>> second = borrow({lender.at()}, options_for(4 * MiB));
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.status().message().find("2.0 MiB are left"), std::string::npos)
        << second.status().message();
    store.value()->goodbye(0);
  }
}

TEST(Lend, TheKeyIsNeeded) {
  Serving lender(4 * MiB);
  SocketCourier::Options options = options_for(MiB);
  options.key = some_key(2);
  const Result<std::unique_ptr<ClusterStore>> store = borrow({lender.at()}, options);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().err(), EACCES);
}

TEST(Lend, ProcessesOfAJobShareWhatNobodyNamed) {
  Serving lender(8 * MiB);
  SocketCourier::Options options = options_for(0);
  options.parts = 4;
  std::vector<std::unique_ptr<ClusterStore>> stores;
  for (uint32_t i = 0; i < options.parts; i++) {
    Result<std::unique_ptr<ClusterStore>> store = borrow({lender.at()}, options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ(store.value()->slots() * kUnit, 2 * MiB);
    stores.push_back(std::move(store.value()));
  }
  for (const auto& store : stores) store->goodbye(0);
}

// One that asks for much and takes none of it keeps nobody waiting.
TEST(Lend, AGreedyBorrowerHarmsNobody) {
  Serving lender(16 * MiB);
  Result<std::unique_ptr<ClusterStore>> greedy = borrow({lender.at()}, options_for(8 * MiB));
  ASSERT_TRUE(greedy.ok());
  std::vector<std::byte> pages(2048 * kUnit);
  for (int i = 0; i < 40; i++) ASSERT_TRUE(greedy.value()->get(0, 2048, pages.data(), 1).ok());
  Result<std::unique_ptr<ClusterStore>> store = borrow({lender.at()}, options_for(MiB));
  ASSERT_TRUE(store.ok()) << store.status().message();
  std::vector<std::byte> page(kUnit);
  for (int i = 0; i < 100; i++) {
    ASSERT_TRUE(store.value()->put(5, 1, page.data(), 1).ok());
    ASSERT_TRUE(wait(store.value().get(), 1));
  }
  EXPECT_TRUE(wait(greedy.value().get(), 40));
  store.value()->goodbye(0);
  greedy.value()->goodbye(0);
}

// Whatever comes in instead of a borrower.
TEST(Lend, NonsenseEndsItsConnectionOnly) {
  Serving lender(4 * MiB);
  std::mt19937_64 random(7);
  Hello hello = {};
  hello.magic = kMagic;
  hello.version = kVersion;
  hello.key = some_key();
  hello.unit_bytes = kUnit;
  hello.bytes = MiB;
  for (int i = 0; i < 60; i++) {
    Result<os::Fd> socket = os::connect_to(lender.at(), 5, 5);
    ASSERT_TRUE(socket.ok());
    hello.borrower = random();
    std::vector<uint8_t> bytes(sizeof hello + random() % 600);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    if (i % 3 != 0) memcpy(bytes.data(), &hello, sizeof hello);  // nonsense behind a hello that is right
    static_cast<void>(os::send_all(socket.value().get(), bytes.data(), bytes.size(), 1));
    if (i % 2 == 0) usleep(1000);
  }
  Result<std::unique_ptr<ClusterStore>> store = borrow({lender.at()}, options_for(MiB));
  for (int i = 0; i < 100 && !store.ok(); i++) {
    usleep(10'000);
    store = borrow({lender.at()}, options_for(MiB));
  }
  ASSERT_TRUE(store.ok()) << store.status().message();
  store.value()->goodbye(0);
}

TEST(Lend, AProgramGoesOnWithTheOtherCopy) {
  Serving one(8 * MiB), two(8 * MiB), three(8 * MiB);
  Result<std::unique_ptr<ClusterStore>> made =
      borrow({one.at(), two.at(), three.at()}, options_for(4 * MiB, true));
  ASSERT_TRUE(made.ok()) << made.status().message();
  ClusterStore& store = *made.value();
  std::vector<std::byte> page(kUnit), back(kUnit);
  const auto fill = [&](uint64_t slot) { memset(page.data(), static_cast<int>(slot % 251), kUnit); };
  for (uint64_t slot = 0; slot < store.slots(); slot++) {
    fill(slot);
    ASSERT_TRUE(store.put(slot, 1, page.data(), slot).ok());
    ASSERT_TRUE(wait(&store, 1));
  }
  two.end();
  for (uint64_t slot = 0; slot < store.slots(); slot++) {
    fill(slot);
    ASSERT_TRUE(store.get(slot, 1, back.data(), slot).ok());
    ASSERT_TRUE(wait(&store, 1));
    ASSERT_EQ(page, back) << slot;
    ASSERT_TRUE(store.put(slot, 1, page.data(), slot).ok());
    ASSERT_TRUE(wait(&store, 1));
  }
  EXPECT_EQ(store.lost(), (std::vector<int>{2}));
  store.goodbye(0);
}

// One lender after the other may be lost, when the copies of the one before were made again.
TEST(Lend, CopiesThatAreLostAreMadeAgain) {
  std::vector<os::HostPort> places;
  const std::vector<std::unique_ptr<Serving>> lenders = four_lenders(&places);
  Result<std::unique_ptr<ClusterStore>> made = borrow(places, options_for(4 * MiB, true));
  ASSERT_TRUE(made.ok()) << made.status().message();
  ClusterStore& store = *made.value();
  std::vector<std::byte> pages(16 * kUnit), back(pages.size());
  const auto fill = [&](uint64_t slot) {
    for (size_t i = 0; i < pages.size(); i++) pages[i] = static_cast<std::byte>(slot + i * (slot / 16 | 1));
  };
  for (uint64_t slot = 0; slot < 240; slot += 16) {
    fill(slot);
    ASSERT_TRUE(store.put(slot, 16, pages.data(), slot).ok());
    ASSERT_TRUE(wait(&store, 1));
  }
  for (size_t lost = 0; lost < 2; lost++) {
    lenders[lost]->end();
    for (uint64_t slot = 0; slot < 240; slot += 16) {
      fill(slot);
      ASSERT_TRUE(store.get(slot, 16, back.data(), slot).ok());
      ASSERT_TRUE(wait(&store, 1)) << "after " << lost + 1;
      ASSERT_EQ(pages, back) << slot;
    }
    pager::Tickets none;
    while (store.lost().size() <= lost || store.busy()) ASSERT_TRUE(store.progress(&none).ok());
  }
  store.goodbye(0);
}

// Asked to, two of four lenders end while a program goes on that has one copy of everything.
TEST(Lend, WhoLeavesEndsWhenTheOthersHaveItsPages) {
  std::vector<os::HostPort> places;
  const std::vector<std::unique_ptr<Serving>> lenders = four_lenders(&places);
  Result<std::unique_ptr<ClusterStore>> made = borrow(places, options_for(4 * MiB), Fill::interleave);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ClusterStore& store = *made.value();
  constexpr uint64_t kSlots = 4 * MiB / kUnit;
  ASSERT_TRUE(store.reserve(kSlots).ok());
  std::vector<std::byte> pages(16 * kUnit), back(pages.size());
  uint64_t version = 0;
  const auto fill = [&](uint64_t slot) {
    for (size_t i = 0; i < pages.size(); i++) pages[i] = static_cast<std::byte>(version + slot + i / 7);
  };
  const auto put_all = [&] {
    version++;
    for (uint64_t slot = 0; slot < kSlots; slot += 16) {
      fill(slot);
      ASSERT_TRUE(store.put(slot, 16, pages.data(), slot).ok());
      ASSERT_TRUE(wait(&store, 1));
    }
  };
  const auto get_all = [&] {
    for (uint64_t slot = 0; slot < kSlots; slot += 16) {
      fill(slot);
      ASSERT_TRUE(store.get(slot, 16, back.data(), slot).ok());
      ASSERT_TRUE(wait(&store, 1));
      ASSERT_EQ(pages, back) << slot;
    }
  };
  put_all();
  for (size_t i = 0; i < 2; i++) {
    lenders[i]->leave();
    get_all();
    put_all();
    pager::Tickets none;
    while (store.lost().size() <= i || store.busy()) ASSERT_TRUE(store.progress(&none).ok());
    lenders[i]->wait_for_end();
    get_all();
  }
  EXPECT_EQ(store.reserve(store.slots()).err(), ENOMEM);
  for (size_t i = 2; i < 4; i++) lenders[i]->end();
  pager::Tickets none;
  Status status = store.get(0, 16, back.data(), 0);
  for (int i = 0; i < 1000 && status.ok(); i++) status = store.progress(&none);
  EXPECT_FALSE(status.ok());
  store.goodbye(0);
}

TEST(Lend, TheLossOfALenderThatHadNothingIsNoError) {
  Serving one(8 * MiB), two(8 * MiB);
  Result<std::unique_ptr<ClusterStore>> made = borrow({one.at(), two.at()}, options_for(4 * MiB));
  ASSERT_TRUE(made.ok()) << made.status().message();
  ClusterStore& store = *made.value();
  ASSERT_TRUE(store.reserve(64).ok());
  std::vector<std::byte> pages(16 * kUnit, std::byte{7}), back(pages.size());
  ASSERT_TRUE(store.put(0, 16, pages.data(), 0).ok());
  ASSERT_TRUE(wait(&store, 1));
  two.end();
  pager::Tickets none;
  while (store.lost().empty() || store.busy()) ASSERT_TRUE(store.progress(&none).ok());
  ASSERT_TRUE(store.get(0, 16, back.data(), 0).ok());
  ASSERT_TRUE(wait(&store, 1));
  EXPECT_EQ(pages, back);
  one.end();
  Status status;
  for (int i = 0; i < 100'000 && status.ok(); i++) status = store.progress(&none);
  EXPECT_NE(status.message().find("memory server "), std::string::npos) << status.message();
  store.goodbye(0);
}

bool reads_all(ClusterStore& store) {
  alignas(64) static std::byte page[4 * kUnit];
  for (uint64_t slot = 0; slot + 4 <= store.slots(); slot += 4) {
    if (!store.read_aside(slot, 4, page)) return false;
    for (size_t i = 0; i < sizeof page; i += kUnit)
      if (page[i] != static_cast<std::byte>((slot + i / kUnit) % 251)) return false;
  }
  return true;
}

// Its child, and that one's, while it goes on itself.
TEST(Lend, AForkedChildReadsByItself) {
  Serving one(4 * MiB), two(4 * MiB);
  Result<std::unique_ptr<ClusterStore>> made = borrow({one.at(), two.at()}, options_for(MiB));
  ASSERT_TRUE(made.ok());
  ClusterStore& store = *made.value();
  std::vector<std::byte> page(kUnit);
  for (uint64_t slot = 0; slot < store.slots(); slot++) {
    memset(page.data(), static_cast<int>(slot % 251), kUnit);
    ASSERT_TRUE(store.put(slot, 1, page.data(), slot).ok());
    ASSERT_TRUE(wait(&store, 1));
  }
  ASSERT_TRUE(store.can_read_aside());
  const pid_t child = fork();
  if (child == 0) {
    bool right = reads_all(store);
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(reads_all(store) ? 0 : 1);
    right = reads_all(store) && right;
    int status = -1;
    waitpid(grandchild, &status, 0);
    _exit(right && status == 0 ? 0 : 1);
  }
  for (uint64_t slot = 0; slot < store.slots(); slot++) {
    ASSERT_TRUE(store.get(slot, 1, page.data(), slot).ok());
    ASSERT_TRUE(wait(&store, 1));
    ASSERT_EQ(page[kUnit - 1], static_cast<std::byte>(slot % 251));
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  store.goodbye(0);
}

TEST(Lend, WithoutCopiesALostLenderIsAnError) {
  Serving lender(4 * MiB);
  Result<std::unique_ptr<ClusterStore>> store = borrow({lender.at()}, options_for(MiB));
  ASSERT_TRUE(store.ok());
  std::vector<std::byte> page(kUnit);
  ASSERT_TRUE(store.value()->put(3, 1, page.data(), 1).ok());
  ASSERT_TRUE(wait(store.value().get(), 1));
  const std::string name = lender.at().text();
  lender.end();
  pager::Tickets done;
  Status status = store.value()->get(3, 1, page.data(), 1);
  while (status.ok() && done.empty()) status = store.value()->progress(&done);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
}

TEST(Lend, MoreThanTheHostHasIsNotLent) {
  LenderOptions options;
  options.listen = {"127.0.0.1", 0};
  options.bytes = uint64_t{1} << 50;
  const auto opened = LenderProcess::open(options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().err(), ENOMEM);
}

TEST(Lend, TheKeyIsOneSecretFile) {
  os::TemporaryFolder folder;
  ASSERT_TRUE(folder.make("tasuki-lend").ok());
  const std::string file = folder.path() + "/a/b/lend.key";
  EXPECT_EQ(read_key(file).status().err(), ENOENT);
  std::vector<Key> keys(8);
  std::vector<std::thread> threads;
  for (Key& key : keys)
    threads.emplace_back([&] {
      const Result<Key> made = make_key(file);
      ASSERT_TRUE(made.ok()) << made.status().message();
      key = made.value();
    });
  for (std::thread& t : threads) t.join();
  for (const Key& key : keys) EXPECT_TRUE(same(key, keys[0])) << "one file, whoever made it first";
  EXPECT_FALSE(same(keys[0], some_key()));
  ASSERT_EQ(chmod(file.c_str(), 0640), 0);
  EXPECT_EQ(read_key(file).status().err(), EACCES);
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  ASSERT_EQ(truncate(file.c_str(), 31), 0);
  EXPECT_EQ(read_key(file).status().err(), EINVAL);
}

TEST(Lend, PlacesAreHostsAndPorts) {
  const auto text = [](const char* given) {
    const Result<os::HostPort> at = os::parse_host_port(given, 7411);
    return at.ok() ? at.value().text() : "EINVAL";
  };
  EXPECT_EQ(text("node7"), "node7:7411");
  EXPECT_EQ(text("node7:80"), "node7:80");
  EXPECT_EQ(text("[fe80::1]:80"), "[fe80::1]:80");
  EXPECT_EQ(text("[fe80::1]"), "[fe80::1]:7411");
  for (const char* wrong :
       {"", ":80x", "node7:", "node7:99999", "[fe80::1", "[::1]80", "node7:-1", "node7: 80"})
    EXPECT_EQ(text(wrong), "EINVAL") << wrong;
}

}  // namespace
}  // namespace tasuki::cluster::lend
