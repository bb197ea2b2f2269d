// The pager as programs use it, with real faults, for each way to catch them that this machine permits.
#include "pager/pager.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <thread>
#include <utility>

#include "os/memory/mapping.h"
#include "os/memory/scattered.h"
#include "os/process/signals.h"
#include "pager/mappers/mapper.h"
#include "pager/stores/ram_store.h"
#include "pager/test/fake_memory.h"

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

constexpr Faults kWays[] = {Faults::userfault, Faults::userfault_user_mode, Faults::signal,
                            Faults::userfault_copy, Faults::userfault_sigbus};

const char* name_of(Faults way) {
  static constexpr const char* kNames[] = {"automatic", "userfault", "user_mode", "signal", "copy", "sigbus"};
  return kNames[static_cast<int>(way)];
}

// A pager that serves, with a store that answers at once (`direct`) or late and out of order.
class Running {
 public:
  explicit Running(const Options& options, uint64_t slots = 20'000, bool direct = true) {
    if (direct) {
      Result<std::unique_ptr<RamStore>> made = RamStore::create(kUnit, slots);
      EXPECT_TRUE(made.ok());
      store_ = std::move(made.value());
    } else {
      store_ = std::make_unique<SlowStore>(slots, SlowStore::Behaviour{.run = 1000, .patience = 3}, 1);
    }
    Result<std::unique_ptr<Pager>> pager = Pager::create(options, store_.get());
    status_ = pager.status();
    if (!pager.ok()) return;
    pager_ = std::move(pager.value());
    const os::SignalsBlocked blocked;
    serving_ = std::thread([this] {
      const Status served = pager_->serve();
      if (!served.ok()) {
        fprintf(stderr, "serve: %s\n", served.message().c_str());
        _exit(99);  // as a program would: no access to cluster memory returns any more
      }
    });
  }
  ~Running() {
    if (pager_ == nullptr) return;
    pager_->stop();
    serving_.join();
  }

  const Status& status() const { return status_; }
  Pager* operator->() const { return pager_.get(); }
  template <class T = uint64_t>
  T* allocate(size_t bytes, size_t alignment = 64, size_t page_bytes = 0) const {
    Result<void*> got = pager_->allocate(bytes, alignment, page_bytes);
    EXPECT_TRUE(got.ok()) << got.status().message();
    return got.ok() ? static_cast<T*>(got.value()) : nullptr;
  }

 private:
  std::unique_ptr<Store> store_;
  std::unique_ptr<Pager> pager_;
  std::thread serving_;
  Status status_;
};

#define SKIP_IF_NOT_PERMITTED(running) \
  if (!(running).status().ok()) GTEST_SKIP() << "not permitted here: " << (running).status().message()

Options small(Faults way, uint64_t units = 128) {
  Options options;
  options.faults = way;
  options.local_bytes = units * kUnit;
  return options;
}

uint64_t increments(uint64_t usual) {
  const char* wanted = getenv("TASUKI_TEST_INCREMENTS");
  return wanted == nullptr ? usual : strtoull(wanted, nullptr, 10);
}

// Threads that add one to random words of shared pages, many more than are local. Each visit of a page makes
// a few increments, so that pages leave between two of them often enough and the test ends.
void hammer(uint64_t* words, uint64_t units, int threads, uint64_t total) {
  constexpr uint64_t kVisit = 50, kWords = kUnit / 8;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++)
    all.emplace_back([=] {
      std::mt19937_64 random(static_cast<uint64_t>(t));
      for (uint64_t done = 0; done < total / static_cast<uint64_t>(threads); done += kVisit) {
        uint64_t* unit = words + random() % units * kWords;
        for (uint64_t i = 0; i < kVisit; i++)
          std::atomic_ref(unit[random() % kWords]).fetch_add(1, std::memory_order_relaxed);
      }
    });
  for (std::thread& t : all) t.join();
  const uint64_t each = (total / static_cast<uint64_t>(threads) + kVisit - 1) / kVisit * kVisit;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < units * kWords; i++) sum += words[i];
  EXPECT_EQ(sum, each * static_cast<uint64_t>(threads)) << "updates are lost";
}

using Combination = std::tuple<Faults, Protocol, size_t>;
class Hammer : public ::testing::TestWithParam<Combination> {};

