// mprotect of parts of regions: what is forbidden is a fault of the program's, and nothing is lost.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "os/files/descriptor.h"
#include "pager/mappers/protections.h"
#include "pager/test/running_pager.h"

namespace tasuki::pager {
namespace {

TEST(Protections, AgreeWithAnArray) {
  std::mt19937_64 random(7);
  constexpr uint64_t kUnits = 60;
  Protections protections;
  std::vector<int> model(kUnits, Protections::kUsual);
  for (int step = 0; step < 20'000; step++) {
    const uint64_t first = random() % kUnits, count = random() % std::min<uint64_t>(kUnits - first + 1, 12);
    const int protection = random() % 3 == 0 ? Protections::kUsual : static_cast<int>(random() % 3);
    protections.set(first, count, protection);
    std::fill_n(model.begin() + static_cast<ptrdiff_t>(first), count, protection);
    bool any = false;
    for (uint64_t unit = 0; unit < kUnits; unit++) {
      ASSERT_EQ(protections.of(unit), model[unit]) << "step " << step << " unit " << unit;
      any = any || model[unit] != Protections::kUsual;
    }
    ASSERT_EQ(protections.any(), any);
    const uint64_t from = random() % kUnits, units = 1 + random() % (kUnits - from);
    ASSERT_EQ(protections.any_in(from, units),
              std::any_of(model.begin() + static_cast<ptrdiff_t>(from),
                          model.begin() + static_cast<ptrdiff_t>(from + units),
                          [](int p) { return p != Protections::kUsual; }));
  }
}

thread_local sigjmp_buf t_back;
thread_local volatile bool t_trying = false;

void caught(int) {
  if (t_trying) siglongjmp(t_back, 1);
  signal(SIGSEGV, SIG_DFL);
}

// False: the access is refused, as SIGSEGV.
bool tries(const std::function<void()>& access) {
  if (sigsetjmp(t_back, 1) != 0) {
    t_trying = false;
    return false;
  }
  t_trying = true;
  access();
  t_trying = false;
  return true;
}

class Protecting : public testing::TestWithParam<Faults> {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_handler = caught;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_);
  }
  void TearDown() override { sigaction(SIGSEGV, &before_, nullptr); }

  static bool readable(const uint64_t* p) {
    return tries([p] { (void)*reinterpret_cast<const volatile uint64_t*>(p); });
  }
  static bool writable(uint64_t* p) {
    return tries(
        [p] { reinterpret_cast<volatile uint64_t*>(p)[0] = reinterpret_cast<volatile uint64_t*>(p)[0]; });
  }
  static Status protect(const Running& running, uint64_t* words, uint64_t unit, uint64_t units,
                        int protection) {
    return running->protect(words + unit * kWords, units * unit_size(), protection);
  }

 private:
  struct sigaction before_ = {};
};

TEST_P(Protecting, GuardsGuardAndGiveBackWhatTheyHad) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  constexpr uint64_t kUnits = 1000;
  auto* words = running.allocate(kUnits * unit_size());
  number_units(words, kUnits);
  ASSERT_TRUE(protect(running, words, 100, 1, PROT_NONE).ok());
  ASSERT_TRUE(protect(running, words, 200, 300, PROT_READ).ok());
  ASSERT_TRUE(protect(running, words, 998, 2, PROT_NONE).ok());
  for (int round = 0; round < 3; round++)
    for (uint64_t unit = 0; unit < kUnits; unit++) {
      const bool none = unit == 100 || unit >= 998, read_only = unit >= 200 && unit < 500;
      uint64_t* const p = words + unit * kWords;
      ASSERT_EQ(readable(p), !none) << unit;
      ASSERT_EQ(writable(p), !none && !read_only) << unit;
      if (none) continue;
      ASSERT_EQ(*p, unit);
    }
  EXPECT_LE(running->stats().resident_bytes, 128 * unit_size());
  ASSERT_TRUE(protect(running, words, 0, kUnits, PROT_READ | PROT_WRITE).ok());
  for (uint64_t unit = 0; unit < kUnits; unit++) {
    ASSERT_EQ(words[unit * kWords], unit);
    words[unit * kWords]++;
  }
  for (uint64_t unit = 0; unit < kUnits; unit++) ASSERT_EQ(words[unit * kWords], unit + 1);
}

