// Finding the program to run, as execvp would, and deciding whether it can share an address space.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/mpi_abi.h"
#include "elf/image.h"

namespace tasuki::task {

struct Program {
  int error = 0;     // not 0: execvp would fail with this errno
  std::string path;  // what execve would be called with; holds a slash unless `error`
  // Arguments as the program sees them, those that the first line of a script adds included. For a script
  // `path` is its interpreter (of which the rest speaks), argv[0] its name as the kernel would pass it.
  std::vector<std::string> argv;
  std::string canonical;  // `path` as /proc/self/exe would name it
  elf::Image image;
  std::string loader;  // path of the program's ld.so when it can share
  // Not empty: what this interpreter does, which itself cannot share, this library does (examine/python.h).
  std::string library;
  // Not empty: it runs as a process of its own, for this reason ("ls: is statically linked" reads well), and
  // `remedy` says what helps, if that is known.
  std::string why_plain, remedy;

  bool can_share() const { return error == 0 && why_plain.empty(); }
};

// `path_list`: value of PATH, nullptr if unset.
Program find_program(const std::vector<std::string>& argv, const char* path_list);

// Whether the program itself calls a function of a library by this name; false if its file cannot be read.
bool calls_function(const Program& program, std::string_view name);

// Whether this loader's C library takes what Tasuki preloads: a glibc not older than Tasuki's own.
bool can_preload(const std::string& loader);

// Whether a program that runs as a process of its own takes the shim. Not those of ThreadSanitizer and the
// like: they would report what Tasuki orders without their knowledge.
bool can_take_shim(const Program& program);

// Which MPI a list of library names means: the sonames of Open MPI, the MPICH family and the standard ABI.
MpiAbi mpi_abi_of(const std::vector<std::string>& libraries);

}  // namespace tasuki::task
