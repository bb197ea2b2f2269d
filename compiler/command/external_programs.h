// The programs that tasukicc runs, one after the other, and the folder for what they hand on.
#pragma once

#include <string>
#include <vector>

namespace tasuki::cc {

// Where a program's streams go; an empty path leaves the stream as it is.
struct Streams {
  std::string input = {}, output = {}, errors = {};
};

// Runs it to its end: its exit code. Died by a signal: ends this process by the same signal, after the
// temporary folder is gone. Cannot be started: 127, and a line on stderr.
int run_program(const std::vector<std::string>& argv, const Streams& streams = {});

// Becomes it. Returns, with 127 and a line on stderr, only if it cannot be started.
int become_program(const std::vector<std::string>& argv);

// Replaces what is there. False, and a line on stderr: it cannot be written.
bool write_file(const std::string& path, const std::string& content);

// A folder that disappears with this object, or with the process when a signal ends it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  bool ok() const { return !path_.empty(); }
  // The path of a new file in it, which keeps the ending. No two are alike.
  std::string file(const std::string& name);
  // A new folder in it.
  std::string folder();

 private:
  std::string path_;
  int files_ = 0;
};

}  // namespace tasuki::cc