TEST_P(Protecting, ResidentPagesThatMayNotBeAccessedLeave) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(100 * unit_size());
  auto* others = running.allocate(1000 * unit_size());
  number_units(words, 100);
  ASSERT_TRUE(protect(running, words, 0, 100, PROT_NONE).ok());
  for (int i = 0; i < 3; i++) number_units(others, 1000);
  EXPECT_GT(running->stats().bytes_out, 900 * unit_size());
  ASSERT_TRUE(protect(running, words, 0, 100, PROT_READ).ok());
  expect_numbers(words, 0, 100);
  expect_numbers(others, 0, 1000);
}

TEST_P(Protecting, AsLongAsEverythingFits) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(50 * unit_size());
  number_units(words, 50);
  ASSERT_TRUE(protect(running, words, 10, 10, PROT_READ).ok());
  ASSERT_TRUE(protect(running, words, 30, 1, PROT_NONE).ok());
  EXPECT_TRUE(readable(words + 15 * kWords));
  EXPECT_FALSE(writable(words + 15 * kWords));
  EXPECT_FALSE(readable(words + 30 * kWords));
  auto* others = running.allocate(1000 * unit_size());  // and now nothing fits any more
  for (int i = 0; i < 2; i++) {
    number_units(others, 1000);
    EXPECT_FALSE(writable(words + 15 * kWords));
    EXPECT_FALSE(readable(words + 30 * kWords));
    EXPECT_TRUE(writable(words + 31 * kWords));
  }
  ASSERT_TRUE(protect(running, words, 0, 50, PROT_READ | PROT_WRITE).ok());
  expect_numbers(words, 0, 50);
}

TEST_P(Protecting, CodeRunsWhereItMay) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  constexpr uint64_t kUnits = 400;
  auto* words = running.allocate(kUnits * unit_size());
  const unsigned char code[] = {0x48, 0x8d, 0x04, 0x7f, 0xc3};  // return 3 * x
  for (uint64_t unit = 0; unit < kUnits; unit++) memcpy(words + unit * kWords, code, sizeof code);
  const auto call = [&](uint64_t unit, uint64_t x) {
    uint64_t (*function)(uint64_t);
    const void* at = words + unit * kWords;
    memcpy(&function, &at, sizeof at);
    return function(x);
  };
  EXPECT_FALSE(tries([&] { call(7, 1); }));
  for (const int protection : {PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC}) {
    ASSERT_TRUE(protect(running, words, 50, 300, protection).ok());
    for (int i = 0; i < 2; i++)
      for (uint64_t unit = 50; unit < 350; unit++) ASSERT_EQ(call(unit, unit), 3 * unit);
    EXPECT_FALSE(tries([&] { call(49, 1); }));
    EXPECT_EQ(writable(words + 60 * kWords), (protection & PROT_WRITE) != 0);
  }
  for (uint64_t unit = 50; unit < 350; unit++) words[unit * kWords + 9] = unit;
  for (uint64_t unit = 50; unit < 350; unit++) ASSERT_EQ(words[unit * kWords + 9], unit);
}

TEST_P(Protecting, WhatIsDiscardedIsZeroAndWhatIsFreedIsGone) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  for (int round = 0; round < 20; round++) {
    auto* words = running.allocate(300 * unit_size());
    for (uint64_t unit = 0; unit < 300; unit++) {
      ASSERT_EQ(words[unit * kWords], 0u);
      words[unit * kWords] = unit + 1;
    }
    ASSERT_TRUE(protect(running, words, 50, 100, PROT_READ).ok());
    ASSERT_TRUE(protect(running, words, 150, 100, PROT_NONE).ok());
    ASSERT_TRUE(running->discard(words + 120 * kWords, 60 * unit_size()).ok());
    for (uint64_t unit = 0; unit < 150; unit++)
      ASSERT_EQ(words[unit * kWords], unit >= 120 ? 0 : unit + 1) << unit;
    EXPECT_FALSE(readable(words + 170 * kWords));
    ASSERT_TRUE(protect(running, words, 100, 120, PROT_READ | PROT_WRITE).ok());
    for (uint64_t unit = 100; unit < 220; unit++)
      ASSERT_EQ(words[unit * kWords], unit >= 120 && unit < 180 ? 0 : unit + 1) << unit;
    ASSERT_TRUE(running->free(words).ok());
  }
}