TEST_P(Hammer, NoUpdateIsLost) {
  const auto& [way, protocol, page] = GetParam();
  const bool usual = protocol == Protocol::ahead && page == 0;
  for (const bool direct : {true, false}) {
    Options options = small(way);
    options.protocol = protocol;
    options.page_bytes = page;
    Running pager(options, 4000, direct);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(512 * kUnit);
    hammer(words, 512, 4, increments(usual ? 1'000'000 : 100'000));
    EXPECT_GT(pager->stats().swaps_out, 0u);
    EXPECT_LE(pager->stats().resident_bytes, options.local_bytes);
    EXPECT_TRUE(pager->free(words).ok());
  }
}

std::string hammer_name(const ::testing::TestParamInfo<Combination>& test) {
  static constexpr const char* kProtocols[] = {"ahead", "cs", "cross", "as1", "as2"};
  const auto& [way, protocol, page] = test.param;
  return std::string(name_of(way)) + "_" + kProtocols[static_cast<int>(protocol)] + "_" +
         std::to_string(page);
}
INSTANTIATE_TEST_SUITE_P(All, Hammer,
                         ::testing::Combine(::testing::ValuesIn(kWays),
                                            ::testing::Values(Protocol::ahead, Protocol::cs, Protocol::cross,
                                                              Protocol::as1, Protocol::as2),
                                            ::testing::Values(0, 4096, 16384, 65536)),
                         hammer_name);

class Ways : public ::testing::TestWithParam<Faults> {};
std::string way_name(const ::testing::TestParamInfo<Faults>& test) {
  return name_of(test.param);
}
INSTANTIATE_TEST_SUITE_P(All, Ways, ::testing::ValuesIn(kWays), way_name);

TEST_P(Ways, WhatTheProgramDiscardsIsZero) {
  if (GetParam() == Faults::signal)
    GTEST_SKIP() << "not promised: with SIGSEGV a page is a piece of a file, which madvise() leaves as it is";
  for (const bool direct : {true, false}) {
    Running pager(small(GetParam()), 4000, direct);
    SKIP_IF_NOT_PERMITTED(pager);
    constexpr uint64_t kUnits = 400;
    auto* at = pager.allocate<std::byte>(kUnits * kUnit);
    std::vector<uint64_t> expected(kUnits);
    std::mt19937_64 random(1);
    for (int i = 0; i < 20'000; i++) {
      const uint64_t unit = random() % kUnits;
      auto* word = reinterpret_cast<uint64_t*>(at + unit * kUnit);
      ASSERT_EQ(*word, expected[unit]) << "unit " << unit << " step " << i;
      if (random() % 8 == 0) {
        // So that it is here: of a page that is elsewhere there is nothing to discard.
        const uint64_t before = random() % 2 == 0 ? *word : (*word = 1);
        // A page must not be discarded while it is sent from where it is; see copy_mapper.cpp.
        const bool held = GetParam() == Faults::userfault_copy;
        if (held) pager->pin(word, 8, true);
        ASSERT_EQ(madvise(at + unit * kUnit, kUnit, MADV_DONTNEED), 0);
        if (held) pager->unpin(word, 8);
        expected[unit] = *word;  // zero, or what it was if it left in between
        ASSERT_TRUE(expected[unit] == 0 || expected[unit] == before) << "unit " << unit << " step " << i;
      } else if (random() % 2 == 0) {
        *word = expected[unit] = random();
      }
    }
  }
}

TEST_P(Ways, AllocationsComeAndGo) {
  Running pager(small(GetParam(), 256), 5000, false);
  SKIP_IF_NOT_PERMITTED(pager);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::vector<std::pair<uint64_t*, size_t>> blocks;  // with a word at each unit's beginning
      const auto verify = [&](size_t i) {
        for (size_t w = 0; w < blocks[i].second; w++)
          ASSERT_EQ(blocks[i].first[w * 512], reinterpret_cast<uintptr_t>(blocks[i].first) + w);
      };
      for (int i = 0; i < 300; i++) {
        if (blocks.size() < 5) {
          const size_t units = 1 + random() % 200;
          Result<void*> got = pager->allocate(units * kUnit, size_t{1} << random() % 22, random() % 5 * 8192);
          ASSERT_TRUE(got.ok()) << got.status().message();
          blocks.emplace_back(static_cast<uint64_t*>(got.value()), units);
          for (size_t w = 0; w < units; w++) {
            ASSERT_EQ(blocks.back().first[w * 512], 0u) << "new memory is not zero";
            blocks.back().first[w * 512] = reinterpret_cast<uintptr_t>(blocks.back().first) + w;
          }
        } else {
          const size_t b = random() % blocks.size();
          verify(b);
          ASSERT_TRUE(pager->free(blocks[b].first).ok());
          blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(b));
        }
      }
      for (size_t b = 0; b < blocks.size(); b++) {
        verify(b);
        ASSERT_TRUE(pager->free(blocks[b].first).ok());
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(pager->stats().allocated_bytes, 0u);
  EXPECT_EQ(pager->stats().resident_bytes, 0u);
}

TEST_P(Ways, ReallocationKeepsWhatWasThere) {
  Running pager(small(GetParam()), 5000);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(8);
  words[0] = 0;
  size_t count = 1;
  std::mt19937_64 random(5);
  for (int i = 0; i < 60; i++) {
    const size_t now = 1 + random() % (random() % 2 == 0 ? 1000 : 700'000);
    Result<void*> got = pager->reallocate(words, now * 8);
    ASSERT_TRUE(got.ok()) << got.status().message();
    words = static_cast<uint64_t*>(got.value());
    EXPECT_EQ(pager->size_of(words), now * 8);
    for (size_t k = 0; k < std::min(count, now); k++) ASSERT_EQ(words[k], k);
    for (size_t k = count; k < now; k++) words[k] = k;
    count = now;
  }
  EXPECT_TRUE(pager->free(words).ok());
  EXPECT_EQ(pager->stats().allocated_bytes, 0u);
}

TEST_P(Ways, AdviceChangesNoContents) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::cs}) {
    Options options = small(GetParam(), 256);
    options.protocol = protocol;
    Running pager(options, 5000, false);
    SKIP_IF_NOT_PERMITTED(pager);
    constexpr uint64_t kUnits = 1000;
    auto* words = pager.allocate(kUnits * kUnit);
    for (uint64_t u = 0; u < kUnits; u++) words[u * 512] = u;
    std::atomic<bool> end{false};
    std::thread other([&] {
      std::mt19937_64 random(2);
      while (!end) std::atomic_ref(words[random() % kUnits * 512 + 1]).fetch_add(1);
    });
    std::mt19937_64 random(1);
    for (int i = 0; i < 400; i++) {
      const uint64_t first = random() % kUnits,
                     count = 1 + random() % std::min<uint64_t>(kUnits - first, 100);
      const auto advice = static_cast<Advice>(random() % 6);
      const Status status = pager->advise(words + first * 512, count * kUnit, advice);
      ASSERT_TRUE(status.ok() || status.err() == ENOMEM) << status.message();
      for (uint64_t u = first; u < first + count; u++) ASSERT_EQ(words[u * 512], u);
      if (advice == Advice::keep_local) {
        ASSERT_TRUE(pager->advise(words, kUnits * kUnit, Advice::normal).ok());
      }
    }
    end = true;
    other.join();
  }
}

