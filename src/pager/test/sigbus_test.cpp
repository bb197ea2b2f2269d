// The pager where threads serve their own faults, in the handler of SIGBUS.
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "os/memory/mapping.h"
#include "os/memory/scattered.h"
#include "pager/test/running_pager.h"

namespace {

// Where a thread serves its own fault, it may have been interrupted in malloc.
thread_local bool t_in_handler = false;
std::atomic<uint64_t> g_allocated_in_handlers{0}, g_handlers{0};

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t bytes) {
  if (t_in_handler) g_allocated_in_handlers++;
  if (void* p = malloc(bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  if (t_in_handler) g_allocated_in_handlers++;
  free(p);
}
void operator delete(void* p, size_t) noexcept {
  operator delete(p);
}
#pragma GCC diagnostic pop

namespace tasuki::pager {
namespace {

TEST(Sigbus, AThreadThatServesItselfAllocatesNothing) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::cs, Protocol::as1}) {
    for (const ReplacementPolicy policy : {ReplacementPolicy::clock, ReplacementPolicy::address}) {
      Options options = small(Faults::userfault_sigbus, 256);
      options.protocol = protocol;
      options.replacement = policy;
      options.enter = [] {
        t_in_handler = true;
        g_handlers++;
      };
      options.leave = [] { t_in_handler = false; };
      Running pager(options, 4000);
      SKIP_IF_NOT_PERMITTED(pager);
      auto* words = pager.allocate(1000 * unit_size());
      g_allocated_in_handlers = g_handlers = 0;
      for (int pass = 0; pass < 3; pass++)
        for (uint64_t u = 0; u < 1000; u++) words[u * kWords] += u;
      for (uint64_t u = 0; u < 1000; u++) EXPECT_EQ(std::exchange(words[u * kWords], 0), 3 * u);
      hammer(words, 1000, 4, 100'000);
      EXPECT_GT(g_handlers, 500u);
      EXPECT_EQ(g_allocated_in_handlers, 0u);
    }
  }
}

// Small pages that are only read leave without a transfer, in the memory that they are to use.
TEST(Sigbus, PagesThatAreOnlyReadAreDroppedTogether) {
  if (!os::Scattered::open().ok()) GTEST_SKIP() << "not in this kernel";
  constexpr uint64_t kUnits = 8000;
  Options options = single_units(Faults::userfault_sigbus, 1000);
  Running pager(options, kUnits);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(kUnits * unit_size());
  number_units(words, kUnits);
  for (uint64_t u = 0; u < kUnits; u++) ASSERT_EQ(words[u * kWords], u);  // now the store has all of them
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    uint64_t size = 0, pages = 0;
    file >> size >> pages;
    return pages;
  };
  const uint64_t before = resident();
  const Stats written = pager->stats();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; t++)
    threads.emplace_back([=] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 20'000; i++) {
        const uint64_t u = random() % kUnits;
        ASSERT_EQ(words[u * kWords], u);
      }
    });
  for (std::thread& t : threads) t.join();
  const Stats read = pager->stats();
  EXPECT_GE(read.drops - written.drops, 40'000u);
  EXPECT_LE(read.swaps_out - written.swaps_out, 1000u) << "those that were written before";
  EXPECT_LE(resident(), before + 300);
}

// Threads that come to read and to write the same pages while these are put in place and dropped.
TEST(Sigbus, ReadersAndWritersMeetInPagesThatCome) {
  for (const Copies copies : {Copies::cache, Copies::exclusive}) {
    constexpr uint64_t kUnits = 400, kThreads = 6;
    Options options = single_units(Faults::userfault_sigbus, 64);
    options.copies = copies;
    Running pager(options, kUnits + 64);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(kUnits * unit_size());
    for (uint64_t u = 0; u < kUnits; u++) words[u * kWords] = 0;
    std::atomic<uint64_t> added{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; t++)
      threads.emplace_back([&, t] {
        std::mt19937_64 random(7);  // all of them walk over the same pages
        std::mt19937_64 mine(t);
        std::vector<uint64_t> seen(kUnits);
        for (int i = 0; i < 20'000; i++) {
          const uint64_t u = random() % kUnits;
          std::atomic_ref word(words[u * kWords]);
          if (mine() % 4 == 0) {
            word.fetch_add(1);
            added.fetch_add(1);
          }
          const uint64_t now = word.load();
          ASSERT_GE(now, seen[u]) << "an update is lost";
          seen[u] = now;
        }
      });
    for (std::thread& t : threads) t.join();
    uint64_t sum = 0;
    for (uint64_t u = 0; u < kUnits; u++) sum += words[u * kWords];
    EXPECT_EQ(sum, added.load());
  }
}

