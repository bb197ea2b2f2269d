// Threads that go through windows together: every part of every window once, whoever has a core.
#include "netsim/engine/windows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tasuki::netsim {
namespace {

struct Count {
  std::vector<uint64_t> of_part;  // windows that it has been worked on in
  std::vector<std::thread::id> thread_of;
  uint64_t windows = 0, wrong = 0, moved = 0;
};

// What work() writes is plain data: a thread sanitizer sees whether each window has been handed over.
Count go(uint32_t parts, uint32_t threads, bool any_thread, uint64_t most) {
  Windows windows(parts, any_thread);
  Count c{std::vector<uint64_t>(parts), std::vector<std::thread::id>(parts)};
  std::vector<uint64_t> wrong(parts), moved(parts);
  const auto work = [&](uint32_t part, uint64_t window) {
    if (c.of_part[part]++ != window) wrong[part]++;
    if (window != 0 && c.thread_of[part] != std::this_thread::get_id()) moved[part]++;
    c.thread_of[part] = std::this_thread::get_id();
  };
  const auto conclude = [&](uint64_t window) {
    c.windows++;
    for (const uint64_t n : c.of_part)
      if (n != window + 1) c.wrong++;
    return window + 1 < most;
  };
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < threads; i++) others.emplace_back([&, i] { windows.run(i, work, conclude); });
  windows.run(0, work, conclude);
  for (std::thread& t : others) t.join();
  for (uint32_t p = 0; p < parts; p++) c.wrong += wrong[p], c.moved += moved[p];
  return c;
}

TEST(Windows, EachPartOnceInEachWindow) {
  for (const bool any : {true, false})
    for (const uint32_t parts : {1u, 2u, 3u, 7u}) {
      const Count c = go(parts, parts, any, 300);
      EXPECT_EQ(c.windows, 300u) << parts;
      EXPECT_EQ(c.wrong, 0u) << parts;
      EXPECT_TRUE(any || c.moved == 0) << "a part has gone to another thread";
    }
}

// Threads that do not come hold nobody up.
TEST(Windows, FewThreadsDoAllParts) {
  for (const uint32_t threads : {1u, 2u}) {
    const Count c = go(8, threads, true, 2000);
    EXPECT_EQ(c.windows, 2000u);
    EXPECT_EQ(c.wrong, 0u);
  }
}

// Short runs: the end finds threads that work, poll, sleep, and have not begun.
TEST(Windows, ManyShortRuns) {
  for (int i = 0; i < 300; i++) {
    const Count c = go(3, 3, i % 2 == 0, static_cast<uint64_t>(i % 7) + 1);
    ASSERT_EQ(c.windows, static_cast<uint64_t>(i % 7) + 1);
    ASSERT_EQ(c.wrong, 0u);
  }
}

TEST(Windows, StopEndsAllWhoWait) {
  Windows windows(3, false);
  std::thread one([&] {
    windows.run(
        1, [](uint32_t, uint64_t) {}, [](uint64_t) { return true; });
  });
  windows.stop();
  one.join();
}

}  // namespace
}  // namespace tasuki::netsim
