// The libraries that a program gets before its own: the shim of its MPI, and what keeps a task's view of
// itself right.
#pragma once

#include <string>
#include <vector>

#include "task/examine/program.h"

namespace tasuki::task {

// What the dynamic linker would load for a program, its own answer, all levels; no code of the program runs.
// Empty on failure. Costs a process.
struct LoadedLibrary {
  std::string name;
  std::string path;  // empty: it is not found
};
std::vector<LoadedLibrary> trace_libraries(const std::string& loader, const std::string& path,
                                           const std::vector<std::string>& environment);

// The MPI that a program is linked with: what its headers say (`direct`), else what the dynamic linker says.
MpiAbi linked_abi(MpiAbi direct, const std::string& loader, const std::string& path,
                  const std::vector<std::string>& environment);

// Which shim the program gets: that of the MPI that it is linked with, else the launcher's (a launcher that
// does not say, but offers PMIx: Open MPI's).
MpiAbi decide_abi(MpiAbi direct, MpiAbi launcher, const std::string& loader, const std::string& path,
                  const std::vector<std::string>& environment);

// The dynamic linker takes blanks and colons in LD_PRELOAD for separators, and knows no escape.
bool preload_can_name(const std::string& library_dir);

// Puts the shim behind what LD_PRELOAD has, and for a task the object that answers for /proc/self/exe.
// `library_dir` is <prefix>/lib/tasuki. Returns a text if the shim is not installed: the program then runs
// without it.
std::string add_preload(std::vector<std::string>* environment, const std::string& library_dir, MpiAbi abi,
                        bool is_task);

}  // namespace tasuki::task
