// Errors of MPI functions, raised as the library would.
#pragma once

#include <mpi.h>

namespace tasuki::shim {

// Raises an error on the communicator (MPI_COMM_WORLD if comm is MPI_COMM_NULL) as an MPI function would, and
// returns the code.
int raise(MPI_Comm comm, int code);

// The same on a window.
int raise_in(MPI_Win win, int code);

// What a function returns to the program whose code is not MPI_SUCCESS: MPI_SUCCESS if the last error that
// this thread raised went to a handler of the program's, and the library does so
// (Habits::handled_is_success).
int result_of_error(int code);
inline int result(int code) {
  return code == MPI_SUCCESS ? code : result_of_error(code);
}

// Whether calls for several requests, and MPI_Mrecv, raise errors on no communicator in particular but on
// default_comm(): those of MPICH.
#if defined(OPEN_MPI)
constexpr bool kRequestsBlameDefault = false;
#else
constexpr bool kRequestsBlameDefault = true;
#endif

// MPI_COMM_WORLD; since MPICH 4.2 MPI_COMM_SELF, if that has a handler that is not fatal. (There it may also
// have been made fatal by the program, which nobody can tell from a communicator without any handler.)
MPI_Comm default_comm();

// Whether errors on this communicator end the job, as far as its own handler says.
bool is_fatal(MPI_Comm comm);

// The error of a request, or of a call that raises errors where those of requests are raised.
inline int raise_of_request(MPI_Comm comm, int code) {
  return raise(kRequestsBlameDefault ? default_comm() : comm, code);
}

// Who hears of the error of a request: nobody any more, if the library has raised it.
struct Blame {
  MPI_Comm comm;
  bool told = false;
  bool as_request = false;  // raise_of_request
};
inline bool by_default(const Blame& blame) {
  return kRequestsBlameDefault && blame.as_request;
}
inline int raise(const Blame& blame, int code) {
  return blame.told ? code : raise(by_default(blame) ? default_comm() : blame.comm, code);
}

// Where the other ranks count on this one, which has no memory for `what` ("a window") of so many ranks.
[[noreturn]] void abort_without_memory(const char* what, int ranks);

// Ends the job, after a line on stderr that says why.
[[noreturn]] void end_job();

}  // namespace tasuki::shim
