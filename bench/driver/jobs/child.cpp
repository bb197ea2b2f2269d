#include "bench/driver/jobs/child.h"
#include "os/process/environment.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace tasuki::bench {
namespace {

volatile sig_atomic_t g_signal = 0;

}  // namespace

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
  output_ = os::Fd(memfd_create("tasuki-bench-output", MFD_CLOEXEC));
  if (!output_.valid()) return Status::error(errno, std::string("memfd_create: ") + strerror(errno));
  // A group of its own: Ctrl-C reaches this process alone, which then ends the programs in order.
  Result<os::Child> started = os::start({.argv = argv,
                                         .environment = os::environment_with(environment),
                                         .input = os::kNull,
                                         .output = output_.get(),
                                         .errors = os::kAsOutput,
                                         .group = os::Group::own,
                                         .default_signals = true,
                                         .signal_at_callers_end = SIGTERM});
  if (!started.ok()) return started.status();
  child_ = std::move(started.value());
  return Status();
}

std::string Child::how_it_ended() const {
  const std::string how = child_.status().text();
  std::string text = output();
  constexpr size_t kTail = 3000;
  if (text.size() > kTail) text = "..." + text.substr(text.size() - kTail);
  return text.empty() ? how + ", no output" : how + ", output:\n" + text;
}

std::string Child::output() const {
  std::string text;
  char buffer[4096];
  off_t at = 0;
  for (ssize_t n; (n = pread(output_.get(), buffer, sizeof buffer, at)) > 0; at += n)
    text.append(buffer, static_cast<size_t>(n));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void Child::end() {
  child_.end(std::chrono::seconds(5));
}

}  // namespace tasuki::bench
