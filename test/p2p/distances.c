/* Large synchronous messages from rank 0 to rank 1: distances_test.py looks how they were copied. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  enum { kBytes = 512 << 10, kMessages = 10 };
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* buffer = malloc(kBytes);
  if (buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 1; i <= kMessages; i++) {
    memset(buffer, rank == 0 ? i : 0, kBytes);
    if (rank == 0)
      MPI_Ssend(buffer, kBytes, MPI_CHAR, 1, i, MPI_COMM_WORLD);
    else
      MPI_Recv(buffer, kBytes, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (buffer[0] != i || buffer[kBytes - 1] != i) {
      printf("FAILED: message %d has other bytes\n", i);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}
