// A receiver that posted its receive and then computes, without calling MPI, does not hold up the sender.
// Plain MPI libraries make no such promise.
#include "check.h"

enum { big = 4 << 20 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK_EQ(ranks, 2);
  unsigned char* data = allocate(big);
  for (int round = 0; round < 2; round++) {
    memset(data, 0, big);
    MPI_Request r;
    double computed = 0, sent;
    if (rank == 1) MPI_Irecv(data, BYTES(big), 0, 1, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      STEP("send");
      fill(data, big, (unsigned)round);
      if (round) {
        MPI_Ssend(data, BYTES(big), 1, 1, MPI_COMM_WORLD);
      } else {
        MPI_Send(data, BYTES(big), 1, 1, MPI_COMM_WORLD);
      }
      sent = now();
      MPI_Send(&sent, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    } else {
      STEP("compute");
      volatile double x = 1;
      for (double until = now() + 2; now() < until;) x = x * 1.0000001;
      computed = now();
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(sent < computed);
      CHECK_EQ(first_wrong(data, big, (unsigned)round), -1);
    }
  }
  free(data);
  return end();
}
