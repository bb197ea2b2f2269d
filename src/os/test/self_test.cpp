#include "os/process/self.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "os/process/command.h"
#include "os/process/cpu.h"
#include "os/process/environment.h"
#include "os/process/machine.h"
#include "os/process/thread.h"

namespace tasuki::os {
namespace {

TEST(Self, LimitsAreReadAndSet) {
  const LimitValues before = limit_of_self(Limit::descriptors);
  ASSERT_GT(before.soft, 16u);
  set_limit(Limit::descriptors, {before.soft - 1, before.hard});
  EXPECT_EQ(limit_of_self(Limit::descriptors).soft, before.soft - 1);
  EXPECT_EQ(limit_of_self(Limit::descriptors).hard, before.hard);
  set_limit(Limit::descriptors, before);
  EXPECT_EQ(limit_of_self(Limit::descriptors).soft, before.soft);
}

TEST(Self, InterruptsAreMarkedAndNothingElseHappens) {
  EXPECT_EXIT(
      {
        signal(SIGHUP, SIG_IGN);
        catch_interrupts(Ignored::stays);
        ignore_broken_pipes();
        raise(SIGHUP);
        const bool none = interrupted() == 0;
        raise(SIGINT);
        const bool interrupt = interrupted() == SIGINT;
        raise(SIGPIPE);
        raise(SIGTERM);
        _exit(none && interrupt && interrupted() == SIGTERM ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Self, InterruptsGoOnToAnotherProcess) {
  EXPECT_EXIT(
      {
        signal(SIGTERM, SIG_IGN);
        catch_interrupts(Ignored::is_caught);
        Child early = std::move(start({.argv = {"sleep", "60"}, .default_signals = true}).value());
        raise(SIGTERM);
        pass_interrupts_to(early.pid());
        const bool first = early.wait().signal == SIGTERM;
        pass_interrupts_to(0);
        Child late = std::move(start({.argv = {"sleep", "60"}, .default_signals = true}).value());
        raise(SIGINT);
        const bool none = late.running() && !late.ended();
        late.end({});
        _exit(first && none && interrupted() == SIGINT ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Self, EndsEvenIfTheAlarmIsBlockedAndIgnored) {
  EXPECT_EXIT(
      {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, nullptr);
        signal(SIGALRM, SIG_IGN);
        end_in(1);
        for (;;) pause();
      },
      testing::KilledBySignal(SIGALRM), "");
}

TEST(Self, TheEnvironmentIsLibcs) {
  setenv("TASUKI_SELF_TEST", "here", 1);
  bool found = false;
  for (char** entry = environment_block(); *entry != nullptr; entry++)
    found = found || std::string(*entry) == "TASUKI_SELF_TEST=here";
  EXPECT_TRUE(found);
  unsetenv("TASUKI_SELF_TEST");
}

TEST(Cpu, SetsOfCores) {
  CpuSet set{};
  for (const int core : {0, 63, 64, CpuSet::kMaxCores - 1}) set.add(core);
  EXPECT_EQ(count_cores(set), 4);
  EXPECT_TRUE(set.has(63));
  EXPECT_FALSE(set.has(62));
  EXPECT_TRUE(set.has(CpuSet::kMaxCores - 1));
  CpuSet mine;
  EXPECT_GE(current_cpu_set(&mine), 1);
  EXPECT_LE(count_cores(mine), online_cores());
}

TEST(Machine, SaysWhatItIs) {
  const MachineDescription machine = describe_machine();
  EXPECT_EQ(machine.architecture, TASUKI_ARCHITECTURE);
  EXPECT_EQ(machine.cores, online_cores());
  EXPECT_GT(machine.memory_bytes, 0u);
}

TEST(Thread, CancellationWaits) {
  std::atomic<int> step{0};
  pthread_t thread;
  struct Shared {
    std::atomic<int>* step;
  } shared{&step};
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* p) -> void* {
                  std::atomic<int>& s = *static_cast<Shared*>(p)->step;
                  {
                    const NoCancellation complete;
                    s = 1;
                    while (s == 1) usleep(1000);
                    usleep(1000);  // a point at which threads are cancelled
                    s = 3;
                  }
                  for (;;) pause();
                },
                &shared),
            0);
  while (step == 0) usleep(1000);
  pthread_cancel(thread);
  step = 2;
  void* result;
  pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(step, 3);
}

}  // namespace
}  // namespace tasuki::os
