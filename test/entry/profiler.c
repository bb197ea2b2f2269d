/* A program with a profiler (profiler_tool.c). Tasuki must see what the profiler passes on, and the profiler
 * must see what the program calls: only some functions are wrapped, so both sides of a message and both
 * halves of a request take different ways. */
#include "profiler_tool.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  enum { N = 20000, ROUNDS = 10 };
  static int out[N], in[N];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Request request;
    MPI_Status status;
    int index;
    const int n = round % 2 ? N : 10;
    for (int i = 0; i < n; ++i) out[i] = rank + round + i;
    MPI_Irecv(in, n, MPI_INT, before, round, MPI_COMM_WORLD, &request); /* wrapped: comes to PMPI_Irecv */
    if (round % 4 < 2)
      MPI_Send(out, n, MPI_INT, next, round, MPI_COMM_WORLD); /* wrapped */
    else
      MPI_Ssend(out, n, MPI_INT, next, round, MPI_COMM_WORLD); /* not wrapped */
    if (round % 3)
      MPI_Waitany(1, &request, &index, &status); /* wrapped */
    else
      MPI_Wait(&request, &status); /* not wrapped */
    for (int i = 0; i < n; ++i) check(in[i] == before + round + i, "data");
    check(status.MPI_SOURCE == before && status.MPI_TAG == round, "status");
  }
  int inits, sends, irecvs, waits;
  void (*counts)(int*, int*, int*, int*);
  *(void**)&counts =
      dlsym(RTLD_DEFAULT, "profiler_counts"); /* a preloaded profiler is not known to the linker */
  check(counts != NULL, "no profiler");
  counts(&inits, &sends, &irecvs, &waits);
  check(inits == 1 && irecvs == ROUNDS && sends == 6 && waits == 6, "what the profiler counted");
  MPI_Finalize();
  return 0;
}
