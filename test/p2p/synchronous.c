// A synchronous send completes only after the matching receive has started.
#include "check.h"

enum { big = 200000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  static unsigned char data[big];
  static const int sizes[] = {0, 1, 64, 4096, 70000, big};
  int go, peer = rank ^ 1;
  if (peer >= ranks) return end();

  for (int k = 0; k < 6; k++) {
    int size = sizes[k];
    if (rank % 2 == 0) {
      STEP("Issend is not complete before the receive");
      MPI_Request request;
      int done = 0;
      fill(data, (size_t)size, (unsigned)k);
      MPI_Issend(data, BYTES(size), peer, 1, MPI_COMM_WORLD, &request);
      // Ordinary messages overtake nothing here: tag 2 is received while tag 1 is not.
      for (int i = 0; i < 200; i++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        CHECK_EQ(done, 0);
        MPI_Send(&i, 1, MPI_INT, peer, 2, MPI_COMM_WORLD);
        MPI_Recv(&go, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      int state = 1;
      MPI_Request_get_status(request, &state, MPI_STATUS_IGNORE);
      CHECK_EQ(state, 0);
      MPI_Send(&k, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);

      STEP("Ssend returns only after the receive was posted");
      // The partner sends `posted` before it posts the receive: when Ssend is back, that message must have
      // been sent already, so it can be received without waiting for anything else.
      MPI_Ssend(data, BYTES(size), peer, 5, MPI_COMM_WORLD);
      int posted = 0;
      double limit = now() + 20;
      while (!posted && now() < limit) MPI_Iprobe(peer, 6, MPI_COMM_WORLD, &posted, MPI_STATUS_IGNORE);
      CHECK(posted);
      double told = 0, back = now();
      MPI_Recv(&told, 1, MPI_DOUBLE, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      // One node, one clock: the receive was posted after `told`, the Ssend returned before `back`.
      CHECK(back >= told);
      double returned;
      MPI_Ssend(data, BYTES(size), peer, 7, MPI_COMM_WORLD);
      returned = now();
      MPI_Send(&returned, 1, MPI_DOUBLE, peer, 8, MPI_COMM_WORLD);
    } else {
      for (int i = 0; i < 200; i++) {
        MPI_Recv(&go, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(go, i);
        MPI_Send(&i, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
      }
      MPI_Recv(&go, 1, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      memset(data, 0, sizeof data);
      MPI_Recv(data, BYTES(size), peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(first_wrong(data, (size_t)size, (unsigned)k), -1);

      double posted = now();
      MPI_Send(&posted, 1, MPI_DOUBLE, peer, 6, MPI_COMM_WORLD);
      MPI_Recv(data, BYTES(size), peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

      // Probing sees the message; it does not complete it.
      MPI_Status status;
      MPI_Probe(peer, 7, MPI_COMM_WORLD, &status);
      CHECK_EQ(count_of(&status, MPI_BYTE), size);
      for (int i = 0; i < 100; i++) {
        int flag;
        MPI_Iprobe(peer, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 0);
      }
      double before = now(), returned;
      MPI_Recv(data, BYTES(size), peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(&returned, 1, MPI_DOUBLE, peer, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(returned >= before);
    }
  }
  return end();
}