// System calls on memory that is mostly elsewhere, while another thread drives it out.
TEST_P(Ways, SystemCallsReadAndWriteClusterMemory) {
  Running pager(small(GetParam(), 256), 5000, false);
  SKIP_IF_NOT_PERMITTED(pager);
  constexpr uint64_t kUnits = 1000;
  auto* bytes = pager.allocate<std::byte>(kUnits * kUnit);
  std::atomic<bool> end{false};
  std::thread other([&] {
    std::mt19937_64 random(2);
    while (!end) const_cast<volatile std::byte&>(bytes[random() % kUnits * kUnit + 4000]) = std::byte{1};
  });
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  // As a wrapper of the call does it.
  const auto transfer = [&](bool in, std::byte* at, size_t length) {
    for (size_t done = 0; done < length;) {
      size_t part = length - done;
      if (pager->needs_pin()) {
        part = pager->pin(at + done, part, in);
        ASSERT_GT(part, 0u);
      }
      const ssize_t got = in ? read(ends[0], at + done, part) : write(ends[1], at + done, part);
      if (pager->needs_pin()) pager->unpin(at + done, part);
      ASSERT_GT(got, 0) << strerror(errno);
      done += static_cast<size_t>(got);
    }
  };
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < 2000; i++) {
    std::byte* from = bytes + random() % (kUnits / 2 - 4) * kUnit;
    std::byte* to = bytes + (kUnits / 2 + random() % (kUnits / 2 - 4)) * kUnit;
    const size_t length = 8 + random() % 3900;
    memcpy(from + length - 8, &i, 8);
    transfer(false, from, length);
    transfer(true, to, length);
    uint64_t got;
    memcpy(&got, to + length - 8, 8);
    ASSERT_EQ(got, i);
  }
  end = true;
  other.join();
  close(ends[0]);
  close(ends[1]);
}

