// Reductions on a communicator that spans hosts which are larger than what Tasuki keeps in blocks of memory at
// other times: the leader of a root needs two of these.
#include "check.h"

enum { elements = 70 << 20 };  // 280 MiB

static int *mine, *sum;

static void reduce(int root) {
  STEP("reduce");
  memset(sum, 0xff, elements * sizeof *sum);
  MPI_Reduce(mine, sum, elements, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; rank == root && i < elements; i++)
    wrong += sum[i] != ranks * (i % 1000) + ranks * (ranks - 1) / 2;
  CHECK_EQ(wrong, 0);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  mine = allocate(elements * sizeof *mine);
  sum = allocate(elements * sizeof *sum);
  for (int i = 0; i < elements; i++) mine[i] = i % 1000 + rank;
  for (int root = 1; root < ranks; root++) reduce(root);
  free(mine);
  free(sum);
  return end();
}
