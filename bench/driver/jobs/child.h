// A program that a benchmark starts, mostly a launcher of ranks; and the time and the signals of benchmarks.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "os/clock.h"
#include "os/process/command.h"
#include "os/process/self.h"

namespace tasuki::bench {

// What it writes is kept. It ends when this object or this process ends.
class Child {
 public:
  Child() = default;
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // `environment` is set in addition, "NAME=value". argv[0] is searched in PATH.
  Status start(const std::vector<std::string>& argv, const std::vector<std::string>& environment);
  bool running() const { return child_.running(); }
  bool ended() { return child_.ended(); }                   // has it?
  bool ended_well() const { return child_.status().ok(); }  // once it has
  std::string how_it_ended() const;                         // with the last of what it wrote
  std::string output() const;                               // stdout and stderr so far
  // A launcher that is told to end ends its ranks; it is killed if it does not.
  void end();

 private:
  os::Fd output_;
  os::Child child_;
};

using os::interrupted;
using os::monotonic_seconds;

// What waits then fails with EINTR when the user interrupts, and destructors end the programs.
inline void catch_interrupts() {
  os::catch_interrupts(os::Ignored::is_caught);
  os::ignore_broken_pipes();
}

}  // namespace tasuki::bench
