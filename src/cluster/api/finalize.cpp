// A program that has initialised MPI itself ends it, too: that must not wait for a server that is lost.
#include <mpi.h>

#include "cluster/api/runtime.h"

// For the shim's eyes: see shim/entry/profiler.h.
extern "C" [[gnu::visibility("default")]] const char tasuki_calls_pmpi = 1;

extern "C" [[gnu::visibility("default")]] int MPI_Finalize(void) {
  tasuki::cluster::Runtime& runtime = tasuki::cluster::Runtime::instance();
  if (runtime.pager() != nullptr) runtime.stop(false);
  return runtime.finalizes_later() ? MPI_SUCCESS : PMPI_Finalize();
}
