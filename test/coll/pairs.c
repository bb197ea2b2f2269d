// Which block arrives where if several edges lead from one rank to another, in a Cartesian topology and in a graph: libraries differ
// from the standard and from each other (neighbours.cpp). The test compares the lines with those of the plain library.
#include "check.h"

enum { most = 4 };

static void say(const char* topology, const char* call, const int received[], int n) {
  char line[200];
  int length = snprintf(line, sizeof line, "%s, %s:", topology, call);
  for (int i = 0; i < n; i++)
    length += snprintf(line + length, sizeof line - (size_t)length, " %d", received[i]);
  if (rank == 1) printf("%s\n", line);
}

// Rank r gives its k-th edge 10 r + k.
static void exchange(const char* topology, MPI_Comm comm, int in, int out) {
  int sent[most], received[most], counts[most], places[most];
  MPI_Aint bytes[most];
  MPI_Datatype types[most];
  for (int i = 0; i < most; i++) {
    sent[i] = 10 * rank + i;
    counts[i] = 1;
    places[i] = i;
    bytes[i] = i * (MPI_Aint)sizeof(int);
    types[i] = MPI_INT;
  }
  CHECK(in <= most && out <= most);
  memset(received, -1, sizeof received);
  MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
  say(topology, "MPI_Neighbor_alltoall", received, in);
  memset(received, -1, sizeof received);
  MPI_Neighbor_alltoallv(sent, counts, places, MPI_INT, received, counts, places, MPI_INT, comm);
  say(topology, "MPI_Neighbor_alltoallv", received, in);
  memset(received, -1, sizeof received);
  MPI_Neighbor_alltoallw(sent, counts, bytes, types, received, counts, bytes, types, comm);
  say(topology, "MPI_Neighbor_alltoallw", received, in);
  MPI_Request request;
  memset(received, -1, sizeof received);
  MPI_Ineighbor_alltoallv(sent, counts, places, MPI_INT, received, counts, places, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  say(topology, "MPI_Ineighbor_alltoallv", received, in);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK_EQ(ranks, 2);
  MPI_Comm comm;
  const int size[2] = {2, 1}, periodic[2] = {1, 1};
  MPI_Cart_create(MPI_COMM_WORLD, 2, size, periodic, 0, &comm);
  exchange("Cartesian", comm, 4, 4);
  MPI_Comm_free(&comm);
  const int twice[3] = {1 - rank, rank, 1 - rank};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, twice, MPI_UNWEIGHTED, 3, twice, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
  exchange("graph", comm, 3, 3);
  MPI_Comm_free(&comm);
  return end();
}