TEST_P(Ways, WhatWasThereBeforeWatchingIsKept) {
  for (int round = 0; round < 10; round++) {
    Options options = small(GetParam(), 256);
    options.protocol = round % 2 == 0 ? Protocol::ahead : Protocol::as1;
    Running pager(options, 5000);
    SKIP_IF_NOT_PERMITTED(pager);
    constexpr uint64_t kUnits = 250;
    auto* first = pager.allocate(kUnits * kUnit);
    for (uint64_t u = 0; u < kUnits; u += 2) first[u * 512] = u + 1;
    std::atomic<bool> end{false};
    std::vector<std::thread> threads;
    std::array<uint64_t, 3> done{};
    for (uint64_t t = 0; t < 3; t++)
      threads.emplace_back([&, t] {  // while the switch takes place
        std::mt19937_64 random(t);
        while (!end) {
          std::atomic_ref(first[random() % kUnits * 512 + 1]).fetch_add(1);
          done[t]++;
        }
      });
    auto* second = pager.allocate(1000 * kUnit);
    for (uint64_t u = 0; u < 1000; u++) second[u * 512] = u;
    end = true;
    for (std::thread& t : threads) t.join();
    uint64_t sum = 0;
    for (uint64_t u = 0; u < kUnits; u++) {
      ASSERT_EQ(first[u * 512], u % 2 == 0 ? u + 1 : 0);
      sum += first[u * 512 + 1];
    }
    EXPECT_EQ(sum, done[0] + done[1] + done[2]);
    for (uint64_t u = 0; u < 1000; u++) ASSERT_EQ(second[u * 512], u);
  }
}

// What a signal's handler touches may be elsewhere, and its thread may wait in a fault already.
uint64_t* of_the_handler = nullptr;
std::atomic<uint64_t> handled{0};
std::atomic<bool> storming{false};
constexpr itimerval kStorm = {{0, 0}, {0, 100}};

