#include "os/process/self.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>

#include "os/raw.h"

namespace tasuki::os {
namespace {

volatile sig_atomic_t g_interrupt = 0;
volatile pid_t g_receiver = 0;
void (*volatile g_when_interrupted)() = nullptr;

void note(int number) {
  g_interrupt = number;
  if (g_receiver > 0) kill(g_receiver, number);
  if (g_when_interrupted != nullptr) g_when_interrupted();
}

__rlimit_resource kernels(Limit limit) {
  switch (limit) {
    case Limit::address_space:
      return RLIMIT_AS;
    case Limit::data:
      return RLIMIT_DATA;
    case Limit::core_files:
      return RLIMIT_CORE;
    case Limit::descriptors:
      break;
  }
  return RLIMIT_NOFILE;
}

}  // namespace

pid_t pid_of_self() {
  return getpid();
}

pid_t parent_of_self() {
  return getppid();
}

bool is_root() {
  return geteuid() == 0;
}

uint64_t host_number() {
  return static_cast<uint64_t>(gethostid());
}

void AnonymousMemory::open() {
  fd_ = moved_out_of_the_way(Fd(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)));
}

uint64_t AnonymousMemory::now() const {
  char text[128] = {};
  const ssize_t length = fd_.valid() ? pread(fd_.get(), text, sizeof text - 1, 0) : 0;
  unsigned long long pages = 0, of_files = 0;
  if (length <= 0 || sscanf(text, "%*s %llu %llu", &pages, &of_files) != 2 || pages < of_files) return 0;
  return (pages - of_files) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

LimitValues limit_of_self(Limit limit) {
  static_assert(RLIM_INFINITY == kUnlimited);
  rlimit values;
  if (getrlimit(kernels(limit), &values) != 0) return {};
  return {values.rlim_cur, values.rlim_max};
}

void set_limit(Limit limit, const LimitValues& values) {
  const rlimit wanted = {values.soft, values.hard};
  setrlimit(kernels(limit), &wanted);
}

void end_at_once(int exit_code) {
  raw_syscall(SYS_exit_group, exit_code);
  __builtin_unreachable();
}

void end_in(unsigned seconds) {
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  signal(SIGALRM, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
  alarm(seconds);
}

void catch_interrupts(Ignored ignored) {
  struct sigaction action {};
  action.sa_handler = note;
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (ignored == Ignored::is_caught || before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

int interrupted() {
  return g_interrupt;
}

void call_when_interrupted(void (*function)()) {
  g_when_interrupted = function;
}

void pass_interrupts_to(pid_t process) {
  g_receiver = process;
  if (process > 0 && g_interrupt != 0) kill(process, g_interrupt);  // came before
}

void ignore_broken_pipes() {
  signal(SIGPIPE, SIG_IGN);
}

}  // namespace tasuki::os
