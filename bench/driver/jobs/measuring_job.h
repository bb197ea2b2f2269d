// A job of some ranks that obeys commands: an mpirun whose program reads one named pipe per rank. Between two
// commands the ranks are blocked in read(2), so that several jobs can share the same cores and take turns.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/jobs/child.h"
#include "os/files/descriptor.h"

namespace tasuki::bench {

struct JobSpec {
  std::string name;                   // in messages: "plain MPI", "Tasuki"
  std::vector<std::string> launcher;  // mpirun and its arguments
  std::vector<std::string> runner;    // between launcher and program, e.g. {"tasuki", "run"}; may be empty
  std::string program;
  std::vector<std::string> environment{};  // further "NAME=value"
  int ranks = 2;
};

using Fields = std::map<std::string, std::string>;

struct Answer {
  std::vector<Fields> values;  // key=value pairs of each rank's last line
  std::vector<Fields> rows;    // rank 0's lines before it
  std::string wrong;           // not empty: a rank's verification failed, and how
};

class Job {
 public:
  explicit Job(JobSpec spec)
      : spec_(std::move(spec)), command_(ranks()), answer_(ranks()), unread_(ranks()) {}
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Starts the job and waits for both ranks to report; `hello` is what they say of themselves.
  Status start(double timeout_seconds, Answer* hello);
  // Sends a command to both ranks and waits for both answers. Fails when the job ends, answers "error", shows
  // no progress for longer than the timeout, or the user interrupts.
  Status ask(const std::string& command, double timeout_seconds, Answer* answer);
  // Ends the job in good order; fails when it ends badly.
  Status stop();

  const std::string& name() const { return spec_.name; }
  size_t ranks() const { return static_cast<size_t>(spec_.ranks); }
  // What the job has written to stdout and stderr.
  std::string output() const { return child_.output(); }

 private:
  Status make_pipes();
  Status launch();
  Status receive(double timeout_seconds, Answer* answer);
  void remove_pipes();

  JobSpec spec_;
  std::string folder_;
  std::vector<os::Fd> command_, answer_;  // by rank
  std::vector<std::string> unread_;
  Child child_;
};

// A field of an answer; NaN or "" if it is not there.
double number(const Fields& fields, const std::string& key);
std::string text(const Fields& fields, const std::string& key);

}  // namespace tasuki::bench
