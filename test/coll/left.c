// Ten of each of four operations, of 512 bytes: the statistics say which of them Tasuki carried out (left_test.py).
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  enum { kCount = 64, kTimes = 10, kMostRanks = 8 };
  double mine[kCount], sum[kCount], all[kCount * kMostRanks];
  int rank = 0, size = 0, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < kTimes; i++) {
    for (int k = 0; k < kCount; k++) mine[k] = rank + k + i;
    MPI_Allreduce(mine, sum, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < kCount; k++) wrong += sum[k] != size * (k + i) + size * (size - 1) / 2;
    MPI_Gather(mine, kCount, MPI_DOUBLE, all, kCount, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int k = 0; rank == 0 && k < size * kCount; k++) wrong += all[k] != k / kCount + k % kCount + i;
    MPI_Bcast(mine, kCount, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    for (int k = 0; k < kCount; k++) wrong += mine[k] != 1 + k + i;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (wrong != 0) printf("rank %d: %d wrong numbers\n", rank, wrong);
  MPI_Finalize();
  return wrong != 0;
}
