// What `tasuki doctor` looks at. Each examine_* adds findings to a report; doctor.cpp prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tasuki::tool {

enum class Verdict {
  ok,       // as it should be
  note,     // works, with a limit or a cost that the text names
  problem,  // tasks cannot share an address space until it is changed
};

struct Finding {
  const char* section;
  std::string name;
  Verdict verdict;
  std::string text;
  std::string remedy;  // what to change; empty when there is nothing to do
};

using Report = std::vector<Finding>;

void examine_machine(Report* report);
void examine_mpi(Report* report);
void examine_program(const std::string& program, Report* report);

// ---- helpers
// Runs a command and returns what it wrote to stdout (and stderr when asked). Stopped after `seconds`.
struct Captured {
  int exit_code = -1;  // -1: not started, ended by a signal, or out of time
  std::string output;
};
Captured capture(const std::vector<std::string>& argv, int seconds, bool with_stderr = false);

// A library that exports MPI functions. Asks the library itself, in a process of its own.
struct MpiLibrary {
  std::string path;
  std::string version;  // first line of MPI_Get_library_version, empty if it could not be asked
  std::string family;   // "Open MPI", "MPICH family", "MPI-5 standard ABI"
  std::string shim;     // file name of the shim for the family
};
MpiLibrary ask_mpi_library(const std::string& path);
// In that process: loads the library and writes to stdout which one it is.
[[noreturn]] void speak_for_mpi_library(const std::string& path);
bool shim_installed(const MpiLibrary& library);

}  // namespace tasuki::tool
