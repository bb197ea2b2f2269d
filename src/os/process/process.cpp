#include "os/process/process.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "os/files/text_file.h"
#include "os/raw.h"

namespace tasuki::os {
namespace {

// The kernel's struct sigaction; libc's differs.
struct KernelSigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

constexpr int kSignals = 64;
constexpr size_t kSignalSetBytes = 8;

std::string read_proc(pid_t pid, const char* file) {
  return file_or_empty("/proc/" + std::to_string(pid) + "/" + file);
}

// Field `index` of a stat file, counted as in proc(5) from 1; fields after the name only.
std::string field_of(const std::string& text, int index) {
  size_t at = text.rfind(')');  // the name may hold blanks and parentheses
  if (at == std::string::npos) return {};
  at += 2;
  for (int i = 3; i < index && at != std::string::npos; i++) {
    at = text.find(' ', at);
    if (at != std::string::npos) at++;
  }
  if (at == std::string::npos) return {};
  return text.substr(at, text.find(' ', at) - at);
}

std::string stat_field(pid_t pid, int index) {
  return field_of(read_proc(pid, "stat"), index);
}

}  // namespace

int count_cores(const CpuSet& set) {
  int n = 0;
  for (const uint64_t word : set.bits) n += __builtin_popcountll(word);
  return n;
}

int current_cpu_set(CpuSet* set) {
  memset(set, 0, sizeof *set);
  raw_syscall(SYS_sched_getaffinity, 0, sizeof set->bits, raw_arg(set->bits));
  return count_cores(*set);
}

void use_cores(const CpuSet& set) {
  raw_syscall(SYS_sched_setaffinity, 0, sizeof set.bits, raw_arg(set.bits));
}

int online_cores() {
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

bool is_traced() {
  const std::string text = read_proc(getpid(), "status");
  const char* const field = "\nTracerPid:";
  const size_t at = text.find(field);
  return at != std::string::npos && atoi(text.c_str() + at + strlen(field)) != 0;
}

pid_t clone_process(void (*entry)(void*), void* arg, void* stack_top, std::atomic<int32_t>* pid) {
  static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t));
  return static_cast<pid_t>(
      arch::clone_to(entry, arg, stack_top, CLONE_VM | CLONE_PARENT_SETTID | SIGCHLD, pid));
}

pid_t clone_and_wait(void (*entry)(void*), void* arg, void* stack_top) {
  return static_cast<pid_t>(arch::clone_to(entry, arg, stack_top, CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr));
}

void jump_to(const void* entry, const void* stack) {
  arch::jump_to(entry, stack);
}

void capture_inherited(Inherited* s) {
  memset(s, 0, sizeof *s);
  for (int i = 0; i < Inherited::kLimits; i++) {
    rlimit limit;
    if (getrlimit(static_cast<__rlimit_resource>(i), &limit) == 0)
      s->limits[i] = {limit.rlim_cur, limit.rlim_max};
  }
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, raw_arg(&s->blocked_signals), kSignalSetBytes);
  for (int n = 1; n <= kSignals; n++) {
    KernelSigaction action = {};
    raw_syscall(SYS_rt_sigaction, n, 0, raw_arg(&action), kSignalSetBytes);
    if (action.handler == SIG_IGN) s->ignored_signals |= uint64_t{1} << (n - 1);
  }
  current_cpu_set(&s->cores);
  s->umask = umask(0);
  umask(s->umask);
  s->leads_session = getsid(0) == getpid();
  s->nice = getpriority(PRIO_PROCESS, 0);
  s->policy = sched_getscheduler(0);
  sched_param parameter = {};
  if (sched_getparam(0, &parameter) == 0) s->priority = parameter.sched_priority;
  if (raw_syscall(SYS_get_mempolicy, raw_arg(&s->memory_policy), raw_arg(s->memory_nodes),
                  Inherited::kMaxNodes) != 0)
    s->memory_policy = 0;
}

void apply_inherited(const Inherited& s) {
  raw_syscall(SYS_umask, s.umask);
  for (int i = 0; i < Inherited::kLimits; i++) raw_syscall(SYS_prlimit64, 0, i, raw_arg(&s.limits[i]), 0);
  raw_syscall(SYS_sched_setaffinity, 0, sizeof s.cores.bits, raw_arg(s.cores.bits));
  const sched_param parameter = {s.priority};
  raw_syscall(SYS_sched_setscheduler, 0, s.policy, raw_arg(&parameter));
  raw_syscall(SYS_setpriority, PRIO_PROCESS, 0, s.nice);
  if (s.memory_policy != 0)
    raw_syscall(SYS_set_mempolicy, s.memory_policy, raw_arg(s.memory_nodes), Inherited::kMaxNodes);
  restore_signals(s);
}

void raise_descriptor_limit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void restore_signals(const Inherited& s) {
  for (int n = 1; n <= kSignals; n++) {
    if ((s.ignored_signals >> (n - 1) & 1) == 0) continue;
    const KernelSigaction ignore = {SIG_IGN, 0, nullptr, 0};
    raw_syscall(SYS_rt_sigaction, n, raw_arg(&ignore), 0, kSignalSetBytes);
  }
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_arg(&s.blocked_signals), 0, kSignalSetBytes);
}