// However the page leaves after that.
TEST(Sigbus, WhatTheProgramDiscardsOfAPageThatItHasReadStaysZero) {
  constexpr uint64_t kUnits = 2000;
  Options options = single_units(Faults::userfault_sigbus, 256);
  Running pager(options, kUnits);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(kUnits * unit_size());
  const auto pass = [&](uint64_t from) {
    uint64_t sum = 0;
    for (uint64_t u = from; u < kUnits; u++) sum += words[u * kWords];
    return sum;
  };
  for (uint64_t u = 0; u < kUnits; u++) words[u * kWords] = 7;
  for (uint64_t u = 0; u < 50; u++) {
    ASSERT_EQ(pass(1000), 7000u);
    uint64_t* const word = words + u * kWords;
    ASSERT_EQ(*word, 7u);
    ASSERT_EQ(madvise(word, unit_size(), MADV_DONTNEED), 0);
    const bool leaves_alone = u % 2 == 0;
    ASSERT_TRUE(pager->advise(word, unit_size(), leaves_alone ? Advice::done_with : Advice::normal).ok());
    ASSERT_EQ(*word, 0u);
    ASSERT_EQ(pass(1000), 7000u);
    ASSERT_EQ(*word, 0u) << "its old contents have come back";
  }
}

// Phases of small and of large pages, and allocations that come and go: the pager's own mappings do not grow.
TEST(Sigbus, BuffersAreUsedAgain) {
  for (const Faults faults : {Faults::userfault_sigbus, Faults::userfault_user_mode}) {
    constexpr uint64_t kUnits = 8000;
    Running pager(small(faults, 2000), 3 * kUnits);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(kUnits * unit_size());
    number_units(words, kUnits);
    std::mt19937_64 random(1);
    size_t before = 0;
    for (int cycle = 0; cycle < 8; cycle++) {
      for (int i = 0; i < 5000; i++) {
        const uint64_t u = random() % kUnits;
        ASSERT_EQ(words[u * kWords], u);
      }
      Result<void*> got = pager->allocate(kUnits * unit_size(), 1, 64 * unit_size());
      ASSERT_TRUE(got.ok()) << got.status().message();
      auto* large = static_cast<uint64_t*>(got.value());
      number_units(large, kUnits);
      for (uint64_t u = 0; u < kUnits; u++) ASSERT_EQ(large[u * kWords], u);
      ASSERT_TRUE(pager->free(large).ok());
      if (cycle == 2) before = os::count_mappings();
    }
    EXPECT_LE(os::count_mappings(), before + 4);
  }
}

// A thread that serves its fault on a small alternate stack uses no byte below it, nor would it where the
// kernel saves more registers than here.
TEST(Sigbus, EightKiBOfAlternateStackAreEnough) {
  Options options = single_units(Faults::userfault_sigbus, 256);
  Running pager(options, 4000);
  SKIP_IF_NOT_PERMITTED(pager);
  // Of a signal's frame: with AVX-512 3376 on an AMD EPYC, 3632 on an Intel Xeon.
  constexpr size_t kStack = 8192, kLargestFrame = 3632;
  const size_t frame = getauxval(AT_MINSIGSTKSZ);
  auto* words = pager.allocate(2000 * unit_size());
  number_units(words, 2000);
  auto* const memory = static_cast<std::byte*>(os::map_memory(2 * kStack));
  ASSERT_NE(memory, nullptr);
  memset(memory, 0x5a, 2 * kStack);
  stack_t stack = {}, previous = {};
  stack.ss_sp = memory + kStack;
  stack.ss_size = kStack;
  ASSERT_EQ(sigaltstack(&stack, &previous), 0);
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; i++) {
    const uint64_t u = random() % 2000;
    EXPECT_EQ(words[u * kWords], u);
    if (i % 4 == 0) words[u * kWords] = u;
  }
  ASSERT_EQ(sigaltstack(&previous, nullptr), 0);
  size_t untouched = 0;
  while (untouched < 2 * kStack && memory[untouched] == std::byte{0x5a}) untouched++;
  const size_t used = 2 * kStack - untouched;
  EXPECT_LE(used - frame + std::max(frame, kLargestFrame), kStack) << "with a frame of " << frame << " bytes";
  os::unmap(memory, 2 * kStack);
}

// Of pages that are read and then written most come writable at once.
TEST(Sigbus, PagesThatAreReadAndThenWrittenComeWritable) {
  Options options = single_units(Faults::userfault_sigbus, 256);
  Running pager(options, 4000);
  SKIP_IF_NOT_PERMITTED(pager);
  constexpr uint64_t kUnits = 2000;
  auto* words = pager.allocate(kUnits * unit_size());
  std::vector<uint64_t> expected(kUnits);
  std::mt19937_64 random(1);
  for (int i = 0; i < 40'000; i++) {
    const uint64_t u = random() % kUnits;
    ASSERT_EQ(words[u * kWords], expected[u]);
    words[u * kWords] = ++expected[u];
  }
  const Stats stats = pager->stats();
  EXPECT_LE(stats.write_faults, stats.faults / 5);
}

