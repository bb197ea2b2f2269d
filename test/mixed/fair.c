// A flood of messages from the own address space does not keep one from elsewhere waiting. Ranks 1 and 2
// share a space, rank 0 has another one.
#include "../p2p/check.h"

enum { kFlood = 20000, kSoon = 1000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK_EQ(ranks, 3);
  int number = -1;
  if (rank == 0) {
    MPI_Send(&number, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
    MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  }
  if (rank == 1) {
    MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (number = 0; number < kFlood; number++) MPI_Send(&number, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
  }
  if (rank == 2) {
    usleep(300000);
    int next = 0, came = -1;
    for (int i = 0; i <= kFlood; i++) {
      MPI_Status s;
      MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &s);
      if (s.MPI_SOURCE == 0) {
        CHECK_EQ(number, -1);
        CHECK_EQ(came, -1);
        came = i;
      } else {
        CHECK_EQ(number, next++);
      }
    }
    CHECK(came >= 0 && came < kSoon);
  }
  MPI_Finalize();
  return 0;
}
