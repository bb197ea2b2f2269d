#include "bench/driver/holder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "os/spawn.h"

namespace tasuki::bench {
namespace {

constexpr int kStartMilliseconds = 60000, kStopMilliseconds = 60000;
constexpr const char* kReady = "tasuki: ready\n";

}  // namespace

Status Holder::start(const std::vector<std::string>& words, const std::string& setup,
                     const std::string& cleanup) {
  stop();
  std::vector<std::string> all = words;
  const std::string after = cleanup.empty() ? "" : "; " + cleanup;
  all.insert(all.end(), {"sh", "-c", "{ " + setup + "; } && echo tasuki: ready && cat >/dev/null" + after});
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0) return Status::error(errno, std::string("pipe: ") + strerror(errno));
  if (pipe2(output, O_CLOEXEC) != 0) {
    const int err = errno;
    close(input[0]);
    close(input[1]);
    return Status::error(err, std::string("pipe: ") + strerror(err));
  }
  pid_ = fork();
  if (pid_ == 0) {
    setsid();  // Ctrl-C is not for it
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    dup2(output[1], STDERR_FILENO);
    execvp(all[0].c_str(), os::pointers_to(all).data());
    dprintf(STDERR_FILENO, "%s: %s\n", all[0].c_str(), strerror(errno));
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  input_ = input[1];
  output_.clear();
  char buffer[1024];
  pollfd readable{output[0], POLLIN, 0};
  while (pid_ > 0 && output_.find(kReady) == std::string::npos &&
         poll(&readable, 1, kStartMilliseconds) > 0) {
    const ssize_t n = read(output[0], buffer, sizeof buffer);
    if (n <= 0) break;
    output_.append(buffer, static_cast<size_t>(n));
  }
  close(output[0]);
  const size_t at = output_.find(kReady);
  const bool ready = at != std::string::npos;
  if (ready) output_.erase(at);
  while (!output_.empty() && output_.back() == '\n') output_.pop_back();
  if (ready) return Status();
  stop();
  return Status::error(EPERM, output_.empty() ? "no answer" : output_);
}

void Holder::stop() {
  if (input_ >= 0) close(input_);
  input_ = -1;
  // What it undoes may wait for a device; it goes on by itself then.
  for (int i = 0; pid_ > 0 && i < kStopMilliseconds / 10 && waitpid(pid_, nullptr, WNOHANG) == 0; i++)
    usleep(10000);
  pid_ = -1;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace tasuki::bench
