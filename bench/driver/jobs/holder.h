// A shell that sets something up on this machine and undoes it: when it is told to, or when this process has
// gone, however it went.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "os/process/command.h"

namespace tasuki::bench {

class Holder {
 public:
  Holder() = default;
  ~Holder() { stop(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  // Starts `words` sh -c `setup`, in a session of its own, and waits until that is done; `cleanup` runs in
  // the same shell at the end, also if `setup` fails. A failure's text is what the shell wrote.
  Status start(const std::vector<std::string>& words, const std::string& setup, const std::string& cleanup);
  void stop();
  pid_t pid() const { return shell_.pid(); }             // 0: there is none
  const std::string& output() const { return output_; }  // of `setup`

 private:
  os::Child shell_;
  os::Fd input_;  // it waits until this is closed
  std::string output_;
};

// 'text', for sh.
std::string quoted(const std::string& text);

}  // namespace tasuki::bench
