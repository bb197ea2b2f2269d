#include "shim/errors.h"

#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "generated/pmpi.h"
#include "shim/habits.h"

namespace tasuki::shim {

namespace {

thread_local bool t_handled;  // what was raised last

MPI_Errhandler freed(MPI_Errhandler handler) {
  MPI_Errhandler copy = handler;
  pmpi().Errhandler_free(&copy);
  return handler;
}

MPI_Errhandler handler_of(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  return pmpi().Comm_get_errhandler(comm, &handler) == MPI_SUCCESS ? freed(handler) : MPI_ERRHANDLER_NULL;
}

MPI_Errhandler handler_of_window(MPI_Win win) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  return pmpi().Win_get_errhandler(win, &handler) == MPI_SUCCESS ? freed(handler) : MPI_ERRHANDLER_NULL;
}

}  // namespace

bool is_fatal(MPI_Comm comm) {
  return handler_of(comm) == MPI_ERRORS_ARE_FATAL;
}

MPI_Comm default_comm() {
  return g_habits.blames_self && !is_fatal(MPI_COMM_SELF) ? MPI_COMM_SELF : MPI_COMM_WORLD;
}

// With MPI_ERRORS_RETURN there is nobody to tell, and Intel MPI ends the program when it is asked to by the
// standard ABI.
int raise(MPI_Comm comm, int code) {
  if (comm == MPI_COMM_NULL) comm = MPI_COMM_WORLD;
  t_handled = false;
  if (handler_of(comm) == MPI_ERRORS_RETURN) return code;
  pmpi().Comm_call_errhandler(comm, code);
  t_handled = g_habits.handled_is_success;
  return code;
}

int raise_in(MPI_Win win, int code) {
  t_handled = false;
  if (handler_of_window(win) == MPI_ERRORS_RETURN) return code;
  pmpi().Win_call_errhandler(win, code);
  t_handled = g_habits.handled_is_success;
  return code;
}

int result_of_error(int code) {
  if (!t_handled) return code;
  t_handled = false;
  return MPI_SUCCESS;
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
