#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "os/clock.h"
#include "os/files/descriptor.h"
#include "os/memory/break.h"
#include "os/memory/mapping.h"
#include "os/process/cpu.h"
#include "os/process/futex.h"
#include "os/process/process.h"
#include "os/process/yielding.h"
#include "os/raw.h"

namespace tasuki::os {
namespace {

TEST(Futex, WakesAWaiterAndReportsTimeouts) {
  std::atomic<uint32_t> word{0};
  EXPECT_FALSE(futex_wait(&word, 0, 1'000'000));     // nobody wakes it
  EXPECT_TRUE(futex_wait(&word, 1, 1'000'000'000));  // differs: at once
  std::thread waker([&word] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    word.store(1);
    futex_wake(&word, 1);
  });
  while (word.load() == 0) EXPECT_TRUE(futex_wait(&word, 0));
  waker.join();
}

TEST(Yielding, PollsForAPartOfALostTimeSlice) {
  const auto after = &Yielding::patience_after;
  EXPECT_EQ(after(0, 300), 0);
  EXPECT_EQ(after(0, 400'000), 0) << "others that wait";
  EXPECT_EQ(after(0, 2'000'000), 1'000'000) << "somebody computes on the core";
  EXPECT_EQ(after(0, int64_t{1} << 40), 2'000'000) << "the process was stopped";
  // Half of the yields beside a busy loop return at once.
  int64_t patience = 0, least = INT64_MAX;
  for (int i = 0; i < 1000; i++) {
    patience = after(patience, i % 2 == 0 ? 2'000'000 : 300);
    least = std::min(least, patience);
  }
  EXPECT_GE(least, 150'000);
  for (int i = 0; i < 200; i++) patience = after(patience, 300);
  EXPECT_EQ(patience, 0) << "it is gone";
}

// Each is away for as long as the others poll and work.
TEST(Yielding, ThoseWhoWaitOnOneCoreDoNotKeepEachOtherPolling) {
  for (const size_t threads : {size_t{2}, size_t{3}, size_t{5}, size_t{8}}) {
    std::vector<int64_t> patience(threads, 2'000'000);
    for (int i = 0; i < 200 * static_cast<int>(threads); i++) {
      int64_t away = 0;
      for (size_t other = 1; other < threads; other++) away += patience[(i + other) % threads] + 10'000;
      int64_t& mine = patience[static_cast<size_t>(i) % threads];
      mine = Yielding::patience_after(mine, away);
    }
    for (const int64_t p : patience) EXPECT_LE(p, 1'000) << threads;
  }
}

TEST(CrowdedYielding, RemembersALostTimeSliceForAWhile) {
  const auto after = &CrowdedYielding::costly_after;
  EXPECT_EQ(after(0, 300), 0u);
  EXPECT_EQ(after(0, 1'600'000), 0u) << "64 others that polled";
  uint32_t costly = after(0, 4'000'000);
  for (int i = 0; i < 10; i++) costly = after(costly, 300);
  EXPECT_GT(costly, 0u);
  for (int i = 0; i < 10; i++) costly = after(costly, 300);
  EXPECT_EQ(costly, 0u);
}

TEST(Deadline, SaysWhatIsLeft) {
  const Deadline over(0), later(100'000), very_late(int64_t{1} << 40);
  EXPECT_TRUE(over.over());
  EXPECT_EQ(over.left_ms(), 0);
  EXPECT_FALSE(later.over());
  EXPECT_GT(later.left_ms(), 0);
  EXPECT_LE(later.left_ms(), 100'000);
  EXPECT_EQ(very_late.left_ms(), INT32_MAX);
}

TEST(Mapping, ReservationAtATakenAddressFails) {
  void* p = map_memory(page_size());
  ASSERT_NE(p, nullptr);
  static_cast<char*>(p)[0] = 1;
  EXPECT_EQ(reserve(page_size(), p), nullptr);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(static_cast<char*>(p)[0], 1);
  EXPECT_TRUE(unmap(p, page_size()));
}

TEST(Mapping, WipedPageIsZeroInAForkedChild) {
  int* p = static_cast<int*>(map_memory(page_size()));
  *p = 7;
  ASSERT_TRUE(wipe_on_fork(p, page_size()));
  const pid_t pid = fork();
  if (pid == 0) _exit(*p);
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*p, 7);
  unmap(p, page_size());
}

// In a process of its own: what some libc, or a program without one, asks of the kernel.
int move_stopped_break(bool may_move_heap) {
  std::vector<char*> blocks;
  for (int i = 0; i < 20; i++) blocks.push_back(static_cast<char*>(memset(malloc(10000), i, 10000)));
  char* const own = static_cast<char*>(sbrk(0)) - page_size();  // what was allocated from the break before
  *own = 7;
  if (!stop_the_break(may_move_heap ? HeapStart::moves : HeapStart::stays)) return 1;
  void* const before = sbrk(0);
  if (sbrk(64 * page_size()) != reinterpret_cast<void*>(-1) || errno != ENOMEM || sbrk(0) != before) return 2;
  for (const size_t bytes : {size_t{1}, page_size(), 64 * page_size()}) {
    if (!may_move_heap && bytes < page_size()) continue;  // within a page it moves, and nothing is unmapped
    if (sbrk(-static_cast<intptr_t>(bytes)) != before || *own != 7) return 3;
    const long lower = raw_syscall(SYS_brk, raw_arg(static_cast<char*>(before) - bytes));
    if (*own != 7) return 4;
    // Kernels before 6.1 do lower it, into the gap.
    if (may_move_heap && lower != raw_arg(before)) return 5;
  }
  // Where the heap begins is known; by the gap it takes more than its length to get there.
  if (may_move_heap && raw_syscall(SYS_brk, raw_arg(own - 10 * page_size())) != raw_arg(before)) return 6;
  if (*own != 7) return 7;
  for (size_t i = 0; i < blocks.size(); i++)
    if (blocks[i][9999] != static_cast<char>(i)) return 8;
  for (char* b : blocks) free(b);
  for (int i = 0; i < 2000; i++) {
    char* p = static_cast<char*>(malloc(100 * static_cast<size_t>(i)));
    if (p == nullptr) return 9;
    memset(p, i, 100 * static_cast<size_t>(i));
  }
  return 0;
}

TEST(Mapping, TheBreakStopsAndMallocGoesOn) {
  for (const bool may_move_heap : {true, false}) {
    const pid_t pid = fork();
    if (pid == 0) _exit(move_stopped_break(may_move_heap));
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0) << WEXITSTATUS(status) << (may_move_heap ? "" : " with a gap");
  }
}

TEST(Descriptor, MessagesCarryDescriptorsAndCredentials) {
  const std::string name = "tasuki.test." + std::to_string(getpid());
  Result<Fd> listener = listen_abstract(name);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  EXPECT_EQ(listen_abstract(name).status().err(), EADDRINUSE);
  Result<Fd> a = connect_abstract(name);
  ASSERT_TRUE(a.ok());
  Result<Fd> b = accept_connection(listener.value().get(), 1000);
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(peer_of(b.value().get()).value().uid, getuid());
  EXPECT_EQ(peer_of(a.value().get()).value().pid, getpid());

  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  ASSERT_TRUE(send_message(a.value().get(), "hello", 5, pipe_ends, 2).ok());
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  char text[16];
  std::vector<Fd> fds;
  Result<size_t> n = receive_message(b.value().get(), text, sizeof text, &fds);
  ASSERT_TRUE(n.ok());
  EXPECT_EQ(std::string(text, n.value()), "hello");
  ASSERT_EQ(fds.size(), 2u);
  EXPECT_EQ(write(fds[1].get(), "x", 1), 1);
  EXPECT_EQ(read(fds[0].get(), text, 1), 1);

  ASSERT_TRUE(send_message(a.value().get(), "too long for it", 15).ok());
  EXPECT_EQ(receive_message(b.value().get(), text, 4).status().err(), EMSGSIZE);
  a.value().reset();
  EXPECT_EQ(receive_message(b.value().get(), text, sizeof text).value(), 0u);
  listener.value().reset();
  EXPECT_EQ(connect_abstract(name).status().err(), ECONNREFUSED);
}

// The last words of a task's host, to a proxy that forwards a signal just then.
TEST(Descriptor, WhatWasSentBeforeTheEndArrives) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const Fd proxy(ends[0]);
  Fd host(ends[1]);
  ASSERT_TRUE(send_message(proxy.get(), "signal", 6).ok());
  ASSERT_TRUE(send_message(host.get(), "ended", 5).ok());
  host.reset();  // without having read
  char text[16];
  const Result<size_t> n = receive_message(proxy.get(), text, sizeof text);
  ASSERT_TRUE(n.ok());
  EXPECT_EQ(std::string(text, n.value()), "ended");
  EXPECT_EQ(receive_message(proxy.get(), text, sizeof text).value(), 0u);
}

TEST(Process, StartTimeAndParentComeFromProc) {
  EXPECT_EQ(parent_of(getpid()), getppid());
  EXPECT_GT(start_time_of(getpid()), 0u);
  EXPECT_GE(start_time_of(getpid()), start_time_of(getppid()));
  EXPECT_EQ(start_time_of(-5), 0u);
  EXPECT_NE(namespaces_of_self().find("mnt:["), std::string::npos);
}

TEST(Process, RunsOrSleeps) {
  EXPECT_TRUE(runs(getpid()));
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  ASSERT_GT(child, 0);
  // It runs until it has come to sleep.
  for (int i = 0; i < 1000 && runs(child); i++) usleep(10'000);
  EXPECT_FALSE(runs(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(runs(child)) << "cannot be read: who is gone holds nobody up";
}

TEST(Process, EndsLikeAnother) {
  for (const int wanted : {0, 3 << 8, 255 << 8, SIGKILL, SIGTERM, SIGSEGV, SIGABRT, SIGUSR1}) {
    const pid_t pid = fork();
    if (pid == 0) {
      block_all_signals();
      end_like(wanted);
    }
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status & ~0x80, wanted);
    EXPECT_EQ(WCOREDUMP(status), 0);
  }
}

TEST(Process, CapturesAndAppliesWhatExecKeeps) {
  const pid_t pid = fork();
  if (pid == 0) {
    umask(027);
    signal(SIGUSR1, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    Inherited s;
    capture_inherited(&s);
    umask(0);
    block_all_signals();
    apply_inherited(s);
    if (umask(0) != 027) _exit(1);
    struct sigaction action;
    sigaction(SIGUSR1, nullptr, &action);
    if (action.sa_handler != SIG_IGN) _exit(2);
    sigprocmask(SIG_BLOCK, nullptr, &set);
    if (!sigismember(&set, SIGUSR2) || sigismember(&set, SIGTERM)) _exit(3);
    CpuSet now;
    if (current_cpu_set(&now) != count_cores(s.cores) || memcmp(&now, &s.cores, sizeof now) != 0) _exit(4);
    _exit(0);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

std::atomic<int> g_written{0};
void write_and_leave(void* argument) {
  static_cast<std::atomic<int>*>(argument)->store(42);
  raw_syscall(SYS_exit_group, 5);
}

TEST(Process, CloneSharesMemoryAndIsAChildOfItsOwn) {
  char* stack = static_cast<char*>(map_memory(64 * 1024));
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  std::atomic<int32_t> stored{0};
  const pid_t pid = clone_process(write_and_leave, &g_written, stack + 64 * 1024, &stored);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  ASSERT_GT(pid, 0);
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 5 << 8);
  EXPECT_EQ(stored.load(), pid);
  EXPECT_EQ(g_written.load(), 42);
  unmap(stack, 64 * 1024);
}

}  // namespace
}  // namespace tasuki::os