TEST_P(Ways, SignalsInStorms) {
  Running pager(small(GetParam()), 4000);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(512 * kUnit);
  of_the_handler = pager.allocate(200 * kUnit);
  handled = 0;
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {
    // Every tenth time, and elsewhere: a handler that takes longer than its timer leaves nothing for the
    // program.
    const uint64_t n = handled.fetch_add(1);
    if (n % 10 == 0) std::atomic_ref(of_the_handler[n / 10 * 37 % 200 * 512]).fetch_add(1);
    // The next one counts from here: on a crowded machine handlers would leave the program nothing.
    if (storming) setitimer(ITIMER_REAL, &kStorm, nullptr);
  };
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  storming = true;
  ASSERT_EQ(setitimer(ITIMER_REAL, &kStorm, nullptr), 0);
  hammer(words, 512, 3, increments(300'000));
  storming = false;
  usleep(20'000);  // the last one is over, too
  sigaction(SIGALRM, &before, nullptr);
  uint64_t sum = 0;
  for (uint64_t u = 0; u < 200; u++) sum += of_the_handler[u * 512];
  EXPECT_EQ(sum, (handled.load() + 9) / 10);
  EXPECT_GT(handled.load(), 100u);
}

// Of a child that runs `work`: its status.
int child(const std::function<void()>& work) {
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(20);  // a child that hangs
    work();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}
bool segfaulted(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

TEST_P(Ways, AChildOfForkHasNoClusterMemory) {
  Running pager(small(GetParam()), 4000);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(512 * kUnit);
  for (uint64_t u = 0; u < 512; u++) words[u * 512] = u;
  std::atomic<bool> end{false};
  std::thread other([&] {  // the parent goes on meanwhile
    std::mt19937_64 random(1);
    while (!end) std::atomic_ref(words[random() % 512 * 512 + 1]).fetch_add(1);
  });
  for (int i = 0; i < 5; i++) {
    EXPECT_TRUE(segfaulted(child([&] {
      if (const_cast<volatile uint64_t&>(words[i * 512]) == 1) _exit(1);
    })));
    EXPECT_TRUE(segfaulted(child([&] { const_cast<volatile uint64_t&>(words[511 * 512]) = 1; })));
    EXPECT_EQ(child([] {}), 0);
    const int status = child([] { execl("/bin/true", "true", nullptr); });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  end = true;
  other.join();
  for (uint64_t u = 0; u < 512; u++) ASSERT_EQ(words[u * 512], u);
}

TEST_P(Ways, AChildFromBeforeWatchingKeepsItsCopy) {
  Running pager(small(GetParam()), 4000);
  SKIP_IF_NOT_PERMITTED(pager);
  if (GetParam() == Faults::signal) GTEST_SKIP() << "watched from the beginning";
  auto* words = pager.allocate(100 * kUnit);
  for (uint64_t u = 0; u < 100; u++) words[u * 512] = u + 1;
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    close(gate[1]);
    char c;
    while (read(gate[0], &c, 1) > 0) {
    }
    for (uint64_t u = 0; u < 100; u++)
      if (words[u * 512] != u + 1) _exit(1);
    _exit(0);
  }
  close(gate[0]);
  auto* more = pager.allocate(1000 * kUnit);  // pages that both have cannot move
  for (uint64_t u = 0; u < 1000; u++) more[u * 512] = u;
  for (uint64_t u = 0; u < 100; u++) {
    ASSERT_EQ(words[u * 512], u + 1);
    words[u * 512] = 0;
  }
  close(gate[1]);
  int status = 1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

// In a child of its own, which makes its own pager and then does something wrong.
int alone(Faults way, const std::function<void(Running&, uint64_t*)>& work) {
  return child([&] {
    Running pager(small(way), 4000);
    if (!pager.status().ok()) _exit(77);
    auto* words = pager.allocate(512 * kUnit);
    for (uint64_t u = 0; u < 512; u++) words[u * 512] = u;
    work(pager, words);
    _exit(0);
  });
}
#define SKIP_IF_77(status) \
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "not permitted here"

volatile uint64_t* null = nullptr;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
[[gnu::noinline]] int deeper(volatile int* above) {
  volatile int here[1000];
  here[0] = above[0] + 1;
  return deeper(here) + here[0];
}
#pragma GCC diagnostic pop

TEST_P(Ways, ARealNullPointerIsASegmentationFault) {
  const int status = alone(GetParam(), [](Running&, uint64_t*) { *null = 1; });
  SKIP_IF_77(status);
  EXPECT_TRUE(segfaulted(status)) << status;
}

TEST_P(Ways, AStackOverflowIsASegmentationFault) {
  const int status = alone(GetParam(), [](Running&, uint64_t*) {
    volatile int zero = 0;
    deeper(&zero);
  });
  SKIP_IF_77(status);
  EXPECT_TRUE(segfaulted(status)) << status;
}

TEST_P(Ways, FreedMemoryIsASegmentationFault) {
  const int status = alone(GetParam(), [](Running& pager, uint64_t* words) {
    EXPECT_TRUE(pager->free(words).ok());
    const_cast<volatile uint64_t&>(words[300 * 512]) = 1;
  });
  SKIP_IF_77(status);
  EXPECT_TRUE(segfaulted(status)) << status;
}

TEST_P(Ways, ASegmentationFaultThatIsSentKills) {
  const int status = alone(GetParam(), [](Running&, uint64_t*) {
    kill(getpid(), SIGSEGV);
    sleep(1);
  });
  SKIP_IF_77(status);
  EXPECT_TRUE(segfaulted(status)) << status;
}

TEST_P(Ways, AHandlerOfTheProgramsOwnIsCalled) {
  for (const bool with_info : {false, true}) {
    const int status = child([&] {
      struct sigaction action = {};
      if (with_info) {
        action.sa_sigaction = [](int, siginfo_t* info, void*) { _exit(info->si_addr == nullptr ? 42 : 1); };
        action.sa_flags = SA_SIGINFO;
      } else {
        action.sa_handler = [](int) { _exit(42); };
      }
      sigaction(SIGSEGV, &action, nullptr);
      Running pager(small(GetParam()), 4000);
      if (!pager.status().ok()) _exit(77);
      auto* words = pager.allocate(512 * kUnit);
      hammer(words, 512, 2, 20'000);
      *null = 1;
    });
    SKIP_IF_77(status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
  }
}

TEST_P(Ways, TwoPagersInOneProcess) {
  Running one(small(GetParam()), 4000);
  SKIP_IF_NOT_PERMITTED(one);
  Running two(small(GetParam()), 4000, false);
  if (GetParam() == Faults::signal || GetParam() == Faults::userfault_sigbus) {
    EXPECT_EQ(two.status().err(), EBUSY) << "a process has one handler";
    hammer(one.allocate(512 * kUnit), 512, 2, 50'000);  // the first one goes on
    return;
  }
  SKIP_IF_NOT_PERMITTED(two);
  auto* a = one.allocate(512 * kUnit);
  auto* b = two.allocate(512 * kUnit);
  std::thread other([&] { hammer(a, 512, 2, 50'000); });
  hammer(b, 512, 2, 50'000);
  other.join();
  EXPECT_FALSE(one->touches(b, 1));
  EXPECT_FALSE(two->touches(a, 1));
}

TEST_P(Ways, OneAfterTheOther) {
  for (int i = 0; i < 5; i++) {
    Running pager(small(GetParam()), 4000);
    SKIP_IF_NOT_PERMITTED(pager);
    hammer(pager.allocate(512 * kUnit), 512, 2, 10'000);
  }
}

TEST_P(Ways, ManyThreadsInFaultsAtOnce) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::as2}) {
    Options options = small(GetParam(), 64);
    options.protocol = protocol;
    Running pager(options, 4000, false);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(1000 * kUnit);
    hammer(words, 1000, 64, 200'000);
    EXPECT_GE(pager->thread_stats().size(), 64u);
  }
}

// With SIGSEGV threads in faults share 512 places to wait in, which change hands before everybody has looked.
TEST(Pager, MoreThreadsInFaultsThanPlacesToWait) {
  Options options = small(Faults::signal, 64);
  options.page_bytes = kUnit;
  options.prefetch = Prefetch::off;
  Running pager(options, 8000);
  SKIP_IF_NOT_PERMITTED(pager);
  constexpr uint64_t kUnits = 2000, kThreads = 900, kEach = 40;
  auto* words = pager.allocate(kUnits * kUnit);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; t++)
    threads.emplace_back([=] {
      std::mt19937_64 random(t);
      for (uint64_t i = 0; i < kEach; i++) std::atomic_ref(words[random() % kUnits * 512]).fetch_add(1);
    });
  for (std::thread& t : threads) t.join();
  uint64_t sum = 0;
  for (uint64_t u = 0; u < kUnits; u++) sum += words[u * 512];
  EXPECT_EQ(sum, kThreads * kEach);
}

TEST(Pager, AThreadThatServesItselfAllocatesNothing) {
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
      auto* words = pager.allocate(1000 * kUnit);
      g_allocated_in_handlers = g_handlers = 0;
      for (int pass = 0; pass < 3; pass++)
        for (uint64_t u = 0; u < 1000; u++) words[u * 512] += u;
      for (uint64_t u = 0; u < 1000; u++) EXPECT_EQ(std::exchange(words[u * 512], 0), 3 * u);
      hammer(words, 1000, 4, 100'000);
      EXPECT_GT(g_handlers, 500u);
      EXPECT_EQ(g_allocated_in_handlers, 0u);
    }
  }
}

// Small pages that are only read leave without a transfer, in the memory that they are to use.
TEST(Pager, PagesThatAreOnlyReadAreDroppedTogether) {
  if (!os::Scattered::open().ok()) GTEST_SKIP() << "not in this kernel";
  constexpr uint64_t kUnits = 8000;
  Options options = small(Faults::userfault_sigbus, 1000);
  options.page_bytes = kUnit;
  options.prefetch = Prefetch::off;
  Running pager(options, kUnits);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(kUnits * kUnit);
  for (uint64_t u = 0; u < kUnits; u++) words[u * 512] = u;
  for (uint64_t u = 0; u < kUnits; u++) ASSERT_EQ(words[u * 512], u);  // now the store has all of them
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
        ASSERT_EQ(words[u * 512], u);
      }
    });
  for (std::thread& t : threads) t.join();
  const Stats read = pager->stats();
  EXPECT_GE(read.drops - written.drops, 40'000u);
  EXPECT_LE(read.swaps_out - written.swaps_out, 1000u) << "those that were written before";
  EXPECT_LE(resident(), before + 300);
}

// Threads that come to read and to write the same pages while these are put in place and dropped.
TEST(Pager, ReadersAndWritersMeetInPagesThatCome) {
  for (const Copies copies : {Copies::cache, Copies::exclusive}) {
    constexpr uint64_t kUnits = 400, kThreads = 6;
    Options options = small(Faults::userfault_sigbus, 64);
    options.page_bytes = kUnit;
    options.prefetch = Prefetch::off;
    options.copies = copies;
    Running pager(options, kUnits + 64);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(kUnits * kUnit);
    for (uint64_t u = 0; u < kUnits; u++) words[u * 512] = 0;
    std::atomic<uint64_t> added{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; t++)
      threads.emplace_back([&, t] {
        std::mt19937_64 random(7);  // all of them walk over the same pages
        std::mt19937_64 mine(t);
        std::vector<uint64_t> seen(kUnits);
        for (int i = 0; i < 20'000; i++) {
          const uint64_t u = random() % kUnits;
          std::atomic_ref word(words[u * 512]);
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
    for (uint64_t u = 0; u < kUnits; u++) sum += words[u * 512];
    EXPECT_EQ(sum, added.load());
  }
}

// However the page leaves after that.
TEST(Pager, WhatTheProgramDiscardsOfAPageThatItHasReadStaysZero) {
  constexpr uint64_t kUnits = 2000;
  Options options = small(Faults::userfault_sigbus, 256);
  options.page_bytes = kUnit;
  options.prefetch = Prefetch::off;
  Running pager(options, kUnits);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(kUnits * kUnit);
  const auto pass = [&](uint64_t from) {
    uint64_t sum = 0;
    for (uint64_t u = from; u < kUnits; u++) sum += words[u * 512];
    return sum;
  };
  for (uint64_t u = 0; u < kUnits; u++) words[u * 512] = 7;
  for (uint64_t u = 0; u < 50; u++) {
    ASSERT_EQ(pass(1000), 7000u);
    uint64_t* const word = words + u * 512;
    ASSERT_EQ(*word, 7u);
    ASSERT_EQ(madvise(word, kUnit, MADV_DONTNEED), 0);
    const bool leaves_alone = u % 2 == 0;
    ASSERT_TRUE(pager->advise(word, kUnit, leaves_alone ? Advice::done_with : Advice::normal).ok());
    ASSERT_EQ(*word, 0u);
    ASSERT_EQ(pass(1000), 7000u);
    ASSERT_EQ(*word, 0u) << "its old contents have come back";
  }
}

// Phases of small and of large pages, and allocations that come and go: the pager's own mappings do not grow.
TEST(Pager, BuffersAreUsedAgain) {
  for (const Faults faults : {Faults::userfault_sigbus, Faults::userfault_user_mode}) {
    constexpr uint64_t kUnits = 8000;
    Running pager(small(faults, 2000), 3 * kUnits);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(kUnits * kUnit);
    for (uint64_t u = 0; u < kUnits; u++) words[u * 512] = u;
    std::mt19937_64 random(1);
    size_t before = 0;
    for (int cycle = 0; cycle < 8; cycle++) {
      for (int i = 0; i < 5000; i++) {
        const uint64_t u = random() % kUnits;
        ASSERT_EQ(words[u * 512], u);
      }
      Result<void*> got = pager->allocate(kUnits * kUnit, 1, 64 * kUnit);
      ASSERT_TRUE(got.ok()) << got.status().message();
      auto* large = static_cast<uint64_t*>(got.value());
      for (uint64_t u = 0; u < kUnits; u++) large[u * 512] = u;
      for (uint64_t u = 0; u < kUnits; u++) ASSERT_EQ(large[u * 512], u);
      ASSERT_TRUE(pager->free(large).ok());
      if (cycle == 2) before = os::count_mappings();
    }
    EXPECT_LE(os::count_mappings(), before + 4);
  }
}

// A thread that serves its fault on a small alternate stack uses no byte below it.
TEST(Pager, EightKiBOfAlternateStackAreEnough) {
  Options options = small(Faults::userfault_sigbus, 256);
  options.page_bytes = kUnit;
  options.prefetch = Prefetch::off;
  Running pager(options, 4000);
  SKIP_IF_NOT_PERMITTED(pager);
  constexpr size_t kStack = 8192, kMargin = 1536;  // what a processor with wider registers saves
  auto* words = pager.allocate(2000 * kUnit);
  for (uint64_t u = 0; u < 2000; u++) words[u * 512] = u;
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
    EXPECT_EQ(words[u * 512], u);
    if (i % 4 == 0) words[u * 512] = u;
  }
  ASSERT_EQ(sigaltstack(&previous, nullptr), 0);
  size_t untouched = 0;
  while (untouched < 2 * kStack && memory[untouched] == std::byte{0x5a}) untouched++;
  EXPECT_GE(untouched, kStack + kMargin);
  os::unmap(memory, 2 * kStack);
}

// Of pages that are read and then written most come writable at once.
TEST(Pager, PagesThatAreReadAndThenWrittenComeWritable) {
  Options options = small(Faults::userfault_sigbus, 256);
  options.page_bytes = kUnit;
  options.prefetch = Prefetch::off;
  Running pager(options, 4000);
  SKIP_IF_NOT_PERMITTED(pager);
  constexpr uint64_t kUnits = 2000;
  auto* words = pager.allocate(kUnits * kUnit);
  std::vector<uint64_t> expected(kUnits);
  std::mt19937_64 random(1);
  for (int i = 0; i < 40'000; i++) {
    const uint64_t u = random() % kUnits;
    ASSERT_EQ(words[u * 512], expected[u]);
    words[u * 512] = ++expected[u];
  }
  const Stats stats = pager->stats();
  EXPECT_LE(stats.write_faults, stats.faults / 5);
}

// Whether it serves itself or waits for the pager's thread.
TEST(Pager, AFaultLeavesTheSignalsThatAThreadBlocks) {
  Options options = small(Faults::userfault_sigbus);
  Running pager(options, 4000, false);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(512 * kUnit);
  sigset_t blocked, now;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, nullptr), 0);
  hammer(words, 512, 1, 20'000);
  for (uint64_t u = 0; u < 512; u++) words[u * 512] = u;
  ASSERT_EQ(pthread_sigmask(SIG_UNBLOCK, &blocked, &now), 0);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 1) << "faults leave a thread's mask as it is";
  EXPECT_EQ(sigismember(&now, SIGALRM), 0);
}

TEST_P(Ways, MoreSmallPagesThanTheSystemHasMappings) {
  Options options = small(GetParam(), 70'000);  // vm.max_map_count is usually 65530
  options.page_bytes = kUnit;
  options.prefetch = Prefetch::off;
  Running pager(options, 200'000);
  SKIP_IF_NOT_PERMITTED(pager);
  constexpr uint64_t kUnits = 200'000;
  auto* words = pager.allocate(kUnits * kUnit);
  std::mt19937_64 random(1);
  std::vector<uint32_t> expected(kUnits);
  for (int i = 0; i < 150'000; i++) {
    const uint64_t u = random() % kUnits;
    ASSERT_EQ(words[u * 512], expected[u]);
    words[u * 512] = ++expected[u];
  }
}

TEST_P(Ways, ManyAllocationsAreServedOrRefused) {
  Running pager(small(GetParam(), 64), 20'000);
  SKIP_IF_NOT_PERMITTED(pager);
  std::vector<uint64_t*> all;
  for (uint64_t i = 0; i < 6000; i++) {
    Result<void*> got = pager->allocate(2 * kUnit, 64, 0);
    if (!got.ok()) {
      EXPECT_EQ(got.status().err(), ENOMEM) << got.status().message();
      EXPECT_EQ(GetParam(), Faults::signal) << got.status().message();
      EXPECT_GE(i, 4000u);
      break;
    }
    all.push_back(static_cast<uint64_t*>(got.value()));
    *all.back() = i;
  }
  for (uint64_t i = 0; i < all.size(); i++) {
    ASSERT_EQ(*all[i], i);
    ASSERT_TRUE(pager->free(all[i]).ok());
  }
  EXPECT_TRUE(pager->allocate(2 * kUnit, 64, 0).ok());
}

TEST(Pager, OptionsAreChecked) {
  Result<std::unique_ptr<RamStore>> store = RamStore::create(kUnit, 100);
  const auto create = [&](uint64_t local, size_t page) {
    Options options;
    options.local_bytes = local;
    options.page_bytes = page;
    return Pager::create(options, store.value().get()).status();
  };
  EXPECT_EQ(create(1 << 20, 1000).err(), EINVAL);
  EXPECT_EQ(create(64 << 20, 4 << 20).err(), EINVAL);
  EXPECT_EQ(create(63 * kUnit, 0).err(), EINVAL);
  EXPECT_EQ(create(1 << 20, 1 << 20).err(), EINVAL);
  Result<std::unique_ptr<RamStore>> large = RamStore::create(65536, 100);
  Options options;
  options.local_bytes = 1 << 20;
  EXPECT_EQ(Pager::create(options, large.value().get()).status().err(), EINVAL);
}

}  // namespace
}  // namespace tasuki::pager