TEST_P(Protecting, ForkedChildrenHaveItToo) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(400 * unit_size());
  number_units(words, 400);
  ASSERT_TRUE(protect(running, words, 100, 100, PROT_READ).ok());
  ASSERT_TRUE(protect(running, words, 250, 100, PROT_NONE).ok());
  if (!running->before_fork()) GTEST_SKIP() << "children have no cluster memory this way";
  const pid_t child = fork();
  if (child == 0) {
    if (!running->after_fork_in_child().ok()) _exit(2);
    for (uint64_t unit = 0; unit < 250; unit++)
      if (words[unit * kWords] != unit) _exit(3);
    if (writable(words + 150 * kWords) || readable(words + 300 * kWords)) _exit(4);
    if (!running->discard(words + 120 * kWords, 10 * unit_size()).ok()) _exit(7);
    if (!running->discard(words + 260 * kWords, 10 * unit_size()).ok()) _exit(8);
    if (!running->discard(words + 10 * kWords + 1, 10 * unit_size()).ok()) _exit(9);
    if (!protect(running, words, 0, 400, PROT_READ | PROT_WRITE).ok()) _exit(5);
    const auto discarded = [](uint64_t u) {
      return (u > 10 && u < 21) || (u >= 120 && u < 130) || (u >= 260 && u < 270);
    };
    for (uint64_t unit = 0; unit < 400; unit++) {
      if (words[unit * kWords] != (discarded(unit) ? 0 : unit)) _exit(6);
      words[unit * kWords] = 1;
    }
    _exit(0);
  }
  running->after_fork();
  ASSERT_TRUE(protect(running, words, 0, 400, PROT_READ | PROT_WRITE).ok());
  for (int i = 0; i < 2; i++) expect_numbers(words, 0, 400);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(Protecting, PinsOfWhatMayNotBeAccessedEnd) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(400 * unit_size());
  number_units(words, 400);
  ASSERT_TRUE(protect(running, words, 100, 4, PROT_NONE).ok());
  ASSERT_TRUE(protect(running, words, 104, 4, PROT_READ).ok());
  for (const bool write : {false, true}) {
    const size_t pinned = running->pin(words + 98 * kWords, 12 * unit_size(), write);
    EXPECT_EQ(pinned, 12 * unit_size());
    running->unpin(words + 98 * kWords, pinned);
  }
  EXPECT_FALSE(readable(words + 101 * kWords));
  EXPECT_FALSE(writable(words + 105 * kWords));
  number_units(words, 100);
  EXPECT_LE(running->stats().resident_bytes, 128 * unit_size());
  EXPECT_EQ(words[107 * kWords], 107u);
}

uint64_t physical_page(const void* p) {
  uint64_t entry = 0;
  const os::Fd file(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(p) / unit_size() * sizeof entry);
  return pread(file.get(), &entry, sizeof entry, at) == sizeof entry ? entry & ((uint64_t{1} << 55) - 1) : 0;
}

// A device that was given a page keeps it, whatever the program may do with it.
TEST_P(Protecting, WhatADeviceUsesStaysWhereItIs) {
  if (GetParam() == Faults::signal || GetParam() == Faults::userfault_copy)
    GTEST_SKIP() << "the pager does not see devices this way";
  const Running running(single_units(GetParam(), 128));
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(400 * unit_size());
  number_units(words, 400);
  io_uring_params parameters = {};
  os::Fd ring(static_cast<int>(syscall(SYS_io_uring_setup, 4, &parameters)));
  const size_t pinned = running->pin(words + 50 * kWords, 4 * unit_size(), true);
  const iovec buffer{words + 50 * kWords, 4 * unit_size()};
  if (!ring.valid() || syscall(SYS_io_uring_register, ring.get(), IORING_REGISTER_BUFFERS, &buffer, 1) != 0)
    GTEST_SKIP() << "no io_uring here";
  running->unpin(words + 50 * kWords, pinned);
  const uint64_t page = physical_page(words + 51 * kWords);
  for (const int protection : {PROT_READ, PROT_NONE, PROT_READ | PROT_EXEC}) {
    ASSERT_TRUE(protect(running, words, 0, 100, protection).ok());
    expect_numbers(words, 100, 400);
    EXPECT_EQ(physical_page(words + 51 * kWords), page);
    for (const uint64_t unit : {10, 50, 51, 53}) {
      EXPECT_EQ(readable(words + unit * kWords), protection != PROT_NONE);
      EXPECT_FALSE(writable(words + unit * kWords));
    }
  }
  ring = os::Fd();
  ASSERT_TRUE(protect(running, words, 0, 100, PROT_READ | PROT_WRITE).ok());
  for (int round = 0; round < 2; round++) expect_numbers(words, 0, 400);
}

