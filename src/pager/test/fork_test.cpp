// Children of fork: they have cluster memory as it was, whatever their parent does meanwhile.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include "os/memory/mapping.h"
#include "pager/stores/compressed_cache.h"
#include "pager/stores/file_store.h"
#include "pager/test/running_pager.h"

namespace tasuki::pager {
namespace {

// As the window of a server on the same host: what the parent puts there changes what a child sees. Counts
// the slots in use.
class SharedStore final : public Store {
 public:
  explicit SharedStore(uint64_t slots)
      : slots_(slots), memory_(static_cast<std::byte*>(os::map_shared(slots * unit_size()))) {}
  ~SharedStore() override { os::unmap(memory_, slots_ * unit_size()); }

  size_t unit_bytes() const override { return unit_size(); }
  uint64_t slots() const override { return slots_; }
  uint64_t run_limit(Slot slot) const override { return slots_ - slot; }
  Status get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) override {
    memcpy(to, at(slot), units * unit_size());
    done_.push_back(ticket);
    return {};
  }
  Status put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) override {
    for (uint32_t i = 0; i < units; i++) used_.insert(slot + i);
    in_use_.store(used_.size());
    memcpy(at(slot), from, units * unit_size());
    done_.push_back(ticket);
    return {};
  }
  const std::byte* read_in_place(Slot slot, uint32_t) override { return at(slot); }
  bool read_aside(Slot slot, uint32_t units, std::byte* to) const override {
    memcpy(to, at(slot), units * unit_size());
    return true;
  }
  bool can_read_aside() const override { return true; }
  Status release(Slot slot, uint32_t units) override {
    for (uint32_t i = 0; i < units; i++) used_.erase(slot + i);
    in_use_.store(used_.size());
    memset(at(slot), 0xee, units * unit_size());
    return {};
  }
  Status progress(Tickets* completed) override {
    completed->insert(completed->end(), done_.begin(), done_.end());
    done_.clear();
    return {};
  }
  bool busy() const override { return !done_.empty(); }
  bool direct() const override { return true; }

  size_t in_use() const { return in_use_.load(); }

 private:
  std::byte* at(Slot slot) const { return memory_ + slot * unit_size(); }
  const uint64_t slots_;
  std::byte* memory_;
  Tickets done_;
  std::set<Slot> used_;
  std::atomic<size_t> in_use_{0};
};

enum class Kind { window, file, cache };

struct Case {
  Faults way;
  Kind kind;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const char* const ways[] = {"automatic", "userfault", "user", "signal", "copy", "sigbus"};
  const char* const kinds[] = {"Window", "File", "Cache"};
  return std::string(ways[static_cast<int>(info.param.way)]) + kinds[static_cast<int>(info.param.kind)];
}

class Forking : public testing::TestWithParam<Case> {
 protected:
  // 128 units are local.
  void start(uint64_t slots) { start(slots, small(GetParam().way)); }
  void start(uint64_t slots, const Options& options) {
    cache_.reset();
    if (GetParam().kind == Kind::window) {
      auto window = std::make_unique<SharedStore>(slots);
      window_ = window.get();
      below_ = std::move(window);
    } else {
      auto file = FileStore::create(testing::TempDir(), unit_size(), slots);
      ASSERT_TRUE(file.ok()) << file.status().message();
      below_ = std::move(file.value());
    }
    Store* store = below_.get();
    if (GetParam().kind == Kind::cache) {
      auto cache = CompressedCache::create(store, 256 * unit_size());
      ASSERT_TRUE(cache.ok());
      cache_ = std::move(cache.value());
      store = cache_.get();
    }
    Result<std::unique_ptr<Pager>> made = Pager::create(options, store);
    if (!made.ok()) GTEST_SKIP() << "not permitted here: " << made.status().message();
    pager_ = std::move(made.value());
    const os::SignalsBlocked blocked;
    serving_ = std::thread([this] {
      if (!pager_->serve().ok()) _exit(99);
    });
  }
  void TearDown() override {
    if (pager_ == nullptr) return;
    pager_->stop();
    serving_.join();
  }

