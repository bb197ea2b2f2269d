// Starting other programs, and how they end. A process that goes on with this program's code is no matter of
// this header: os/process/process.h has fork_detached and clone_process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "os/files/descriptor.h"

namespace tasuki::os {

// Where a stream of a program leads: to a descriptor of the caller, or to
inline constexpr int kInherited = -1;  // where the caller's leads
inline constexpr int kNull = -2;       // /dev/null
inline constexpr int kAsOutput = -3;   // errors only: where the program's output leads

// A program in a group of its own does not get what is typed at the terminal for the caller (Ctrl-C), and
// Child::end kills what it has started too. A session is a group without a terminal.
enum class Group { of_caller, own, session };

struct Command {
  std::vector<std::string> argv = {};                        // argv[0] is searched in PATH
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; none: the caller's
  int input = kInherited, output = kInherited, errors = kInherited;
  Group group = Group::of_caller;
  bool default_signals = false;   // what the caller blocks or ignores is neither blocked nor ignored there
  bool ends_with_caller = false;  // it gets SIGTERM when the thread that started it ends
};

// A program ended with an exit code, or by a signal.
struct ExitStatus {
  int code = 0;
  int signal = 0;  // 0: none

  bool ok() const { return code == 0 && signal == 0; }
  std::string text() const;  // "exit code 1", "killed by signal 11 (Segmentation fault)"
  bool operator==(const ExitStatus&) const = default;
};

// A program that was started. The destructor neither ends it nor waits for it.
class Child {
 public:
  Child() = default;  // none: it has ended, well
  Child(Child&& other) noexcept { *this = std::move(other); }
  Child& operator=(Child&& other) noexcept {
    pid_ = std::exchange(other.pid_, 0);
    leads_group_ = other.leads_group_;
    status_ = other.status_;
    return *this;
  }

  pid_t pid() const { return pid_; }          // 0 once its end has been seen
  bool running() const { return pid_ != 0; }  // as far as it has been looked for
  // Has it ended? Waits so long for it.
  bool ended(std::chrono::milliseconds within = {});
  ExitStatus wait();
  // Asks it to end (SIGTERM), and after `grace` kills it, with its group if that is its own. Without grace it
  // is not asked.
  void end(std::chrono::milliseconds grace);
  const ExitStatus& status() const { return status_; }  // once it has ended

 private:
  friend Result<Child> start(const Command& command);
  bool reap(int flags);

  pid_t pid_ = 0;
  bool leads_group_ = false;
  ExitStatus status_;
};

// Cheap in a large address space: nothing is copied. Threads may start programs at the same time. A program
// that cannot be executed is an error, which names it.
Result<Child> start(const Command& command);

// What a program wrote, and how it ended.
struct Captured {
  std::string output;
  ExitStatus status;
  bool in_time = true;
};
// Runs it to its end and keeps its output. With a limit it gets a group of its own, which is killed when the
// limit has passed and the program, or another one that can still write the output, has not ended.
Result<Captured> capture(Command command, std::optional<std::chrono::milliseconds> limit = {});

// Both ends are close-on-exec.
struct Pipe {
  Fd read, write;
};
Result<Pipe> make_pipe();

// What a shell ends with when it cannot start a program for this reason: 127 if there is none, else 126.
int exit_code_of(int error);

// This process becomes a program: the file `path`, or that of argv[0], which is searched in PATH. What stdio
// holds is lost. Returns only if it fails: exit_code_of(errno), and errno says why.
int become(const std::vector<std::string>& argv,
           const std::optional<std::vector<std::string>>& environment = {}, const std::string& path = "");

// A list of strings as exec takes it; the strings must outlive it.
std::vector<char*> pointers_to(const std::vector<std::string>& list);

}  // namespace tasuki::os
