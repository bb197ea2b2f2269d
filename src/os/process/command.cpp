#include "os/process/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/clock.h"
#include "os/memory/mapping.h"
#include "os/process/process.h"
#include "os/process/signals.h"
#include "os/raw.h"

namespace tasuki::os {
namespace {

using std::chrono::milliseconds;

// A process that waits for a device cannot be killed: it is left to the system then.
constexpr milliseconds kKilled = std::chrono::seconds(20);

// What start() tells the process that it makes.
struct Plan {
  const Command& command;
  char* const* argv;
  char* const* environment;
  pid_t caller;
  sigset_t mask;
  int error;  // and what that one says: why it could not become the program
};

// Puts the streams in their places; 0 or -errno.
long place_streams(const Command& command) {
  int from[] = {command.input, command.output, command.errors};
  for (int& fd : from) {
    if (fd < 0 && fd != kNull) continue;
    long source = fd;
    if (fd == kNull) source = raw_syscall(SYS_openat, AT_FDCWD, raw_arg("/dev/null"), O_RDWR | O_CLOEXEC);
    if (source >= 0 && source <= STDERR_FILENO)  // in the place of a stream
      source = raw_syscall(SYS_fcntl, source, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (source < 0) return source;
    fd = static_cast<int>(source);
  }
  if (from[STDERR_FILENO] == kAsOutput) from[STDERR_FILENO] = STDOUT_FILENO;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (from[stream] == kInherited) continue;
    if (const long rc = raw_syscall(SYS_dup3, from[stream], stream, 0); rc < 0) return rc;  // never equal
  }
  return 0;
}

long prepare(const Plan& plan) {
  const Command& command = plan.command;
  if (command.group == Group::own)
    if (const long rc = raw_syscall(SYS_setpgid, 0, 0); rc < 0) return rc;
  if (command.group == Group::session)
    if (const long rc = raw_syscall(SYS_setsid); rc < 0) return rc;
  if (command.ends_with_caller) raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGTERM);
  if (const long rc = place_streams(command); rc < 0) return rc;
  // Before a signal can arrive: a handler of the caller's would run in the caller's memory.
  set_default_actions(command.default_signals);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_arg(&plan.mask), 0, sizeof(uint64_t));
  return 0;
}

// The new process, until it is the program. It shares the memory of its caller, whose thread waits. Raw
// system calls, because libc and the sanitizers would take what it does for that thread's.
void become_command(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  const long rc = prepare(plan);
  if (rc < 0) {
    plan.error = static_cast<int>(-rc);
  } else if (!plan.command.ends_with_caller || raw_syscall(SYS_getppid) == plan.caller) {
    execvpe(plan.argv[0], plan.argv, plan.environment);
    plan.error = errno;
  }
  raw_syscall(SYS_exit_group, 127);
}

// The process, or -errno. posix_spawn does the same, and cannot do what ends_with_caller says.
pid_t clone_to_become(Plan* plan) {
  // For place_streams and execvpe, which keeps a path and perhaps the arguments of a shell there.
  const size_t length = page_ceil(64 * 1024 + (plan->command.argv.size() + 3) * sizeof(char*));
  char* stack = static_cast<char*>(map_memory(length));
  if (stack == nullptr) return -errno;
  const pid_t pid = clone_and_wait(become_command, plan, stack + length);
  unmap(stack, length);
  return pid;
}

}  // namespace

std::string ExitStatus::text() const {
  if (signal == 0) return "exit code " + std::to_string(code);
  return "killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

Result<Child> start(const Command& command) {
  const std::vector<char*> argv = pointers_to(command.argv);
  std::vector<char*> environment;
  if (command.environment) environment = pointers_to(*command.environment);
  Plan plan{command, argv.data(), command.environment ? environment.data() : environ, getpid(), {}, 0};
  Child child;
  {
    SignalsBlocked blocked;
    sigemptyset(&plan.mask);
    if (!command.default_signals) plan.mask = blocked.before();
    child.pid_ = clone_to_become(&plan);
    if (child.pid_ < 0) plan.error = -child.pid_;
  }
  if (plan.error == 0) {
    child.leads_group_ = command.group != Group::of_caller;
    return child;
  }
  if (child.pid_ > 0) child.wait();
  return Status::error(plan.error, "cannot start '" + command.argv[0] + "': " + strerror(plan.error));
}

bool Child::reap(int flags) {
  int status = 0;
  pid_t rc;
  do {
    rc = waitpid(pid_, &status, flags);
  } while (rc < 0 && errno == EINTR);
  if (rc == 0) return false;
  // The kernel keeps no status for a process that ignores SIGCHLD (ECHILD): nothing is known to be wrong.
  status_ = WIFSIGNALED(status) ? ExitStatus{0, WTERMSIG(status)} : ExitStatus{WEXITSTATUS(status), 0};
  pid_ = 0;
  return true;
}

bool Child::ended(milliseconds within) {
  for (const Deadline deadline(within.count()); running() && !reap(WNOHANG); usleep(2000))
    if (deadline.over()) return false;
  return true;
}

ExitStatus Child::wait() {
  if (running()) reap(0);
  return status_;
}

void Child::end(milliseconds grace) {
  if (!running()) return;
  if (grace.count() > 0) {
    kill(pid_, SIGTERM);
    if (ended(grace)) return;
  }
  kill(leads_group_ ? -pid_ : pid_, SIGKILL);
  if (!ended(kKilled)) *this = Child();
}

Result<Captured> capture(Command command, std::optional<milliseconds> limit) {
  Result<Pipe> pipe = make_pipe();
  if (!pipe.ok()) return pipe.status();
  Fd &read_end = pipe.value().read, &write_end = pipe.value().write;
  command.output = write_end.get();
  if (limit && command.group == Group::of_caller) command.group = Group::own;
  Result<Child> started = start(command);
  if (!started.ok()) return started.status();
  write_end.reset();

  Child& child = started.value();
  Captured result;
  const Deadline deadline(limit.value_or(milliseconds(0)).count());
  char buffer[4096];
  for (;;) {
    pollfd readable{read_end.get(), POLLIN, 0};
    const int ready = poll(&readable, 1, limit ? deadline.left_ms() : -1);
    if (ready == 0) result.in_time = false;
    if (ready == 0) break;
    const ssize_t n = ready < 0 ? -1 : read(read_end.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.output.append(buffer, static_cast<size_t>(n));
  }
  read_end.reset();
  if (limit) {
    result.in_time = result.in_time && child.ended(milliseconds(deadline.left_ms()));
    child.end({});
  }
  result.status = child.wait();
  return result;
}

int exit_code_of(int error) {
  return error == ENOENT ? 127 : 126;
}

int become(const std::vector<std::string>& argv, const std::optional<std::vector<std::string>>& environment,
           const std::string& path) {
  std::vector<char*> variables;
  if (environment) variables = pointers_to(*environment);
  char** const inherited = environment ? variables.data() : environ;
  // Without a search nothing is given to a shell either, as execvp does it with files of no known format.
  if (path.empty())
    execvpe(argv[0].c_str(), pointers_to(argv).data(), inherited);
  else
    execve(path.c_str(), pointers_to(argv).data(), inherited);
  return exit_code_of(errno);
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status::error(errno, std::string("pipe: ") + strerror(errno));
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& list) {
  std::vector<char*> pointers;
  for (const std::string& s : list) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace tasuki::os