  uint64_t* allocate(uint64_t units) {
    Result<void*> got = pager_->allocate(units * unit_size(), 64, 0);
    EXPECT_TRUE(got.ok()) << got.status().message();
    return got.ok() ? static_cast<uint64_t*>(got.value()) : nullptr;
  }

  // As src/cluster does it.
  template <class Work>
  pid_t fork_with(const Work& work) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const bool has = pager_->before_fork();
    const pid_t child = fork();
    if (child == 0) {
      if (!has) _exit(50);
      if (!pager_->after_fork_in_child().ok()) _exit(51);
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      _exit(work());
    }
    if (has) pager_->after_fork();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_TRUE(has);
    return child;
  }
  static int ended(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  std::unique_ptr<Store> below_, cache_;
  SharedStore* window_ = nullptr;
  std::unique_ptr<Pager> pager_;
  std::thread serving_;
};

// What a unit holds in a version of it: half of it compresses.
void fill(uint64_t* unit, uint64_t number, uint64_t version) {
  for (uint64_t w = 0; w < kWords; w++)
    unit[w] = w % 2 == 0 ? version : (number << 32 | version) * 0x9e3779b97f4a7c15 + w;
}
bool is_filled(const uint64_t* unit, uint64_t number, uint64_t version) {
  for (uint64_t w = 0; w < kWords; w++)
    if (unit[w] != (w % 2 == 0 ? version : (number << 32 | version) * 0x9e3779b97f4a7c15 + w)) return false;
  return true;
}

void fill_all(uint64_t* memory, uint64_t units, uint64_t version) {
  for (uint64_t i = 0; i < units; i++) fill(memory + i * kWords, i, version);
}
bool all_filled(const uint64_t* memory, uint64_t units, uint64_t version) {
  for (uint64_t i = 0; i < units; i++)
    if (!is_filled(memory + i * kWords, i, version)) return false;
  return true;
}