// Whether it serves itself or waits for the pager's thread.
TEST(Sigbus, AFaultLeavesTheSignalsThatAThreadBlocks) {
  Options options = small(Faults::userfault_sigbus);
  Running pager(options, 4000, false);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(512 * unit_size());
  sigset_t blocked, now;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, nullptr), 0);
  hammer(words, 512, 1, 20'000);
  number_units(words, 512);
  ASSERT_EQ(pthread_sigmask(SIG_UNBLOCK, &blocked, &now), 0);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 1) << "faults leave a thread's mask as it is";
  EXPECT_EQ(sigismember(&now, SIGALRM), 0);
}

// DLM-MPI, figure 9: one thread computes, asks for pages and sends them away.
TEST(Sigbus, ThreadsOfTheProgramCanDoEverything) {
  for (const bool direct : {true, false}) {
    Options options = small(Faults::userfault_sigbus);
    options.protocol = Protocol::cs;
    options.threadless = true;
    Running pager(options, 8000, direct);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(512 * unit_size());
    hammer(words, 512, 4, 50'000);
    number_units(words, 512);
    void* const first = words;
    EXPECT_EQ(pager->pin(first, 16 * unit_size(), true), 16 * unit_size());
    pager->unpin(first, 16 * unit_size());
    EXPECT_TRUE(pager->advise(first, 512 * unit_size(), Advice::will_need).ok());
    EXPECT_TRUE(pager->protect(first, 256 * unit_size(), PROT_READ).ok());
    expect_numbers(words, 0, 512);
    EXPECT_TRUE(pager->protect(first, 256 * unit_size(), PROT_READ | PROT_WRITE).ok());
    EXPECT_TRUE(pager->discard(words + 100 * kWords, 100 * unit_size()).ok());
    expect_numbers(words, 0, 100);
    for (uint64_t u = 100; u < 200; u++) EXPECT_EQ(words[u * kWords], 0u);
    Result<void*> larger = pager->reallocate(words, 2000 * unit_size());
    ASSERT_TRUE(larger.ok());
    words = static_cast<uint64_t*>(larger.value());
    expect_numbers(words, 200, 512);
    if (pager->before_fork()) pager->after_fork();
    EXPECT_TRUE(pager->free(words).ok());
    const Stats stats = pager->stats();
    EXPECT_GT(stats.swaps_out, 0u);
    EXPECT_LE(stats.resident_bytes, options.local_bytes);
  }
}

// What it does in the caller's thread is the pager's, for whoever stands in for libc's functions: an MPI library
// that replaces madvise comes to them again, and they would wait for the lock that this thread has.
TEST(Sigbus, ItsOwnWorkIsMarkedAsThePagers) {
  Options options = small(Faults::userfault_sigbus);
  options.protocol = Protocol::cs;
  options.threadless = true;
  options.enter = [] { g_handlers++; };
  Running pager(options, 8000);
  SKIP_IF_NOT_PERMITTED(pager);
  const auto inside = [](const auto& call) {
    g_handlers = 0;
    call();
    return g_handlers > 0;
  };
  uint64_t* words = nullptr;
  EXPECT_TRUE(inside([&] { words = pager.allocate(64 * unit_size()); }));
  EXPECT_TRUE(inside([&] { EXPECT_TRUE(pager->protect(words, unit_size(), PROT_READ).ok()); }));
  EXPECT_TRUE(inside([&] { EXPECT_TRUE(pager->discard(words, unit_size()).ok()); }));
  EXPECT_TRUE(inside([&] { pager->stats(); }));
  EXPECT_TRUE(inside([&] { EXPECT_TRUE(pager->free(words).ok()); }));
}

TEST(Sigbus, WithoutAThreadThereIsOneProtocol) {
  Options options = small(Faults::userfault_sigbus);
  options.threadless = true;
  Running pager(options);
  EXPECT_EQ(pager.status().err(), EINVAL);
}

// DLM-MPI, figure 7: the thread that computes asks for its page, and the pager's receives it.
TEST(Sigbus, AThreadAsksForItsPageItselfWithAs1) {
  for (const Protocol protocol : {Protocol::as1, Protocol::as2}) {
    Options options = single_units(Faults::userfault_sigbus, 128);
    options.protocol = protocol;
    Running pager(options, 4000, false);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(512 * unit_size());
    for (int pass = 0; pass < 3; pass++) number_units(words, 512);
    expect_numbers(words, 0, 512);
    EXPECT_EQ(pager.slow_store().fetchers().count(static_cast<int>(gettid())),
              protocol == Protocol::as1 ? 1 : 0);
  }
}

}  // namespace
}  // namespace tasuki::pager
