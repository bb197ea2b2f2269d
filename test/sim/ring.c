/* Hands a sum round a ring; with an argument, ends as it says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int sum; /* each rank's own */

int main(int argc, char** argv) {
  int rank, size, message = 0;
  const char* how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(how, "deadlock") == 0)
    MPI_Recv(&message, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(how, "crash") == 0 && rank == 1) *(volatile int*)8 = 1;
  int passing = rank;
  const int steps = strcmp(how, "short") == 0 ? 3 : size;
  for (int i = 0; i < steps; i++) {
    sum += passing;
    MPI_Sendrecv(&passing, 1, MPI_INT, (rank + 1) % size, 0, &message, 1, MPI_INT, (rank + size - 1) % size,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    passing = message;
  }
  int all = 0;
  MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\n", all);
  MPI_Finalize();
  return strcmp(how, "seven") == 0 ? 7 : 0;
}