pid_t fork_detached() {
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) return 0;
    _exit(grandchild < 0 ? 1 : 0);
  }
  if (child < 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == ECHILD) return child;  // SIGCHLD is ignored here: how it ended cannot be known
    if (errno != EINTR) return -1;
  }
  return status == 0 ? child : -1;
}

void set_default_actions(bool ignored_too) {
  const KernelSigaction standard = {SIG_DFL, 0, nullptr, 0};
  for (int n = 1; n <= kSignals; n++) {
    if (!ignored_too) {
      KernelSigaction action = {};
      raw_syscall(SYS_rt_sigaction, n, 0, raw_arg(&action), kSignalSetBytes);
      if (action.handler == SIG_IGN) continue;
    }
    raw_syscall(SYS_rt_sigaction, n, raw_arg(&standard), 0, kSignalSetBytes);
  }
}

void block_all_signals() {
  const uint64_t all = ~uint64_t{0};
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_arg(&all), 0, kSignalSetBytes);
  set_default_actions(true);
}

int signal_descriptor() {
  const uint64_t all = ~uint64_t{0};
  const long fd = raw_syscall(SYS_signalfd4, -1, raw_arg(&all), kSignalSetBytes, SFD_CLOEXEC | SFD_NONBLOCK);
  return fd < 0 ? -1 : static_cast<int>(fd);
}

bool next_signal(int descriptor, Signal* signal) {
  signalfd_siginfo info;
  ssize_t n;
  do {
    n = read(descriptor, &info, sizeof info);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof info) return false;
  signal->number = static_cast<int>(info.ssi_signo);
  signal->code = info.ssi_code;
  signal->sender = static_cast<pid_t>(info.ssi_pid);
  signal->value = info.ssi_ptr;
  return true;
}

bool forward_signal(pid_t pid, const Signal& signal) {
  if (signal.code == SI_QUEUE) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = signal.number;
    info.si_code = SI_QUEUE;
    info.si_pid = signal.sender;
    info.si_uid = getuid();
    info.si_value.sival_ptr = reinterpret_cast<void*>(signal.value);
    if (syscall(SYS_rt_sigqueueinfo, pid, signal.number, &info) == 0) return true;
  }
  return kill(pid, signal.number) == 0;
}

void end_like(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const int number = WTERMSIG(wait_status);
    const KernelSigaction standard = {SIG_DFL, 0, nullptr, 0};
    raw_syscall(SYS_rt_sigaction, number, raw_arg(&standard), 0, kSignalSetBytes);
    const uint64_t set = uint64_t{1} << (number - 1);
    raw_syscall(SYS_tgkill, getpid(), getpid(), number);
    raw_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, raw_arg(&set), 0, kSignalSetBytes);
    _exit(128 + number);
  }
  _exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1);
}

bool die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;
}

void kill_groups(pid_t session, uint64_t latest, const int32_t* groups, size_t count) {
  // By looking at each process: the numbers of groups that ended long ago may belong to others now.
  DIR* dir = opendir("/proc");
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    const pid_t pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (pid <= 0 || pid == getpid()) continue;
    const pid_t group = getpgid(pid), its_session = getsid(pid);
    if (its_session != session && its_session != group) continue;
    for (size_t i = 0; i < count; i++) {
      if (groups[i] != group) continue;
      if (start_time_of(group) > latest) break;
      kill(pid, SIGKILL);
      kill(-group, SIGKILL);  // those that are being forked at this moment too
      break;
    }
  }
  closedir(dir);
}

int process_descriptor(pid_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

bool runs(pid_t pid) {
  const std::string threads = "/proc/" + std::to_string(pid) + "/task/";
  DIR* dir = opendir(threads.c_str());
  if (dir == nullptr) return true;
  bool running = false;
  while (const dirent* entry = running ? nullptr : readdir(dir)) {
    if (entry->d_name[0] == '.') continue;
    const std::string state = field_of(file_or_empty(threads + entry->d_name + "/stat"), 3);
    running = state.empty() || state == "R";
  }
  closedir(dir);
  return running;
}

pid_t parent_of(pid_t pid) {
  return static_cast<pid_t>(strtol(stat_field(pid, 4).c_str(), nullptr, 10));
}

uint64_t start_time_of(pid_t pid) {
  return strtoull(stat_field(pid, 22).c_str(), nullptr, 10);
}

std::vector<std::string> environment_of(pid_t pid) {
  const std::string text = read_proc(pid, "environ");
  std::vector<std::string> entries;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\0', at);
    if (end == std::string::npos) end = text.size();
    entries.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return entries;
}

std::string namespaces_of_self() {
  std::string all;
  for (const char* name : {"mnt", "user", "pid", "net", "ipc", "uts", "cgroup"}) {
    char target[64];
    const ssize_t n = readlink((std::string("/proc/self/ns/") + name).c_str(), target, sizeof target);
    if (n > 0) all.append(target, static_cast<size_t>(n));
  }
  struct stat root;
  if (stat("/", &root) == 0) all += "/" + std::to_string(root.st_dev) + ":" + std::to_string(root.st_ino);
  return all;
}

}  // namespace tasuki::os
