#include "simmpi/run/crash.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "os/clock.h"
#include "os/context.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr size_t kSignalStack = 64 << 10, kLastStack = 256 << 10;
// Time for an orderly end. A rank may have crashed with malloc's lock in its hands: then this ends the
// process.
constexpr unsigned kMostSeconds = 15;

// To a thread whose rank is to be taken off its core; nothing that programs use it for is lost, since their
// handlers are not installed.
constexpr int kTakeOff = SIGURG;

struct sigaction g_before[NSIG];

// Threads that run ranks, for kTakeOff.
std::mutex g_mutex;
std::vector<pthread_t> g_threads;

// What the process says when a crash cannot be reported in order: malloc's lock is the crashed rank's.
// Written before alarm().
char g_last_words[256];

struct Crash {
  int signal;
  const void* address;
  const void* code;
};

struct ThreadStacks {
  char* memory = nullptr;
  Crash crash{};
  ThreadStacks() {
    void* p =
        mmap(nullptr, kSignalStack + kLastStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    memory = static_cast<char*>(p);
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = kSignalStack;
    sigaltstack(&stack, nullptr);
    const std::lock_guard lock(g_mutex);
    g_threads.push_back(pthread_self());
  }
  ~ThreadStacks() {
    if (memory == nullptr) return;
    {
      const std::lock_guard lock(g_mutex);
      std::erase(g_threads, pthread_self());
    }
    stack_t stack{};
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
    munmap(memory, kSignalStack + kLastStack);
  }
};
thread_local ThreadStacks t_stacks;

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV, a bad address";
    case SIGBUS:
      return "SIGBUS, a bad address";
    case SIGFPE:
      return "SIGFPE, an integer division by zero";
    case SIGILL:
      return "SIGILL, an invalid instruction";
    default:
      return "SIGABRT";
  }
}

// On the thread's last stack, after the handler has returned: the crashed task is left for good.
void end_crashed() {
  const Crash crash = t_stacks.crash;
  Task* task = running_task();
  Rank& rank = *task->rank;
  flush_lines(&rank.output);
  if (crash.signal == kTakeOff) {
    rank.ended = true;
    rank.exit_code = 1;
    rank.simulation.note_failure(rank, 1);
    rank.node.network->fail("rank " + std::to_string(rank.number) + " " + rank.simulation.why_busy(rank));
    for (;;) suspend();
  }
  std::string why = std::string("crashed (") + name_of(crash.signal) + ")";
  char text[48];
  if (crash.signal == SIGSEGV || crash.signal == SIGBUS) {
    snprintf(text, sizeof text, " %p", crash.address);
    why += task->fiber.guards(crash.address) ? ": its stack is full (--stack)" : text;
  }
  if (const std::string place = rank.simulation.program->place(rank.loaded, crash.code); !place.empty())
    why += " at " + place;
  if (rank.call.name != nullptr) why += std::string(" in ") + rank.call.name;
  rank.exit_code = 128 + crash.signal;
  rank.ended = true;
  rank.simulation.note_failure(rank, rank.exit_code);
  rank.node.network->fail("rank " + std::to_string(rank.number) + " " + why);
  for (;;) suspend();
}

// Returning from the handler goes to end_crashed(), never back.
void leave(int signal, siginfo_t* info, void* context) {
  const Rank& rank = *running_task()->rank;
  snprintf(g_last_words, sizeof g_last_words, "tasuki: rank %u %s%s%s; the run could not be ended in order\n",
           rank.number, signal == kTakeOff ? "is busy and does not end" : name_of(signal),
           rank.call.name != nullptr ? " in " : "", rank.call.name != nullptr ? rank.call.name : "");
  alarm(kMostSeconds);
  auto* u = static_cast<ucontext_t*>(context);
  t_stacks.crash = {signal, info->si_addr, reinterpret_cast<const void*>(os::instruction_of(*u))};
  const uintptr_t top = reinterpret_cast<uintptr_t>(t_stacks.memory) + kSignalStack + kLastStack;
  os::continue_at(u, &end_crashed, top);
}

void handle(int signal, siginfo_t* info, void* context) {
  if (running_task() == nullptr || t_stacks.memory == nullptr) {
    sigaction(signal, &g_before[signal], nullptr);  // ours is the fault: as if there were no handler
    if (signal == SIGABRT) raise(signal);
    return;
  }
  leave(signal, info, context);
}

void take_off(int signal, siginfo_t* info, void* context) {
  // Between two tasks: the next timer ends the run.
  if (running_task() != nullptr && t_stacks.memory != nullptr) leave(signal, info, context);
}

void last_words(int) {
  (void)!write(STDERR_FILENO, g_last_words, strlen(g_last_words));
  _exit(128 + SIGABRT);
}

}  // namespace

CrashHandlers::CrashHandlers() {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int s : kSignals) sigaction(s, &action, &g_before[s]);
  action.sa_sigaction = take_off;
  sigaction(kTakeOff, &action, &g_before[kTakeOff]);
  g_last_words[0] = 0;
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = last_words;
  sigaction(SIGALRM, &action, &g_before[SIGALRM]);
}

CrashHandlers::~CrashHandlers() {
  alarm(0);
  for (const int s : kSignals) sigaction(s, &g_before[s], nullptr);
  for (const int s : {kTakeOff, SIGALRM}) sigaction(s, &g_before[s], nullptr);
}

Patience::Patience(Simulation& simulation) : simulation_(simulation) {
  if (simulation.options.patience_s > 0) thread_ = std::thread([this] { watch(); });
}

Patience::~Patience() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Patience::watch() {
  // More than a year is for ever, and would not fit a clock.
  const auto patience_ns = static_cast<int64_t>(std::min(simulation_.options.patience_s, 3e7) * 1e9);
  const std::chrono::nanoseconds look(std::max<int64_t>(patience_ns / 8, 10'000'000));
  std::unique_lock lock(mutex_);
  uint64_t seen = simulation_.progress_count();
  for (int64_t last = os::monotonic_ns(); !is_over_;) {
    over_.wait_for(lock, look);
    const uint64_t now = simulation_.progress_count();
    if (now != seen) {
      seen = now;
      last = os::monotonic_ns();
      continue;
    }
    if (is_over_ || os::monotonic_ns() - last < patience_ns) continue;
    simulation_.out_of_patience = true;
    // Ranks that poll come back to the network by themselves.
    if (over_.wait_for(lock, std::chrono::seconds(1), [this] { return is_over_; })) return;
    const std::lock_guard threads(g_mutex);
    for (const pthread_t t : g_threads) pthread_kill(t, kTakeOff);
  }
}

void prepare_thread_for_crashes() {
  asm volatile("" ::"r"(t_stacks.memory));
}

}  // namespace tasuki::simmpi
