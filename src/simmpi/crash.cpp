#include "simmpi/crash.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "simmpi/rank.h"
#include "simmpi/simulation.h"

namespace tasuki::simmpi {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr size_t kSignalStack = 64 << 10, kLastStack = 256 << 10;
// Time for an orderly end. A rank may have crashed with malloc's lock in its hands: then this ends the process.
constexpr unsigned kMostSeconds = 15;

struct sigaction g_before[NSIG];

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
  }
  ~ThreadStacks() {
    if (memory == nullptr) return;
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

void handle(int signal, siginfo_t* info, void* context) {
  Task* task = running_task();
  auto* u = static_cast<ucontext_t*>(context);
  if (task == nullptr || t_stacks.memory == nullptr) {
    sigaction(signal, &g_before[signal], nullptr);  // ours is the fault: as if there were no handler
    if (signal == SIGABRT) raise(signal);
    return;
  }
  alarm(kMostSeconds);
  t_stacks.crash = {signal, info->si_addr, reinterpret_cast<const void*>(u->uc_mcontext.gregs[REG_RIP])};
  const uintptr_t top = reinterpret_cast<uintptr_t>(t_stacks.memory) + kSignalStack + kLastStack;
  u->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>((top & ~uintptr_t{15}) - 8);
  u->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&end_crashed);
}

}  // namespace

CrashHandlers::CrashHandlers() {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int s : kSignals) sigaction(s, &action, &g_before[s]);
}

CrashHandlers::~CrashHandlers() {
  for (const int s : kSignals) sigaction(s, &g_before[s], nullptr);
  alarm(0);
}

void prepare_thread_for_crashes() {
  asm volatile("" ::"r"(t_stacks.memory));
}

}  // namespace tasuki::simmpi