Options pages_of(Faults way, uint64_t units, uint64_t local = 128) {
  Options options = small(way, local);
  options.page_bytes = units * unit_size();
  options.prefetch = Prefetch::off;
  return options;
}

// A page is divided while a part of it is pinned.
TEST_P(Protecting, DividedPagesKeepThePinsOfTheirOwnUnits) {
  const Running running(pages_of(GetParam(), 8));
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(400 * unit_size());
  number_units(words, 400);
  for (uint64_t page = 0; page < 400; page += 8) {
    const size_t one = running->pin(words + page * kWords, unit_size(), false);
    const size_t all = running->pin(words + page * kWords, 8 * unit_size(), false);
    ASSERT_TRUE(protect(running, words, page + 4, 4, PROT_READ).ok());
    running->unpin(words + page * kWords, one);
    ASSERT_TRUE(protect(running, words, page + 4, 4, PROT_READ | PROT_WRITE).ok());
    running->unpin(words + page * kWords, all);
  }
  expect_numbers(words, 0, 400);
}

TEST_P(Protecting, PinsBeforeAnythingIsWatchedLeaveGuardsAlone) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(50 * unit_size());
  number_units(words, 50);
  ASSERT_TRUE(protect(running, words, 10, 1, PROT_NONE).ok());
  const size_t pinned = running->pin(words + 9 * kWords, 3 * unit_size(), false);
  auto* others = running.allocate(400 * unit_size());
  number_units(others, 400);
  running->unpin(words + 9 * kWords, pinned);
  EXPECT_EQ(words[11 * kWords], 11u);
  EXPECT_FALSE(readable(words + 10 * kWords));
}

// Who may read waits for the same page as who may not write.
TEST_P(Protecting, OnlyWhatIsForbiddenIsRefused) {
  const Running running(single_units(GetParam(), 64), 20'000, false);
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(400 * unit_size());
  number_units(words, 400);
  ASSERT_TRUE(protect(running, words, 0, 400, PROT_READ).ok());
  std::atomic<uint64_t> at{0};
  std::atomic<bool> stop{false};
  int written = 0, unread = 0;
  std::thread writer([&] {
    while (!stop) written += writable(words + at.load() * kWords);
  });
  for (uint64_t i = 0; i < 1200; i++) {
    at = i % 400;
    unread += !readable(words + at * kWords);
  }
  stop = true;
  writer.join();
  EXPECT_EQ(written, 0);
  EXPECT_EQ(unread, 0);
}

// The kernel leaves locked memory as it is, and the program may not write to it.
TEST_P(Protecting, LockedAndKeptMemoryIsDiscarded) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(50 * unit_size());
  number_units(words, 50);
  (void)mlock(words, 50 * unit_size());
  ASSERT_TRUE(protect(running, words, 0, 50, PROT_READ).ok());
  ASSERT_TRUE(running->discard(words + 10 * kWords, 10 * unit_size()).ok());
  EXPECT_EQ(words[15 * kWords], 0u);
  EXPECT_EQ(words[25 * kWords], 25u);
  auto* kept = running.allocate(400 * unit_size());
  number_units(kept, 400);
  ASSERT_TRUE(running->advise(kept, 16 * unit_size(), Advice::keep_local).ok());
  ASSERT_TRUE(protect(running, kept, 0, 16, PROT_READ).ok());
  ASSERT_TRUE(running->discard(kept + 4 * kWords, 4 * unit_size()).ok());
  ASSERT_TRUE(running->advise(kept, 16 * unit_size(), Advice::normal).ok());
  for (int round = 0; round < 2; round++)
    for (uint64_t unit = 0; unit < 400; unit++)
      ASSERT_EQ(kept[unit * kWords], unit >= 4 && unit < 8 ? 0 : unit);
}

