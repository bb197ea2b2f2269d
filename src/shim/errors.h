// Errors of MPI functions, raised as the library would.
#pragma once

#include <mpi.h>

namespace tasuki::shim {

// Raises an error on the communicator (MPI_COMM_WORLD if comm is MPI_COMM_NULL) as an MPI function would, and
// returns the code.
int raise(MPI_Comm comm, int code);

// The same on a window.
int raise_in(MPI_Win win, int code);

// The communicator whose error handler hears of errors of requests: MPICH takes MPI_COMM_WORLD for all.
inline MPI_Comm blamed(MPI_Comm comm) {
#if defined(OPEN_MPI)
  return comm;
#else
  static_cast<void>(comm);
  return MPI_COMM_WORLD;
#endif
}

// Who hears of the error of a request: nobody any more, if the library has raised it.
struct Blame {
  MPI_Comm comm;
  bool told = false;
};
inline int raise(const Blame& blame, int code) {
  return blame.told ? code : raise(blame.comm, code);
}

// Where the other ranks count on this one, which has no memory for `what` ("a window") of so many ranks.
[[noreturn]] void abort_without_memory(const char* what, int ranks);

// Ends the job, after a line on stderr that says why.
[[noreturn]] void end_job();

}  // namespace tasuki::shim
