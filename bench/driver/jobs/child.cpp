#include "bench/driver/jobs/child.h"

#include <chrono>
#include <utility>

#include "os/files/streams.h"
#include "os/memory/memory_file.h"
#include "os/process/environment.h"

namespace tasuki::bench {

Status Child::start(const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
  Result<os::Fd> output = os::memory_file(0);
  if (!output.ok()) return output.status();
  output_ = std::move(output.value());
  // A group of its own: Ctrl-C reaches this process alone, which then ends the programs in order.
  Result<os::Child> started = os::start({.argv = argv,
                                         .environment = os::environment_with(environment),
                                         .input = os::kNull,
                                         .output = output_.get(),
                                         .errors = os::kAsOutput,
                                         .group = os::Group::own,
                                         .default_signals = true,
                                         .ends_with_caller = true});
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
  std::string text = os::contents_of(output_.get());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void Child::end() {
  child_.end(std::chrono::seconds(5));
}

}  // namespace tasuki::bench
