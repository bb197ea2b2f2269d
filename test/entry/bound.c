/* A program with a library that is bound when it starts, before the shim is relocated, and that refers to functions which few MPI
   libraries have: Intel MPI's library for Fortran is such a one. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int reduce_by_library(int value, int* sum);

int main(int argc, char** argv) {
  int rank, size, sum = -1, in = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, (rank + size - 1) % size, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int has = dlsym(RTLD_DEFAULT, "MPI_Allreduce_c") != NULL;
  int wrong = in != (rank + size - 1) % size;
  if (has) wrong |= reduce_by_library(rank + 1, &sum) != MPI_SUCCESS || sum != size * (size + 1) / 2;
  if (wrong) fprintf(stderr, "rank %d: received %d, sum %d\n", rank, in, sum);
  MPI_Finalize();
  return wrong;
}
