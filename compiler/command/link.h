// What a program with dlm arrays, or with calls of dlm.h, is linked with, and whether a program is one.
#pragma once

#include <string>
#include <vector>

#include "compiler/command/command_line.h"
#include "compiler/command/external_programs.h"

namespace tasuki::cc {

std::string include_folder();

// MPICC, split into words; mpicc if it is not set.
std::vector<std::string> mpi_compiler();

// openmpi or mpich: the family whose ABI the compiler's mpi.h has. Empty, with the reason on stderr, for
// others.
std::string mpi_family(TemporaryFolder* temporary);

// -L, -Wl,-rpath and -l for libdlmmpi of the compiler's MPI. False, with the reason on stderr, if there is
// none.
bool dlm_libraries(TemporaryFolder* temporary, std::vector<std::string>* options);

// The same for libtasukixmp.
bool xmp_libraries(TemporaryFolder* temporary, std::vector<std::string>* options);

struct Needs {
  bool xmp = false;      // something in the program was compiled with coarrays, or calls functions of xmp.h
  bool arrays = false;   // something in the program was compiled with dlm arrays: main waits for them
  bool library = false;  // something calls dlm.h's functions
};

// From what the files given to the linker hold. Sources are not looked at.
Needs needs_of_objects(const CommandLine& line);

// Is the name among the symbols of one of these files?
bool names_symbol(const std::vector<std::string>& files, const std::string& symbol);

}  // namespace tasuki::cc