// Random writes of the parent while children, and children of these, read and write theirs.
TEST_P(Forking, ChildrenReadWhatWasThere) {
  constexpr uint64_t kUnits = 700;
  start(4 * kUnits);
  if (pager_ == nullptr) return;
  uint64_t* const a = allocate(kUnits);
  std::vector<uint64_t> versions(kUnits, 0);  // 0: never written
  std::mt19937_64 random(7);
  const auto write_some = [&](uint64_t* memory, std::vector<uint64_t>* of, uint64_t count, uint64_t version) {
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t unit = random() % kUnits;
      fill(memory + unit * kWords, unit, version);
      (*of)[unit] = version;
    }
  };
  const auto check = [&](bool in_order) {
    const uint64_t first = random();
    for (uint64_t i = 0; i < kUnits; i++) {
      const uint64_t unit = in_order ? i : (first + i * 577) % kUnits;
      const uint64_t* const at = a + unit * kWords;
      if (versions[unit] == 0 ? at[0] != 0 || at[kWords - 1] != 0 : !is_filled(at, unit, versions[unit]))
        return false;
    }
    return true;
  };
  std::vector<pid_t> children;
  for (uint64_t round = 1; round <= 12; round++) {
    write_some(a, &versions, round == 1 ? kUnits : 200, round);
    children.push_back(fork_with([&] {
      random.seed(round);
      if (round % 3 == 0) usleep(30'000);  // the parent goes on first
      if (round % 2 == 0 && !check(round % 4 == 0)) return 1;
      write_some(a, &versions, 100, 100 + round);
      const pid_t grandchild = fork_with([&] {
        usleep(20'000);
        if (!check(true)) return 2;
        write_some(a, &versions, 100, 200 + round);
        return check(false) ? 0 : 3;
      });
      write_some(a, &versions, 100, 300 + round);
      if (!check(false)) return 4;
      return ended(grandchild);
    }));
    write_some(a, &versions, 300, 50 + round);
    const uint64_t gone = random() % (kUnits - 30);
    EXPECT_TRUE(pager_->discard(a + gone * kWords, 30 * unit_size()).ok());
    std::fill_n(versions.begin() + static_cast<ptrdiff_t>(gone), 30, 0);
    if (round % 2 == 0) {
      EXPECT_TRUE(check(true));
      // Slots of what is freed are not given to others as long as children read them.
      uint64_t* const b = allocate(200);
      fill_all(b, 200, round);
      EXPECT_TRUE(pager_->free(b).ok());
    }
    if (children.size() == 3) {
      EXPECT_EQ(ended(children.front()), 0);
      children.erase(children.begin());
    }
  }
  for (const pid_t child : children) EXPECT_EQ(ended(child), 0);
  EXPECT_TRUE(check(false));
}

// Forks while other threads fault: a word is written before its neighbour, and in no child the other way
// round.
TEST_P(Forking, WhileThreadsFault) {
  constexpr uint64_t kUnits = 400;
  start(4 * kUnits);
  if (pager_ == nullptr) return;
  uint64_t* const a = allocate(kUnits);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; t++)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      while (!stop.load()) {
        const uint64_t unit = random() % (kUnits / 4) * 4 + t;
        auto* const pair = reinterpret_cast<std::atomic<uint64_t>*>(a + unit * kWords);
        const uint64_t next = pair[0].load() + 1;
        pair[0].store(next);
        pair[1].store(next);
      }
    });
  for (int round = 0; round < 15; round++) {
    usleep(10'000);
    EXPECT_EQ(ended(fork_with([&] {
                for (uint64_t unit = 0; unit < kUnits; unit++) {
                  const uint64_t first = a[unit * kWords], second = a[unit * kWords + 1];
                  if (first != second && first != second + 1) return 1;
                }
                usleep(5'000);
                return 0;
              })),
              0);
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  for (uint64_t unit = 0; unit < kUnits; unit++) EXPECT_EQ(a[unit * kWords], a[unit * kWords + 1]);
}

// There are no slots but those of the parent's own pages: it goes on beyond its limit, and comes back to it.
TEST_P(Forking, WithoutASlotToSpare) {
  constexpr uint64_t kUnits = 600;
  start(kUnits);
  if (pager_ == nullptr) return;
  uint64_t* const a = allocate(kUnits);
  fill_all(a, kUnits, 1);
  const pid_t child = fork_with([&] {
    usleep(200'000);
    return all_filled(a, kUnits, 1) ? 0 : 1;
  });
  fill_all(a, kUnits, 2);
  EXPECT_EQ(ended(child), 0);
  for (uint64_t version = 3; version < 5; version++) {
    for (uint64_t i = 0; i < kUnits; i++) {
      EXPECT_TRUE(is_filled(a + i * kWords, i, version - 1));
      fill(a + i * kWords, i, version);
    }
    usleep(150'000);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (pager_->stats().resident_bytes > 140 * unit_size() && std::chrono::steady_clock::now() < deadline) {
    usleep(20'000);
    for (uint64_t i = 0; i < kUnits; i++) EXPECT_EQ(a[i * kWords], 4u);
  }
  EXPECT_LE(pager_->stats().resident_bytes, 140 * unit_size());
}

// Slots are free again when a child has ended or called exec, and its pages can leave.
TEST_P(Forking, NothingIsKeptForOthers) {
  constexpr uint64_t kUnits = 600;
  start(4 * kUnits);
  if (pager_ == nullptr || window_ == nullptr) return;
  uint64_t* const a = allocate(kUnits);
  fill_all(a, kUnits, 1);
  const pid_t child = fork_with([] { return execl("/bin/sleep", "sleep", "60", nullptr); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  fill_all(a, kUnits, 2);
  uint64_t version = 3;
  do {
    usleep(60'000);
    fill_all(a, kUnits, version++);
  } while (window_->in_use() > kUnits && std::chrono::steady_clock::now() < deadline);
  EXPECT_LE(window_->in_use(), kUnits);
  EXPECT_LE(pager_->stats().resident_bytes, 140 * unit_size());
  kill(child, SIGKILL);
  EXPECT_EQ(ended(child), 1000 + SIGKILL);
}

// Pages that nobody writes to after a fork are not pinned for ever by the child that shared them.
TEST_P(Forking, WhatIsOnlyReadLeaves) {
  constexpr uint64_t kUnits = 600;
  start(4 * kUnits);
  if (pager_ == nullptr) return;
  uint64_t* const a = allocate(kUnits);
  fill_all(a, kUnits, 1);
  for (int round = 0; round < 4; round++) {
    for (uint64_t i = 0; i < kUnits; i++) EXPECT_TRUE(is_filled(a + i * kWords, i, 1));
    EXPECT_EQ(ended(fork_with([&] { return is_filled(a, 0, 1) ? 0 : 1; })), 0);
  }
  for (int round = 0; round < 2; round++)
    for (uint64_t i = 0; i < kUnits; i++) EXPECT_TRUE(is_filled(a + i * kWords, i, 1));
  EXPECT_LE(pager_->stats().resident_bytes, 140 * unit_size());
}

// Each child is counted by itself: neither one that ends soon after it nor memory that it locks ends what it
// is to read.
TEST_P(Forking, AnOldChildIsNotForgotten) {
  constexpr uint64_t kUnits = 600;
  start(6 * kUnits);
  if (pager_ == nullptr) return;
  uint64_t* const a = allocate(kUnits);
  fill_all(a, kUnits, 1);
  int goes[2];
  ASSERT_EQ(pipe(goes), 0);
  const pid_t old = fork_with([&] {
    mlockall(MCL_CURRENT);
    close(goes[1]);
    char byte;
    return read(goes[0], &byte, 1) == 0 && all_filled(a, kUnits, 1) ? 0 : 1;
  });
  // What the pager knows of children that have ended, it finds out by itself.
  const auto come_down_to = [&](uint64_t most) {
    for (int ms = 0; window_ != nullptr && window_->in_use() > most; ms++) {
      if (ms == 10'000) return false;
      usleep(1000);
    }
    return true;
  };
  for (uint64_t version = 2; version < 10; version++) {
    const pid_t young = fork_with([] { return 0; });
    fill_all(a, kUnits, version);
    EXPECT_EQ(ended(young), 0);
    EXPECT_TRUE(come_down_to(5 * kUnits)) << version;
  }
  EXPECT_TRUE(come_down_to(3 * kUnits)) << "what those in between had is free";
  fill_all(a, kUnits, 10);
  EXPECT_TRUE(come_down_to(3 * kUnits));
  close(goes[1]);
  close(goes[0]);
  EXPECT_EQ(ended(old), 0);
  EXPECT_TRUE(all_filled(a, kUnits, 10));
}

// A child that cannot have the memory has none, not zeros.
TEST_P(Forking, NoDescriptorsNoMemory) {
  constexpr uint64_t kUnits = 600;
  start(4 * kUnits);
  if (pager_ == nullptr) return;
  uint64_t* const a = allocate(kUnits);
  fill_all(a, kUnits, 1);
  ASSERT_TRUE(pager_->before_fork());
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    if (pager_->after_fork_in_child().ok()) _exit(1);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < kUnits; i++) sum += const_cast<volatile uint64_t&>(a[i * kWords + 1]);
    _exit(sum == 0 ? 2 : 3);
  }
  pager_->after_fork();
  EXPECT_EQ(ended(child), 1000 + SIGSEGV);
}

// However swaps are ordered, nothing is on its way when a child begins.
TEST_P(Forking, InEveryProtocol) {
  constexpr uint64_t kUnits = 500;
  for (const Copies copies : {Copies::cache, Copies::exclusive})
    for (const Protocol protocol :
         {Protocol::ahead, Protocol::cs, Protocol::cross, Protocol::as1, Protocol::as2}) {
      Options options = small(GetParam().way);
      options.protocol = protocol;
      options.copies = copies;
      start(3 * kUnits, options);
      if (pager_ == nullptr) return;
      uint64_t* const a = allocate(kUnits);
      std::atomic<bool> stop{false};
      std::thread other([&] {
        std::mt19937_64 random(5);
        while (!stop.load()) std::atomic_ref(a[(random() % kUnits) * kWords + 9]).fetch_add(0);
      });
      for (uint64_t version = 1; version < 5; version++) {
        for (uint64_t i = 0; i < kUnits; i++) a[i * kWords] = i + version;
        const pid_t child = fork_with([&] {
          usleep(20'000);
          for (uint64_t i = 0; i < kUnits; i++)
            if (a[i * kWords] != i + version) return 1;
          return 0;
        });
        for (uint64_t i = 0; i < kUnits; i += 2) a[i * kWords] = i + version + 1;
        EXPECT_EQ(ended(child), 0) << static_cast<int>(protocol);
      }
      stop.store(true);
      other.join();
      TearDown();
      pager_.reset();
    }
}

// What the kernel is to be given is there.
TEST_P(Forking, PinsInAChild) {
  constexpr uint64_t kUnits = 600;
  start(4 * kUnits);
  if (pager_ == nullptr) return;
  uint64_t* const a = allocate(kUnits);
  for (uint64_t i = 0; i < kUnits; i += 2) fill(a + i * kWords, i, 1);
  EXPECT_EQ(ended(fork_with([&] {
              // Who changes its user may not read its own page tables any more.
              if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 7;
              int ends[2];
              if (pipe(ends) != 0 || !pager_->needs_pin()) return 1;
              std::vector<uint64_t> got(kWords);
              for (uint64_t i = 0; i < kUnits; i++) {
                if (pager_->pin(a + i * kWords, unit_size(), false) != unit_size()) return 2;
                if (::write(ends[1], a + i * kWords, unit_size()) != static_cast<ssize_t>(unit_size()))
                  return 3;
                pager_->unpin(a + i * kWords, unit_size());
                if (::read(ends[0], got.data(), unit_size()) != static_cast<ssize_t>(unit_size())) return 4;
                if (i % 2 == 0 ? !is_filled(got.data(), i, 1) : got[5] != 0) return 5;
              }
              if (pager_->touches(a, 8) && pager_->size_of(a) == kUnits * unit_size()) return 0;
              return 6;
            })),
            0);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Forking,
    testing::Values(Case{Faults::userfault, Kind::window}, Case{Faults::userfault, Kind::file},
                    Case{Faults::userfault, Kind::cache}, Case{Faults::userfault_user_mode, Kind::window},
                    Case{Faults::userfault_user_mode, Kind::file}, Case{Faults::userfault_copy, Kind::window},
                    Case{Faults::userfault_copy, Kind::cache}, Case{Faults::userfault_sigbus, Kind::window},
                    Case{Faults::userfault_sigbus, Kind::cache}),
    name_of);

// Pages that SIGSEGV brings are in a file that a child would share: it has none of them.
TEST(Fork, NoMemoryWithSignals) {
  Running pager(small(Faults::signal));
  SKIP_IF_NOT_PERMITTED(pager);
  auto* const a = pager.allocate(1000 * unit_size());
  for (uint64_t i = 0; i < 1000; i++) a[i * kWords] = i;
  EXPECT_FALSE(pager->before_fork());
  for (uint64_t i = 0; i < 1000; i++) EXPECT_EQ(a[i * kWords], i);
}

}  // namespace
}  // namespace tasuki::pager