// Parts that were locked, or were used before others, stay mappings of their own for the kernel.
TEST_P(Protecting, PagesOverSeveralMappingsLeave) {
  const Running running(pages_of(GetParam(), 8));
  SKIP_IF_NOT_PERMITTED(running);
  constexpr uint64_t kUnits = 800;
  auto* words = running.allocate(kUnits * unit_size());
  for (uint64_t unit = 0; unit < kUnits; unit += 20) {
    ASSERT_TRUE(protect(running, words, unit + 12, 4, PROT_NONE).ok());
    ASSERT_TRUE(protect(running, words, unit + 16, 4, PROT_READ).ok());
  }
  for (uint64_t unit = 0; unit < kUnits; unit++)
    if (unit % 20 < 12) words[unit * kWords] = unit;
  auto* locked = running.allocate(kUnits * unit_size());
  number_units(locked, kUnits);
  for (uint64_t unit = 0; unit < kUnits; unit += 8)
    (void)syscall(SYS_mlock2, locked + (unit + 4) * kWords, 4 * unit_size(), MLOCK_ONFAULT);
  for (const int protection : {PROT_READ, PROT_READ | PROT_EXEC, PROT_NONE}) {
    ASSERT_TRUE(protect(running, words, 0, kUnits, protection).ok());
    ASSERT_TRUE(protect(running, locked, 0, kUnits / 2, protection).ok());
    for (int round = 0; round < 2 && protection != PROT_NONE; round++)
      for (uint64_t unit = 0; unit < kUnits; unit++) {
        ASSERT_EQ(words[unit * kWords], unit % 20 < 12 ? unit : 0);
        ASSERT_EQ(locked[unit * kWords], unit);
      }
    expect_numbers(locked, kUnits / 2, kUnits);
    EXPECT_LE(running->stats().resident_bytes, 128 * unit_size()) << protection;
  }
}

// To keep memory local that becomes inaccessible meanwhile fails, and leaves nothing behind.
TEST_P(Protecting, KeepingLocalAndProtectingAtOnce) {
  const Running running(small(GetParam(), 256), 20'000, false);
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(2000 * unit_size());
  number_units(words, 2000);
  for (uint64_t i = 0; i < 60; i++) {
    const uint64_t unit = i % 10 * 180;
    std::thread other([&] { (void)protect(running, words, unit + 90, 2, PROT_NONE); });
    (void)running->advise(words + unit * kWords, 100 * unit_size(), Advice::keep_local);
    other.join();
    ASSERT_TRUE(protect(running, words, unit + 90, 2, PROT_READ | PROT_WRITE).ok());
    (void)running->advise(words, 2000 * unit_size(), Advice::normal);
    ASSERT_TRUE(running->advise(words + 1890 * kWords, 110 * unit_size(), Advice::keep_local).ok()) << i;
    (void)running->advise(words, 2000 * unit_size(), Advice::normal);
  }
}

// What leaves the pager is ordinary memory, with all that it had, and what may be done with it.
TEST_P(Protecting, RegionsLeaveWithTheirContents) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  auto* few = running.allocate(20 * unit_size());  // everything fits yet
  number_units(few, 20);
  ASSERT_TRUE(protect(running, few, 5, 1, PROT_NONE).ok());
  const bool signals = GetParam() == Faults::signal;
  EXPECT_EQ(running->let_go(few).err(), signals ? EBUSY : 0);
  auto* words = running.allocate(400 * unit_size());
  auto* reserved = running.allocate(300 * unit_size());
  number_units(words, 400);
  ASSERT_TRUE(protect(running, words, 100, 50, PROT_READ).ok());
  ASSERT_TRUE(protect(running, reserved, 0, 300, PROT_NONE).ok());
  EXPECT_TRUE(running->let_go(reserved).ok());
  EXPECT_EQ(running->let_go(reserved).err(), EINVAL);
  EXPECT_FALSE(readable(reserved));
  EXPECT_EQ(mprotect(reserved, unit_size(), PROT_READ | PROT_WRITE), 0);
  EXPECT_TRUE(writable(reserved));
  const Status away = running->let_go(words);
  for (uint64_t unit = 0; unit < 400; unit++) {
    ASSERT_EQ(words[unit * kWords], unit);
    ASSERT_EQ(writable(words + unit * kWords), unit < 100 || unit >= 150);
  }
  auto* others = running.allocate(400 * unit_size());
  number_units(others, 400);
  expect_numbers(others, 0, 400);
  EXPECT_LE(running->stats().resident_bytes, 128 * unit_size());
  for (uint64_t unit = 0; unit < 20; unit++) ASSERT_EQ(readable(few + unit * kWords), unit != 5);
  EXPECT_EQ(away.err(), signals ? EBUSY : 0);
  EXPECT_EQ(running->size_of(words), signals ? 400 * unit_size() : 0);
}

