// A rank that does not keep the promise TASUKI_EVERYWHERE begins with communication of its own, in which
// nobody takes part: whatever the other ranks do in MPI_Init to find out, none of it may come here. Argument:
// which communication.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, ranks, in = 4711, out = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Comm dup;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* first = argc > 1 ? argv[1] : "";
  printf("rank %d begins\n", rank);
  fflush(stdout);
  if (strcmp(first, "iallreduce") == 0) {
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(first, "send") == 0) {
    for (int tag = 0; tag < 3; tag++)
      MPI_Send(&in, 1, MPI_INT, rank == 0 ? ranks - 1 : 0, tag, MPI_COMM_WORLD);
    MPI_Recv(&out, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  } else if (strcmp(first, "dup") == 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  } else if (strcmp(first, "window") == 0) {
    MPI_Win_create(&out, sizeof out, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  }
  printf("rank %d communicated, and has %d\n", rank, out);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
