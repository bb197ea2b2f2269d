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
#include <functional>
#include <random>
#include <thread>
#include <utility>

#include "pager/test/running_pager.h"

namespace tasuki::pager {
namespace {

constexpr Faults kWays[] = {Faults::userfault, Faults::userfault_user_mode, Faults::signal,
                            Faults::userfault_copy, Faults::userfault_sigbus};

const char* name_of(Faults way) {
  static constexpr const char* kNames[] = {"automatic", "userfault", "user_mode", "signal", "copy", "sigbus"};
  return kNames[static_cast<int>(way)];
}

uint64_t increments(uint64_t usual) {
  const char* wanted = getenv("TASUKI_TEST_INCREMENTS");
  return wanted == nullptr ? usual : strtoull(wanted, nullptr, 10);
}

using Combination = std::tuple<Faults, Protocol, size_t>;
class Hammer : public ::testing::TestWithParam<Combination> {};

TEST_P(Hammer, NoUpdateIsLost) {
  const auto& [way, protocol, units] = GetParam();
  const bool usual = protocol == Protocol::ahead && units == 0;
  for (const bool direct : {true, false}) {
    Options options = small(way);
    options.protocol = protocol;
    options.page_bytes = units * unit_size();
    Running pager(options, 4000, direct);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(512 * unit_size());
    hammer(words, 512, 4, increments(usual ? 1'000'000 : 100'000));
    EXPECT_GT(pager->stats().swaps_out, 0u);
    EXPECT_LE(pager->stats().resident_bytes, options.local_bytes);
    EXPECT_TRUE(pager->free(words).ok());
  }
}

std::string hammer_name(const ::testing::TestParamInfo<Combination>& test) {
  static constexpr const char* kProtocols[] = {"ahead", "cs", "cross", "as1", "as2"};
  const auto& [way, protocol, units] = test.param;
  return std::string(name_of(way)) + "_" + kProtocols[static_cast<int>(protocol)] + "_" +
         std::to_string(units) + "_units";
}
INSTANTIATE_TEST_SUITE_P(All, Hammer,
                         ::testing::Combine(::testing::ValuesIn(kWays),
                                            ::testing::Values(Protocol::ahead, Protocol::cs, Protocol::cross,
                                                              Protocol::as1, Protocol::as2),
                                            ::testing::Values(0, 1, 4, 16)),
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
    auto* at = pager.allocate<std::byte>(kUnits * unit_size());
    std::vector<uint64_t> expected(kUnits);
    std::mt19937_64 random(1);
    for (int i = 0; i < 20'000; i++) {
      const uint64_t unit = random() % kUnits;
      auto* word = reinterpret_cast<uint64_t*>(at + unit * unit_size());
      ASSERT_EQ(*word, expected[unit]) << "unit " << unit << " step " << i;
      if (random() % 8 == 0) {
        // So that it is here: of a page that is elsewhere there is nothing to discard.
        const uint64_t before = random() % 2 == 0 ? *word : (*word = 1);
        // A page must not be discarded while it is sent from where it is; see copy_mapper.cpp.
        const bool held = GetParam() == Faults::userfault_copy;
        if (held) pager->pin(word, 8, true);
        ASSERT_EQ(madvise(at + unit * unit_size(), unit_size(), MADV_DONTNEED), 0);
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
          ASSERT_EQ(blocks[i].first[w * kWords], reinterpret_cast<uintptr_t>(blocks[i].first) + w);
      };
      for (int i = 0; i < 300; i++) {
        if (blocks.size() < 5) {
          const size_t units = 1 + random() % 200;
          Result<void*> got = pager->allocate(units * unit_size(), size_t{1} << random() % 22,
                                              random() % 5 * 2 * unit_size());
          ASSERT_TRUE(got.ok()) << got.status().message();
          blocks.emplace_back(static_cast<uint64_t*>(got.value()), units);
          for (size_t w = 0; w < units; w++) {
            ASSERT_EQ(blocks.back().first[w * kWords], 0u) << "new memory is not zero";
            blocks.back().first[w * kWords] = reinterpret_cast<uintptr_t>(blocks.back().first) + w;
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
    auto* words = pager.allocate(kUnits * unit_size());
    number_units(words, kUnits);
    std::atomic<bool> end{false};
    std::thread other([&] {
      std::mt19937_64 random(2);
      while (!end) std::atomic_ref(words[random() % kUnits * kWords + 1]).fetch_add(1);
    });
    std::mt19937_64 random(1);
    for (int i = 0; i < 400; i++) {
      const uint64_t first = random() % kUnits,
                     count = 1 + random() % std::min<uint64_t>(kUnits - first, 100);
      const auto advice = static_cast<Advice>(random() % 6);
      const Status status = pager->advise(words + first * kWords, count * unit_size(), advice);
      ASSERT_TRUE(status.ok() || status.err() == ENOMEM) << status.message();
      for (uint64_t u = first; u < first + count; u++) ASSERT_EQ(words[u * kWords], u);
      if (advice == Advice::keep_local) {
        ASSERT_TRUE(pager->advise(words, kUnits * unit_size(), Advice::normal).ok());
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
  auto* bytes = pager.allocate<std::byte>(kUnits * unit_size());
  std::atomic<bool> end{false};
  std::thread other([&] {
    std::mt19937_64 random(2);
    while (!end)
      const_cast<volatile std::byte&>(bytes[random() % kUnits * unit_size() + 4000]) = std::byte{1};
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
    std::byte* from = bytes + random() % (kUnits / 2 - 4) * unit_size();
    std::byte* to = bytes + (kUnits / 2 + random() % (kUnits / 2 - 4)) * unit_size();
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
    auto* first = pager.allocate(kUnits * unit_size());
    for (uint64_t u = 0; u < kUnits; u += 2) first[u * kWords] = u + 1;
    std::atomic<bool> end{false};
    std::vector<std::thread> threads;
    std::array<uint64_t, 3> done{};
    for (uint64_t t = 0; t < 3; t++)
      threads.emplace_back([&, t] {  // while the switch takes place
        std::mt19937_64 random(t);
        while (!end) {
          std::atomic_ref(first[random() % kUnits * kWords + 1]).fetch_add(1);
          done[t]++;
        }
      });
    auto* second = pager.allocate(1000 * unit_size());
    for (uint64_t u = 0; u < 1000; u++) second[u * kWords] = u;
    end = true;
    for (std::thread& t : threads) t.join();
    uint64_t sum = 0;
    for (uint64_t u = 0; u < kUnits; u++) {
      ASSERT_EQ(first[u * kWords], u % 2 == 0 ? u + 1 : 0);
      sum += first[u * kWords + 1];
    }
    EXPECT_EQ(sum, done[0] + done[1] + done[2]);
    for (uint64_t u = 0; u < 1000; u++) ASSERT_EQ(second[u * kWords], u);
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
  auto* words = pager.allocate(512 * unit_size());
  of_the_handler = pager.allocate(200 * unit_size());
  handled = 0;
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {
    // Every tenth time, and elsewhere: a handler that takes longer than its timer leaves nothing for the
    // program.
    const uint64_t n = handled.fetch_add(1);
    if (n % 10 == 0) std::atomic_ref(of_the_handler[n / 10 * 37 % 200 * kWords]).fetch_add(1);
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
  for (uint64_t u = 0; u < 200; u++) sum += of_the_handler[u * kWords];
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

// Random pieces are discarded while others are read and written: zeros there, and nowhere else.
TEST_P(Ways, WhatIsDiscardedIsZero) {
  constexpr uint64_t kUnits = 1500;
  Running pager(small(GetParam()), 3000);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* const bytes = pager.allocate<uint8_t>(kUnits * unit_size());
  std::vector<uint8_t> model(kUnits * unit_size(), 0);
  std::mt19937_64 random(3);
  EXPECT_EQ(pager->discard(bytes, kUnits * unit_size() + 1).err(), EINVAL);
  for (int round = 0; round < 300; round++) {
    const size_t at = random() % model.size(), most = round % 10 == 0 ? 400 * unit_size() : 20 * unit_size();
    const size_t length = std::min(random() % most, model.size() - at);
    if (round % 3 == 0) {
      ASSERT_TRUE(pager->discard(bytes + at, length).ok());
      std::fill_n(model.begin() + static_cast<ptrdiff_t>(at), length, 0);
    } else if (round % 3 == 1) {
      for (size_t i = at; i < at + length; i++) bytes[i] = model[i] = static_cast<uint8_t>(random() | 1);
    } else {
      ASSERT_EQ(memcmp(bytes + at, model.data() + at, length), 0) << round;
    }
  }
  ASSERT_EQ(memcmp(bytes, model.data(), model.size()), 0);
  EXPECT_TRUE(pager->free(bytes).ok());
}

TEST_P(Ways, DiscardingMovesNothing) {
  constexpr uint64_t kUnits = 1000;
  Running pager(small(GetParam()), kUnits);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* const words = pager.allocate(kUnits * unit_size());
  for (int round = 0; round < 5; round++) {
    number_units(words, kUnits);
    const Stats before = pager->stats();
    ASSERT_TRUE(pager->discard(words, kUnits * unit_size()).ok());
    const Stats after = pager->stats();
    EXPECT_EQ(after.bytes_in, before.bytes_in);
    EXPECT_LE(after.bytes_out, before.bytes_out + 64 * unit_size());  // what was on its way
    EXPECT_EQ(after.resident_bytes, 0u);
    for (uint64_t u = 0; u < kUnits; u++) ASSERT_EQ(words[u * kWords], 0u);
  }
  // Everything that it took is free again.
  ASSERT_TRUE(pager->free(words).ok());
  number_units(pager.allocate(kUnits * unit_size()), kUnits);
}

// A round of a little less than all that may be local: after a few rounds nothing leaves any more.
TEST_P(Ways, WhoGoesRoundInWhatIsLocalSendsLittle) {
  constexpr uint64_t kUnits = 3000, kLocal = 1024, kRound = 980;
  Running pager(single_units(GetParam(), kLocal), 2 * kUnits, false);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* const words = pager.allocate(kUnits * unit_size());
  number_units(words, kUnits);
  for (uint64_t round = 1; round <= 40; round++)
    for (uint64_t u = 0; u < kRound; u++) words[u * unit_size() / 8] += round;
  EXPECT_LT(pager->stats().swaps_out, 15'000u);  // of 39,200 writes
  for (uint64_t u = 0; u < kUnits; u++) ASSERT_EQ(words[u * unit_size() / 8], u + (u < kRound ? 820 : 0));
  EXPECT_TRUE(pager->free(words).ok());
}

// Other threads fault in their parts of the same pages meanwhile.
TEST_P(Ways, DiscardingBesideOtherThreads) {
  constexpr uint64_t kUnits = 800;
  Running pager(small(GetParam()), 2000);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* const words = pager.allocate(kUnits * unit_size());
  std::atomic<bool> end{false};
  std::thread other([&] {
    std::mt19937_64 random(1);
    std::vector<uint64_t> mine(kUnits, 0);
    while (!end) {
      const uint64_t unit = random() % kUnits / 2 * 2;
      ASSERT_EQ(std::atomic_ref(words[unit * kWords + 7]).fetch_add(1), mine[unit]++);
    }
  });
  std::mt19937_64 random(2);
  for (int round = 0; round < 3000; round++) {
    const uint64_t unit = random() % kUnits / 2 * 2 + 1;
    words[unit * kWords + 9] = unit;
    ASSERT_TRUE(pager->discard(words + unit * kWords, unit_size()).ok());
    ASSERT_EQ(words[unit * kWords + 9], 0u);
  }
  end = true;
  other.join();
}

TEST_P(Ways, AChildOfWhichNobodySpokeHasNoClusterMemory) {
  Running pager(small(GetParam()), 4000);
  SKIP_IF_NOT_PERMITTED(pager);
  auto* words = pager.allocate(512 * unit_size());
  number_units(words, 512);
  std::atomic<bool> end{false};
  std::thread other([&] {  // the parent goes on meanwhile
    std::mt19937_64 random(1);
    while (!end) std::atomic_ref(words[random() % 512 * kWords + 1]).fetch_add(1);
  });
  for (int i = 0; i < 5; i++) {
    EXPECT_TRUE(segfaulted(child([&] {
      if (const_cast<volatile uint64_t&>(words[i * kWords]) == 1) _exit(1);
    })));
    EXPECT_TRUE(segfaulted(child([&] { const_cast<volatile uint64_t&>(words[511 * kWords]) = 1; })));
    EXPECT_EQ(child([] {}), 0);
    const int status = child([] { execl("/bin/true", "true", nullptr); });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  end = true;
  other.join();
  for (uint64_t u = 0; u < 512; u++) ASSERT_EQ(words[u * kWords], u);
}

TEST_P(Ways, AChildFromBeforeWatchingKeepsItsCopy) {
  Running pager(small(GetParam()), 4000);
  SKIP_IF_NOT_PERMITTED(pager);
  if (GetParam() == Faults::signal) GTEST_SKIP() << "watched from the beginning";
  auto* words = pager.allocate(100 * unit_size());
  for (uint64_t u = 0; u < 100; u++) words[u * kWords] = u + 1;
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
      if (words[u * kWords] != u + 1) _exit(1);
    _exit(0);
  }
  close(gate[0]);
  auto* more = pager.allocate(1000 * unit_size());  // pages that both have cannot move
  for (uint64_t u = 0; u < 1000; u++) more[u * kWords] = u;
  for (uint64_t u = 0; u < 100; u++) {
    ASSERT_EQ(words[u * kWords], u + 1);
    words[u * kWords] = 0;
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
    auto* words = pager.allocate(512 * unit_size());
    number_units(words, 512);
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
    const_cast<volatile uint64_t&>(words[300 * kWords]) = 1;
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
      auto* words = pager.allocate(512 * unit_size());
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
    hammer(one.allocate(512 * unit_size()), 512, 2, 50'000);  // the first one goes on
    return;
  }
  SKIP_IF_NOT_PERMITTED(two);
  auto* a = one.allocate(512 * unit_size());
  auto* b = two.allocate(512 * unit_size());
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
    hammer(pager.allocate(512 * unit_size()), 512, 2, 10'000);
  }
}

TEST_P(Ways, ManyThreadsInFaultsAtOnce) {
  for (const Protocol protocol : {Protocol::ahead, Protocol::as2}) {
    Options options = small(GetParam(), 64);
    options.protocol = protocol;
    Running pager(options, 4000, false);
    SKIP_IF_NOT_PERMITTED(pager);
    auto* words = pager.allocate(1000 * unit_size());
    hammer(words, 1000, 64, 200'000);
    EXPECT_GE(pager->thread_stats().size(), 64u);
  }
}

// With SIGSEGV threads in faults share 512 places to wait in, which change hands before everybody has looked.
TEST(Pager, MoreThreadsInFaultsThanPlacesToWait) {
  Options options = single_units(Faults::signal, 64);
  Running pager(options, 8000);
  SKIP_IF_NOT_PERMITTED(pager);
  constexpr uint64_t kUnits = 2000, kThreads = 900, kEach = 40;
  auto* words = pager.allocate(kUnits * unit_size());
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; t++)
    threads.emplace_back([=] {
      std::mt19937_64 random(t);
      for (uint64_t i = 0; i < kEach; i++) std::atomic_ref(words[random() % kUnits * kWords]).fetch_add(1);
    });
  for (std::thread& t : threads) t.join();
  uint64_t sum = 0;
  for (uint64_t u = 0; u < kUnits; u++) sum += words[u * kWords];
  EXPECT_EQ(sum, kThreads * kEach);
}

TEST_P(Ways, MoreSmallPagesThanTheSystemHasMappings) {
  Options options = single_units(GetParam(), 70'000);  // vm.max_map_count is usually 65530
  Running pager(options, 200'000);
  SKIP_IF_NOT_PERMITTED(pager);
  constexpr uint64_t kUnits = 200'000;
  auto* words = pager.allocate(kUnits * unit_size());
  std::mt19937_64 random(1);
  std::vector<uint32_t> expected(kUnits);
  for (int i = 0; i < 150'000; i++) {
    const uint64_t u = random() % kUnits;
    ASSERT_EQ(words[u * kWords], expected[u]);
    words[u * kWords] = ++expected[u];
  }
}

TEST_P(Ways, ManyAllocationsAreServedOrRefused) {
  Running pager(small(GetParam(), 64), 20'000);
  SKIP_IF_NOT_PERMITTED(pager);
  std::vector<uint64_t*> all;
  for (uint64_t i = 0; i < 6000; i++) {
    Result<void*> got = pager->allocate(2 * unit_size(), 64, 0);
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
  EXPECT_TRUE(pager->allocate(2 * unit_size(), 64, 0).ok());
}

TEST(Pager, OptionsAreChecked) {
  Result<std::unique_ptr<RamStore>> store = RamStore::create(unit_size(), 100);
  const auto create = [&](uint64_t local, size_t page) {
    Options options;
    options.local_bytes = local;
    options.page_bytes = page;
    return Pager::create(options, store.value().get()).status();
  };
  EXPECT_EQ(create(256 * unit_size(), 1000).err(), EINVAL);
  EXPECT_EQ(create(64 << 20, 4 << 20).err(), EINVAL);
  EXPECT_EQ(create(63 * unit_size(), 0).err(), EINVAL);
  EXPECT_EQ(create(256 * unit_size(), 256 * unit_size()).err(), EINVAL);
  Result<std::unique_ptr<RamStore>> large = RamStore::create(16 * unit_size(), 100);
  Options options;
  options.local_bytes = 256 * unit_size();
  EXPECT_EQ(Pager::create(options, large.value().get()).status().err(), EINVAL);
}

}  // namespace
}  // namespace tasuki::pager
