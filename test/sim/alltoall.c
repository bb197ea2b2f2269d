/* An all-to-all whose blocks say where they come from and go to. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kInts = 1024 };

int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* send = malloc(sizeof(int) * kInts * (size_t)size);
  int* receive = malloc(sizeof(int) * kInts * (size_t)size);
  for (int to = 0; to < size; to++)
    for (int i = 0; i < kInts; i++) send[to * kInts + i] = (rank * 1000 + to) * kInts + i;
  MPI_Alltoall(send, kInts, MPI_INT, receive, kInts, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < size; from++)
    for (int i = 0; i < kInts; i++)
      if (receive[from * kInts + i] != (from * 1000 + rank) * kInts + i) wrong = 1;
  MPI_Finalize();
  return wrong;
}
