// The MPI library's own operations go on while a rank waits in a receive, a probe or a wait that Tasuki
// handles: one-sided operations, non-blocking collectives, generalized requests, messages on other
// communicators.
#include "check.h"

enum { n = 1000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int token = 0, flag;
  MPI_Request r[4];

  for (int round = 0; round < 20; round++) {
    STEP("a non-blocking collective that the last rank waits for, while the others wait in a receive for it");
    static long in[20000], out[20000];
    for (int i = 0; i < 20000; i++) in[i] = rank + i + round;
    MPI_Iallreduce(in, out, 20000, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &r[0]);
    if (rank == ranks - 1) {
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      for (int p = 0; p < ranks - 1; p++) MPI_Send(&round, 1, MPI_INT, p, 1, MPI_COMM_WORLD);
    } else {
      if (round % 3 == 0) {
        MPI_Probe(ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&token, 1, MPI_INT, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (round % 3 == 1) {
        MPI_Recv(&token, 1, MPI_INT, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Irecv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[1]);
        for (flag = 0; !flag;) MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE);
      }
      CHECK_EQ(token, round);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 20000; i++) CHECK_EQ(out[i], (long)ranks * (i + round) + ranks * (ranks - 1) / 2);

    STEP("a barrier that one rank polls while the others wait for a synchronous send to it");
    MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
    if (rank == 0) {
      for (flag = 0; !flag;) MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
      for (int p = 1; p < ranks; p++) MPI_Recv(&token, 1, MPI_INT, p, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Ssend(&round, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    }
  }

  STEP("passive one-sided operations on a rank that waits in a receive");
  MPI_Win win;
  int* window;
  MPI_Win_allocate(n * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
  memset(window, 0, n * sizeof(int));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int p = 1; p < ranks; p++) MPI_Recv(&token, 1, MPI_INT, p, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    for (int i = 0; i < n; i++) CHECK_EQ(window[i], i < 50 ? ranks - 1 : 0);
    MPI_Win_unlock(0, win);
  } else {
    for (int i = 0; i < 50; i++) {
      int one = 1, before;
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
      MPI_Fetch_and_op(&one, &before, MPI_INT, 0, i, MPI_SUM, win);
      MPI_Win_flush(0, win);
      CHECK(before >= 0 && before < ranks - 1);
      MPI_Win_unlock(0, win);
    }
    MPI_Send(&rank, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  STEP("fences and messages in turn");
  for (int round = 0; round < 50; round++) {
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, value = rank * 100 + round;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, next, 7, 1, MPI_INT, win);
    MPI_Sendrecv(&value, 1, MPI_INT, next, 4, &token, 1, MPI_INT, before, 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Win_fence(0, win);
    CHECK_EQ(token, before * 100 + round);
    CHECK_EQ(window[7], token);
  }
  MPI_Win_free(&win);

  STEP("a window of dynamic memory, locked for all");
  static int dynamic[n];
  MPI_Aint address, where;
  MPI_Win_create(dynamic, sizeof dynamic, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Get_address(dynamic, &address);
  MPI_Win_lock_all(0, win);
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(&address, 1, MPI_AINT, before, 5, &where, 1, MPI_AINT, next, 5, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(where != 0);
  for (int i = 0; i < 20; i++) {
    int value = rank + 1;
    MPI_Accumulate(&value, 1, MPI_INT, next, i, 1, MPI_INT, MPI_SUM, win);
  }
  MPI_Win_flush_all(win);
  MPI_Send(&rank, 1, MPI_INT, next, 6, MPI_COMM_WORLD);
  MPI_Recv(&token, 1, MPI_INT, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_sync(win);
  for (int i = 0; i < 20; i++) CHECK_EQ(dynamic[i], before + 1);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);

  STEP("a message of the library, received while its sender waits in a receive of ours");
  // No communicator of an inter-communicator's kind made by MPI_Comm_idup is known to be handled or not: both
  // must work, and a rank that waits on the one must serve the other.
  MPI_Comm idup;
  MPI_Comm_idup(MPI_COMM_WORLD, &idup, &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  static char large[3000000];
  int peer = rank ^ 1;
  if (peer < ranks) {
    if (rank % 2 == 0) {
      fill(large, sizeof large, 5);
      MPI_Isend(large, BYTES(sizeof large), peer, 1, idup, &r[0]);
      MPI_Recv(&token, 1, MPI_INT, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(token, 4711);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(large, BYTES(sizeof large), peer, 1, idup, MPI_STATUS_IGNORE);
      CHECK_EQ(first_wrong(large, sizeof large, 5), -1);
      token = 4711;
      MPI_Send(&token, 1, MPI_INT, peer, 7, MPI_COMM_WORLD);
    }
  }
  MPI_Comm_free(&idup);
  return end();
}
