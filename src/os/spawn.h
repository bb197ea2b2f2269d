// Running another program to its end.
#pragma once

#include <string>
#include <vector>

namespace tasuki::os {

// What `path` writes to its standard output, with stdin and stderr at /dev/null; empty unless it ends with 0.
// The caller's signal mask and dispositions do not reach it. Cheap in a large address space: nothing is
// copied.
std::string output_of(const std::string& path, const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment);

// A program's end: its wait status and what it wrote to stdout and stderr, in the order in which it came. 127
// << 8 if it cannot be started. `argv[0]` is searched in PATH.
struct Finished {
  int status = 127 << 8;
  std::string output;
};
Finished run_to_end(const std::vector<std::string>& argv, const std::vector<std::string>& environment);

// A list of strings as exec takes it; the strings must outlive it.
std::vector<char*> pointers_to(const std::vector<std::string>& list);

}  // namespace tasuki::os
