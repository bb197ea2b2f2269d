// Cancel: a receive that nothing matches is taken back; a cancelled request completes and says so.
#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int peer = rank ^ 1, x = -1, cancelled;
  MPI_Request r, list[3];
  MPI_Status s;
  CHECK_EQ(ranks, 2);

  STEP("a receive without a message");
  for (int i = 0; i < 50; i++) {
    MPI_Irecv(&x, 1, MPI_INT, i % 2 ? peer : MPI_ANY_SOURCE, i % 3 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    CHECK(r != MPI_REQUEST_NULL);
    MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &cancelled);
    CHECK(cancelled);
    CHECK(r == MPI_REQUEST_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  STEP("the cancelled receive takes no message, later ones get theirs");
  MPI_Irecv(&x, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &list[0]);
  int y = -1;
  MPI_Irecv(&y, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &list[1]);
  MPI_Cancel(&list[0]);
  MPI_Wait(&list[0], &s);
  MPI_Test_cancelled(&s, &cancelled);
  CHECK(cancelled);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, peer, 6, MPI_COMM_WORLD);
  MPI_Wait(&list[1], &s);
  MPI_Test_cancelled(&s, &cancelled);
  CHECK(!cancelled);
  CHECK_EQ(x, -1);
  CHECK_EQ(y, peer);

  STEP("a receive that was matched is not cancelled");
  MPI_Irecv(&y, 1, MPI_INT, peer, 7, MPI_COMM_WORLD, &r);
  int out = rank + 10;
  MPI_Send(&out, 1, MPI_INT, peer, 7, MPI_COMM_WORLD);
  int done = 0;
  while (!done) MPI_Request_get_status(r, &done, MPI_STATUS_IGNORE);
  MPI_Cancel(&r);
  MPI_Wait(&r, &s);
  MPI_Test_cancelled(&s, &cancelled);
  CHECK(!cancelled);
  CHECK_EQ(y, peer + 10);
  CHECK_EQ(count_of(&s, MPI_INT), 1);

  STEP("a persistent receive is cancelled and started again");
  MPI_Recv_init(&y, 1, MPI_INT, peer, 8, MPI_COMM_WORLD, &r);
  for (int i = 0; i < 10; i++) {
    MPI_Start(&r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &cancelled);
    CHECK(cancelled);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&r);
    out = rank * 100 + i;
    MPI_Send(&out, 1, MPI_INT, peer, 8, MPI_COMM_WORLD);
    MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &cancelled);
    CHECK(!cancelled);
    CHECK_EQ(y, peer * 100 + i);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request_free(&r);

  STEP("cancel, then free");
  MPI_Irecv(&x, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, &r);
  MPI_Cancel(&r);
  MPI_Request_free(&r);
  CHECK(r == MPI_REQUEST_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&out, 1, MPI_INT, peer, 9, MPI_COMM_WORLD);
  MPI_Recv(&y, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQ(x, -1);

  STEP("a cancelled synchronous send either was taken back, or is received: never both");
  // The libraries may refuse to cancel a send; then it must be delivered.
  static unsigned char big[100000];
  for (int i = 0; i < 4; i++) {
    int size = i % 2 ? 100000 : 10, fate;
    if (rank == 0) {
      fill(big, (size_t)size, (unsigned)i);
      MPI_Issend(big, BYTES(size), 1, 10, MPI_COMM_WORLD, &r);
      MPI_Cancel(&r);
      int finished = 0;
      double limit = now() + 1;
      while (!finished && now() < limit) MPI_Test(&r, &finished, &s);
      fate = 0;
      if (finished) MPI_Test_cancelled(&s, &fate);
      MPI_Send(&fate, 1, MPI_INT, 1, 11, MPI_COMM_WORLD);
      if (!finished) {
        MPI_Wait(&r, &s);
        MPI_Test_cancelled(&s, &cancelled);
        CHECK(!cancelled);
      }
    } else {
      MPI_Recv(&fate, 1, MPI_INT, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      int flag;
      if (fate) {
        MPI_Iprobe(0, 10, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
      } else {
        MPI_Recv(big, BYTES(size), 0, 10, MPI_COMM_WORLD, &s);
        CHECK_EQ(first_wrong(big, (size_t)size, (unsigned)i), -1);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);  // the probe must not find the next message
  }
  return end();
}