// While other threads go on to use it.
TEST_P(Protecting, RegionsLeaveInUse) {
  if (GetParam() == Faults::signal) GTEST_SKIP() << "what is here cannot leave this way";
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  for (int round = 0; round < 15; round++) {
    auto* others = running.allocate(200 * unit_size());
    number_units(others, 200);
    auto* words = running.allocate(300 * unit_size());
    number_units(words, 300);
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 2; t++)
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        while (!stop) {
          const uint64_t unit = random() % 300;
          wrong += words[unit * kWords] != unit;
          std::atomic_ref(words[unit * kWords + 1 + t]).fetch_add(1);
        }
      });
    usleep(2000);
    EXPECT_TRUE(running->let_go(words).ok());
    usleep(2000);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(munmap(words, 300 * unit_size()), 0);
    EXPECT_TRUE(running->free(others).ok());
  }
}

TEST_P(Protecting, RejectsWhatIsNoRange) {
  const Running running(small(GetParam()));
  SKIP_IF_NOT_PERMITTED(running);
  auto* words = running.allocate(10 * unit_size());
  EXPECT_EQ(running->protect(words + 1, unit_size(), PROT_READ).err(), EINVAL);
  EXPECT_EQ(running->protect(words, 11 * unit_size(), PROT_READ).err(), EINVAL);
  EXPECT_EQ(running->protect(words, unit_size(), 0x4000).err(), EINVAL);
  EXPECT_TRUE(running->protect(words, 0, PROT_NONE).ok());
  EXPECT_TRUE(writable(words));
}

// Several threads change bytes and protections of parts of their own, all in pages that they share at the
// borders.
TEST_P(Protecting, RandomProgramsLoseNothing) {
  for (uint64_t seed = 0; seed < 6; seed++) {
    Options options = small(GetParam(), 96);
    if (seed % 3 == 1) options.page_bytes = 4 * unit_size();
    const Running running(options, 20'000, seed % 2 == 0);
    SKIP_IF_NOT_PERMITTED(running);
    constexpr uint64_t kUnits = 120, kThreads = 3;
    auto* words = running.allocate(kThreads * kUnits * unit_size());
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; t++)
      threads.emplace_back([&, t] {
        std::mt19937_64 random(100 * seed + t);
        uint64_t* const mine = words + t * kUnits * kWords;
        std::vector<int> may(kUnits, PROT_READ | PROT_WRITE);
        std::vector<uint64_t> holds(kUnits, 0);
        for (int step = 0; step < 3000; step++) {
          const uint64_t unit = random() % kUnits, units = std::min(kUnits - unit, 1 + random() % 20);
          uint64_t* const p = mine + unit * kWords + 11;
          switch (random() % 12) {
            case 0: {
              const int all[] = {PROT_NONE,
                                 PROT_READ,
                                 PROT_READ | PROT_WRITE,
                                 PROT_READ | PROT_WRITE,
                                 PROT_READ | PROT_EXEC,
                                 PROT_READ | PROT_WRITE | PROT_EXEC};
              const int protection = all[random() % 6];
              if (!protect(running, mine, unit, units, protection).ok()) wrong += 1;
              std::fill_n(may.begin() + static_cast<ptrdiff_t>(unit), units, protection);
              break;
            }
            case 1:
              if (!running->discard(mine + unit * kWords, units * unit_size()).ok()) wrong += 1;
              std::fill_n(holds.begin() + static_cast<ptrdiff_t>(unit), units, 0);
              break;
            case 2:
              (void)running->advise(mine + unit * kWords, units * unit_size(),
                                    random() % 2 == 0 ? Advice::done_with : Advice::will_need);
              break;
            case 3:
            case 4:
            case 5:
              if (writable(p) != ((may[unit] & PROT_WRITE) != 0)) wrong += 1;
              if ((may[unit] & PROT_WRITE) != 0) *p = holds[unit] = random();
              break;
            default:
              if (readable(p) != (may[unit] != PROT_NONE)) wrong += 1;
              if (may[unit] != PROT_NONE && *p != holds[unit]) wrong += 1;
          }
        }
        if (!protect(running, mine, 0, kUnits, PROT_READ | PROT_WRITE).ok()) wrong += 1;
        for (uint64_t unit = 0; unit < kUnits; unit++)
          if (mine[unit * kWords + 11] != holds[unit]) wrong += 1;
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(wrong.load(), 0) << "seed " << seed;
  }
}

std::string name_of(const testing::TestParamInfo<Faults>& info) {
  const char* const ways[] = {"automatic", "userfault", "user", "signal", "copy", "sigbus"};
  return ways[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Ways, Protecting,
                         testing::Values(Faults::userfault, Faults::userfault_user_mode, Faults::signal,
                                         Faults::userfault_copy, Faults::userfault_sigbus),
                         name_of);

}  // namespace
}  // namespace tasuki::pager
