// An exchange of large pieces, and one with neighbours in an order of their own, between more ranks than
// there are messages under way at a time.
#include "check.h"

enum { ints = 20000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int *send = allocate(sizeof(int) * (size_t)(ranks * ints)),
      *receive = allocate(sizeof(int) * (size_t)(ranks * ints));
  for (int i = 0; i < ranks * ints; i++) send[i] = rank * ranks * ints + i;
  STEP("all to all");
  MPI_Alltoall(send, ints, MPI_INT, receive, ints, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; from++)
    for (int i = 0; i < ints; i++) CHECK_EQ(receive[from * ints + i], (from * ranks + rank) * ints + i);

  STEP("neighbours");
  int* others = allocate(sizeof(int) * (size_t)ranks);
  for (int i = 0; i < ranks; i++) others[i] = (rank + i) % ranks;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, others, MPI_UNWEIGHTED, ranks, others, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Neighbor_allgather(send, ints, MPI_INT, receive, ints, MPI_INT, graph);
  for (int k = 0; k < ranks; k++)
    for (int i = 0; i < ints; i++) CHECK_EQ(receive[k * ints + i], others[k] * ranks * ints + i);
  MPI_Comm_free(&graph);
  free(others);
  free(send);
  free(receive);
  return end();
}
