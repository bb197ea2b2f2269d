// More ranks of one host than fit into an address space: typed messages to near and far ranks, named and not.
#include "../p2p/check.h"

enum { kCount = 1000, kRounds = 6 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Datatype every_second;
  MPI_Type_vector(kCount / 2, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  static int out[kCount], in[kCount];
  for (int round = 0; round < kRounds; round++) {
    STEP("round");
    // Neighbours, then ranks of other spaces.
    const int distance = round < 3 ? round + 1 : ranks / (round - 1);
    const int to = (rank + distance) % ranks, from = (rank - distance + ranks) % ranks;
    for (int i = 0; i < kCount; i++) {
      out[i] = rank * 7 + round * 3 + i;
      in[i] = -1;
    }
    MPI_Request r[2];
    MPI_Status s[2];
    MPI_Irecv(in, 1, every_second, round % 2 == 0 ? MPI_ANY_SOURCE : from, round, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, 1, every_second, to, round, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, s);
    CHECK_EQ(s[0].MPI_SOURCE, from);
    for (int i = 0; i < kCount; i++) CHECK_EQ(in[i], i % 2 != 0 ? -1 : from * 7 + round * 3 + i);
  }
  MPI_Type_free(&every_second);
  MPI_Finalize();
  return 0;
}
