#include "bench/driver/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/spawn.h"

namespace tasuki::bench {
namespace {

volatile sig_atomic_t g_signal = 0;

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int number) { g_signal = number; };
  for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}
int interrupted() {
  return g_signal;
}

Status Child::start(const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
  if (output_ >= 0) close(output_);
  output_ = memfd_create("tasuki-bench-output", MFD_CLOEXEC);
  if (output_ < 0) return Status::error(errno, std::string("memfd_create: ") + strerror(errno));
  const std::vector<char*> words = os::pointers_to(argv);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) return Status::error(errno, std::string("fork: ") + strerror(errno));
  if (pid_ == 0) {
    // A group of its own: Ctrl-C reaches this process alone, which then ends the programs in order.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(output_, STDOUT_FILENO);
    dup2(output_, STDERR_FILENO);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
    for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
    execvp(words[0], words.data());
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
  }
  return Status();
}

bool Child::ended() {
  if (pid_ <= 0) return true;
  if (waitpid(pid_, &status_, WNOHANG) != pid_) return false;
  pid_ = -1;
  return true;
}

std::string Child::how_it_ended() const {
  std::string how = WIFSIGNALED(status_) ? "killed by signal " + std::to_string(WTERMSIG(status_))
                                         : "exit code " + std::to_string(WEXITSTATUS(status_));
  std::string text = output();
  constexpr size_t kTail = 3000;
  if (text.size() > kTail) text = "..." + text.substr(text.size() - kTail);
  return text.empty() ? how + ", no output" : how + ", output:\n" + text;
}

std::string Child::output() const {
  std::string text;
  char buffer[4096];
  off_t at = 0;
  for (ssize_t n; output_ >= 0 && (n = pread(output_, buffer, sizeof buffer, at)) > 0; at += n)
    text.append(buffer, static_cast<size_t>(n));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void Child::end() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  for (const double deadline = now() + 5; !ended() && now() < deadline;) usleep(10000);
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  // A process that waits for a device cannot be killed: it is left to the system then.
  for (const double deadline = now() + 20; !ended() && now() < deadline;) usleep(10000);
  pid_ = -1;
}

Child::~Child() {
  end();
  if (output_ >= 0) close(output_);
}

}  // namespace tasuki::bench
