/* A tool that wraps MPI_Send without the profiling interface: it calls the next MPI_Send there is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int sends;

__attribute__((visibility("default"))) int MPI_Send(const void* data, int count, MPI_Datatype type, int to,
                                                    int tag, MPI_Comm comm) {
  static int (*next)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "MPI_Send");
  sends++;
  return next(data, count, type, to, tag, comm);
}

__attribute__((visibility("default"))) int MPI_Finalize(void) {
  int (*next)(void);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Finalize");
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "interposer: rank %d, %d sends\n", rank, sends);
  return next();
}
