#include "shim/errors.h"

#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "generated/pmpi.h"
#include "shim/habits.h"

namespace tasuki::shim {

bool is_fatal(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (pmpi().Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
  const bool fatal = handler == MPI_ERRORS_ARE_FATAL;
  pmpi().Errhandler_free(&handler);
  return fatal;
}

MPI_Comm default_comm() {
  return g_habits.requests_have_communicator && !is_fatal(MPI_COMM_SELF) ? MPI_COMM_SELF : MPI_COMM_WORLD;
}

int raise(MPI_Comm comm, int code) {
  pmpi().Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, code);
  return code;
}

int raise_in(MPI_Win win, int code) {
  pmpi().Win_call_errhandler(win, code);
  return code;
}

void abort_without_memory(const char* what, int ranks) {
  fprintf(stderr, "tasuki: no memory for %s of %d ranks\n", what, ranks);
  abort();
}

void end_job() {
  // Hydra ends a job without reading what ranks have just written to its proxies.
  constexpr timespec kUntilRead{0, 500'000'000};
  nanosleep(&kUntilRead, nullptr);
  pmpi().Abort(MPI_COMM_WORLD, 1);
  abort();
}

}  // namespace tasuki::shim
