#include "bench/driver/jobs/holder.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "os/files/streams.h"

namespace tasuki::bench {
namespace {

constexpr int kStartMilliseconds = 60000;
constexpr std::chrono::seconds kStop(60);
constexpr const char* kReady = "tasuki: ready\n";

}  // namespace

Status Holder::start(const std::vector<std::string>& words, const std::string& setup,
                     const std::string& cleanup) {
  stop();
  std::vector<std::string> all = words;
  const std::string after = cleanup.empty() ? "" : "; " + cleanup;
  all.insert(all.end(), {"sh", "-c", "{ " + setup + "; } && echo tasuki: ready && cat >/dev/null" + after});
  Result<os::Pipe> input = os::make_pipe(), output = os::make_pipe();
  for (const auto* made : {&input, &output})
    if (!made->ok()) return made->status();
  // A session: Ctrl-C is not for it.
  Result<os::Child> started = os::start({.argv = all,
                                         .input = input.value().read.get(),
                                         .output = output.value().write.get(),
                                         .errors = os::kAsOutput,
                                         .group = os::Group::session});
  if (!started.ok()) return Status::error(EPERM, started.status().message());
  shell_ = std::move(started.value());
  input_ = std::move(input.value().write);
  output.value().write.reset();
  output_.clear();
  char buffer[1024];
  os::Awaited said(output.value().read.get());
  while (output_.find(kReady) == std::string::npos && os::wait_for(&said, 1, kStartMilliseconds) > 0) {
    const size_t n = os::read_some(said.descriptor(), buffer, sizeof buffer);
    if (n == 0) break;
    output_.append(buffer, n);
  }
  output.value().read.reset();
  const size_t at = output_.find(kReady);
  const bool ready = at != std::string::npos;
  if (ready) output_.erase(at);
  while (!output_.empty() && output_.back() == '\n') output_.pop_back();
  if (ready) return Status();
  stop();
  return Status::error(EPERM, output_.empty() ? "no answer" : output_);
}

void Holder::stop() {
  input_.reset();
  // What it undoes may wait for a device; it goes on by itself then.
  if (!shell_.ended(kStop)) shell_ = os::Child();
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace tasuki::bench
