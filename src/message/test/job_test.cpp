// Jobs without messages: threads play the tasks that share them.
#include "message/transfers/job.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "message/transfers/helpers.h"

namespace tasuki::message {
namespace {

std::vector<char> pattern(size_t n, unsigned seed) {
  std::vector<char> v(n);
  for (size_t i = 0; i < n; i++) v[i] = static_cast<char>((i * 2654435761u + seed * 40503u) >> 13);
  return v;
}

layout::Region dense(std::vector<char>& v) {
  return {v.data(), v.size(), layout::byte_layout()};
}

TEST(Job, EveryUnitIsClaimedOnceFromBothEnds) {
  for (const uint64_t bytes : {1, 1023, 1024, 1025, 70000, 1 << 20, 12345678}) {
    std::vector<char> memory(1);
    auto job = std::make_unique<CopyJob>();
    job->source = job->destination = {memory.data(), bytes, layout::byte_layout()};
    job->bytes = bytes;
    cut(*job, 64 << 10);
    open_job(*job);
    ASSERT_GE(job->units * job->unit_bytes, bytes);
    ASSERT_LT((job->units - 1) * job->unit_bytes, bytes);
    std::vector<int> claimed(job->units, 0);
    Claim c;
    for (int turn = 0; claim(*job, turn % 3 == 0 ? End::back : End::front, job->largest_claim, &c); turn++) {
      EXPECT_LE(c.count, job->largest_claim);
      for (uint32_t i = c.first; i < c.first + c.count; i++) claimed.at(i)++;
    }
    EXPECT_EQ(claimed, std::vector<int>(job->units, 1)) << bytes;
    EXPECT_FALSE(claim(*job, End::front, 1, &c));
  }
}

TEST(Job, UnitsAreWholeBlocks) {
  std::vector<char> memory(1 << 20);
  const layout::Layout* rows = layout::make_hvector(1000, 1000, 1040, layout::byte_layout());
  auto job = std::make_unique<CopyJob>();
  job->source = {memory.data(), 1, rows};
  job->destination = {memory.data(), 1000000, layout::byte_layout()};
  job->bytes = 1000000;
  cut(*job, 64 << 10);
  EXPECT_EQ(job->unit_bytes % 1000, 0u);
  layout::release(rows);
}

TEST(Job, LateHelpersOfAnEarlierUseDoNoHarm) {
  JobBoard board{};
  auto job = std::make_unique<CopyJob>();
  std::atomic<bool> stop{false};
  // Tasks that look at the structure all the time, announced or not: as if their pointer were from long ago.
  std::vector<std::thread> late;
  for (int i = 0; i < 3; i++)
    late.emplace_back([&, i] {
      JobBoard stale{};
      stale.open.store(1);
      stale.job[0].store(job.get());
      while (!stop.load()) help_others(stale, i % 2 ? End::front : End::back);
    });
  for (unsigned round = 0; round < 2000; round++) {
    std::vector<char> from = pattern(1 + round * 37 % 200000, round), to(from.size(), 0);
    copy_shared(board, dense(to), dense(from), from.size(), 16 << 10, *job);
    ASSERT_EQ(to, from) << round;
  }
  stop = true;
  for (std::thread& t : late) t.join();
  EXPECT_EQ(board.open.load(), 0u);
  EXPECT_EQ(board.taken.load(), 0u);
}

// Sums and copies of a part, in rows and scattered, while helpers take their share.
TEST(Job, SumsOfPartsAreThoseOfOneTask) {
  constexpr size_t kCount = 300000, kStride = 3;
  const layout::Layout* number = layout::make_hvector(1, 4, 4, layout::byte_layout());
  const layout::Layout* sparse = layout::make_resized(0, 4 * kStride, number);
  JobBoard board{};
  HelperThreads threads;
  threads.start(&board, 2);
  auto job = std::make_unique<CopyJob>();
  for (const bool scattered_to : {false, true})
    for (const bool scattered_from : {false, true})
      for (const Number sum : {Number::int32, Number::none}) {
        const size_t to_stride = scattered_to ? kStride : 1, from_stride = scattered_from ? kStride : 1;
        std::vector<int> to(kCount * to_stride, 7), from(kCount * from_stride);
        for (size_t i = 0; i < from.size(); i++) from[i] = static_cast<int>(i) - 1000;
        const std::vector<int> before = to;
        constexpr size_t kBegin = 1001, kLength = 250007;  // elements
        copy_shared(board, {reinterpret_cast<char*>(to.data()), kCount, scattered_to ? sparse : number},
                    {reinterpret_cast<char*>(from.data()), kCount, scattered_from ? sparse : number},
                    4 * kLength, 64 << 10, *job, Part{4 * kBegin, sum});
        std::vector<int> expected = before;
        for (size_t i = kBegin; i < kBegin + kLength; i++)
          expected[i * to_stride] = from[i * from_stride] + (sum == Number::none ? 0 : 7);
        ASSERT_EQ(to, expected) << scattered_to << scattered_from << static_cast<int>(sum);
      }
  threads.stop();
  layout::release(sparse);
  layout::release(number);
}

TEST(Job, HelperThreadsLeaveCoresToOthers) {
  os::CpuSet all, first{};
  if (os::current_cpu_set(&all) < 2) GTEST_SKIP() << "one core";
  for (int core = 0; os::count_cores(first) == 0; core++)
    if (all.has(core)) first.add(core);
  // Threads of this process that may not run there.
  const auto elsewhere = [&] {
    int count = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      cpu_set_t allowed;
      CPU_ZERO(&allowed);
      sched_getaffinity(std::stoi(thread.path().filename()), sizeof allowed, &allowed);
      for (int core = 0; core < CPU_SETSIZE; core++)
        if (first.has(core) && !CPU_ISSET(core, &allowed)) count++;
    }
    return count;
  };
  JobBoard board{};
  HelperThreads threads;
  threads.start(&board, 2, first);
  for (int i = 0; i < 1000 && elsewhere() < 2; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(elsewhere(), 2);
  threads.stop();
  // Those that have no other core stay.
  HelperThreads nowhere;
  nowhere.start(&board, 1, all);
  nowhere.stop();
}

TEST(Job, HelperThreadsSleepAndWake) {
  JobBoard board{};
  HelperThreads threads;
  threads.start(&board, 2);
  auto job = std::make_unique<CopyJob>();
  std::vector<char> from = pattern(8 << 20, 1), to(from.size(), 0);
  for (int round = 0; round < 2000 && threads.bytes() == 0; round++) {
    std::fill(to.begin(), to.end(), 0);
    copy_shared(board, dense(to), dense(from), from.size(), 64 << 10, *job);
    ASSERT_EQ(to, from);
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 2 ? 20 : 0));  // long enough to fall asleep
  }
  EXPECT_GT(threads.bytes(), 0u);
  threads.stop();
  EXPECT_EQ(board.sleepers.load(), 0u);
}

TEST(Job, AFullBoardIsNoError) {
  JobBoard board{};
  std::vector<std::unique_ptr<CopyJob>> jobs;
  std::vector<char> memory(4096);
  for (uint32_t i = 0; i <= JobBoard::kSlots; i++) {
    jobs.push_back(std::make_unique<CopyJob>());
    jobs.back()->source = jobs.back()->destination = dense(memory);
    jobs.back()->bytes = memory.size();
    cut(*jobs.back(), 4096);
    announce(board, *jobs.back());
  }
  EXPECT_EQ(jobs.back()->board_slot, 0u);
  for (auto& job : jobs) withdraw(board, *job);
  EXPECT_EQ(board.taken.load(), 0u);
}

}  // namespace
}  // namespace tasuki::message
