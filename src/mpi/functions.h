// The functions of MPI that Tasuki's runtime libraries and measuring programs call, as functions of the
// object that calls them: PMPI_X and MPI_X are defined there, hidden, and go on to the MPI library of the
// process. So the code that calls them is plain MPI, and links with no library. The definitions are generated
// (gen/forward.py, from the list gen/called.toml) for each family, and so is the mpi.h that is included:
// under Open MPI predefined handles are addresses of the library's variables, which that header looks up.
//
// Budget of a call: a load, a predicted branch and a jump.
#pragma once

#include "base/status.h"
#include "mpi/library.h"

namespace tasuki::mpi {

// Finds the library of this process (find_or_load) and everything in it, once; says later what it said first.
// Any thread. A call of MPI before does the same, and ends the process where that fails.
Status load();

// What the library has beside the functions that every library has; nullptr: nothing of the name. After
// load().
void* extension(const char* name);

// Is the library an MPICH before this version? Other libraries of its family are not. After load().
bool is_mpich_before(int major, int minor);
bool is_open_mpi_before(int major);

// For a process that ends without exit() after MPI_Finalize, as its last call. MPICH from 4.2 on tells its
// launcher in an exit handler that the rank ends as it should; Hydra kills the job of a rank that ends
// without.
void end_without_exit();

}  // namespace tasuki::mpi
