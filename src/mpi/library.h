// The MPI library of this process: which one is loaded, in whatever scope and under whatever name, and where
// one is that can be loaded. Nothing of Tasuki is linked with an MPI library: the same file serves every
// library of a family, whatever its soname (MPICH's is libmpich.so.12 on Debian, libmpi.so.12 elsewhere;
// Intel MPI, MVAPICH and Cray MPI have that ABI, too).
#pragma once

#include <string>
#include <vector>

#include "base/mpi_abi.h"
#include "base/status.h"

namespace tasuki::mpi {

struct Library {
  MpiAbi family = MpiAbi::mpich;
  void* handle = nullptr;      // dlopen's; never closed
  const void* base = nullptr;  // where it lies, as dladdr says
  std::string path;
};

// Those that are loaded, in the dynamic linker's order. The object that this code is linked into is none: it
// may define names of MPI itself.
std::vector<Library> loaded_libraries();

// Loads a library for the whole process. ENOENT: it cannot be loaded; EINVAL: it is no MPI library.
Result<Library> load_library(const std::string& name);

// Runs the destructors and exit handlers of this library, as if it were unloaded, and of nothing else in the
// process. Only before the process ends without exit().
void run_destructors(const Library& library);

// Where the library of the launcher that has started this process might be: beside the launcher's program,
// which is among the ancestors of this process. Files that are there, most likely first. *found: there is
// such an ancestor.
std::vector<std::string> libraries_of_launcher(MpiAbi family, bool* found);

// Those of an installation: PREFIX/lib/libmpi.so.40 and the like.
std::vector<std::string> libraries_below(const std::string& prefix, MpiAbi family);

// Does this name of a program file belong to an MPI launcher or one of its daemons?
bool is_launcher(const std::string& program);

// The library of a process that is to speak to one of this family: the one that it has loaded, else the one
// that TASUKI_MPI_LIBRARY names, else the launcher's, else (where no launcher is seen: a task of `tasuki run`
// is no child of one) that of the mpirun in PATH, else the one that the dynamic linker finds by its soname.
Result<Library> find_or_load(MpiAbi family);

// Where names of a library lead.
class Symbols {
 public:
  explicit Symbols(const Library& library) : library_(library), all_(loaded_libraries()) {}

  // The address of a function or variable as the program's own references to it are resolved: what stands in
  // front of the library (a preloaded shim, an executable's copy of a variable) comes first, but never what
  // belongs to another MPI library or to the object that this code is linked into. nullptr: there is none.
  void* find(const char* name) const;

 private:
  Library library_;
  std::vector<Library> all_;
};

}  // namespace tasuki::mpi
