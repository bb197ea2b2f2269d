// Persistent requests: start, startall, restart with fresh data, inactive ones in wait/test, free.
#include "check.h"

enum { n = 4096 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  static int out[4][n], in[4][n];
  MPI_Request r[8];
  char* space = allocate(n * sizeof(int) * 8 + 8 * MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(space, (int)(n * sizeof(int) * 8 + 8 * MPI_BSEND_OVERHEAD));

  STEP("init");
  static const int counts[4] = {0, 3, 600, n};
  MPI_Send_init(out[0], counts[0], MPI_INT, next, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Send_init(out[1], counts[1], MPI_INT, next, 1, MPI_COMM_WORLD, &r[1]);
  MPI_Bsend_init(out[2], counts[2], MPI_INT, next, 2, MPI_COMM_WORLD, &r[2]);
  MPI_Ssend_init(out[3], counts[3], MPI_INT, next, 3, MPI_COMM_WORLD, &r[3]);
  for (int i = 0; i < 4; i++) MPI_Recv_init(in[i], n, MPI_INT, before, i, MPI_COMM_WORLD, &r[4 + i]);

  STEP("inactive requests are complete and empty");
  MPI_Status s;
  int flag = 0;
  poison(&s);
  MPI_Wait(&r[4], &s);
  CHECK_EQ(s.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(s.MPI_TAG, MPI_ANY_TAG);
  CHECK_EQ(count_of(&s, MPI_INT), 0);
  CHECK(r[4] != MPI_REQUEST_NULL);
  MPI_Test(&r[0], &flag, &s);
  CHECK(flag);
  CHECK(r[0] != MPI_REQUEST_NULL);
  int index = 17;
  MPI_Waitany(8, r, &index, &s);
  CHECK_EQ(index, MPI_UNDEFINED);
  MPI_Testall(8, r, &flag, MPI_STATUSES_IGNORE);
  CHECK(flag);

  STEP("restart");
  for (int round = 0; round < 200; round++) {
    for (int i = 0; i < 4; i++)
      for (int k = 0; k < counts[i]; k++) out[i][k] = round * 1000003 + i * 101 + k + rank;
    for (int i = 0; i < 4; i++) memset(in[i], 0xff, sizeof in[i]);
    if (round % 3 == 0) {
      MPI_Startall(8, r);
    } else {
      for (int i = 0; i < 8; i++) MPI_Start(&r[(i + round) % 8]);
    }
    MPI_Status statuses[8];
    if (round % 2) {
      MPI_Waitall(8, r, statuses);
    } else {
      for (int done = 0; done < 8; done++) {
        int which;
        MPI_Waitany(8, r, &which, &s);
        CHECK(which >= 0 && which < 8);
        statuses[which] = s;
      }
    }
    for (int i = 0; i < 4; i++) {
      CHECK(r[i] != MPI_REQUEST_NULL && r[4 + i] != MPI_REQUEST_NULL);
      CHECK_EQ(statuses[4 + i].MPI_SOURCE, before);
      CHECK_EQ(statuses[4 + i].MPI_TAG, i);
      CHECK_EQ(count_of(&statuses[4 + i], MPI_INT), counts[i]);
      for (int k = 0; k < n; k++)
        CHECK_EQ(in[i][k], k < counts[i] ? round * 1000003 + i * 101 + k + before : -1);
    }
  }

  STEP("a persistent send meets an ordinary receive, and the other way round");
  out[1][0] = rank;
  MPI_Start(&r[1]);
  int got[3];
  MPI_Recv(got, 3, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQ(got[0], before);
  MPI_Wait(&r[1], MPI_STATUS_IGNORE);
  MPI_Start(&r[5]);
  MPI_Send(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
  MPI_Wait(&r[5], &s);
  CHECK_EQ(in[1][0], before);
  CHECK_EQ(count_of(&s, MPI_INT), 1);

  STEP("ready persistent");
  MPI_Request ready, receive;
  MPI_Rsend_init(out[3], 100, MPI_INT, next, 9, MPI_COMM_WORLD, &ready);
  MPI_Recv_init(in[3], 100, MPI_INT, before, 9, MPI_COMM_WORLD, &receive);
  for (int round = 0; round < 10; round++) {
    out[3][99] = round + rank;
    MPI_Start(&receive);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&ready);
    MPI_Wait(&ready, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_EQ(in[3][99], round + before);
  }

  STEP("to and from nobody");
  MPI_Request none[2];
  MPI_Send_init(out[0], 5, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &none[0]);
  MPI_Recv_init(in[0], 5, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &none[1]);
  for (int round = 0; round < 3; round++) {
    MPI_Status statuses[2];
    MPI_Startall(2, none);
    MPI_Waitall(2, none, statuses);
#ifndef OPEN_MPI  // MPICH 4.0 returns the empty status here
    if (statuses[1].MPI_SOURCE != MPI_ANY_SOURCE)
#endif
      CHECK_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(statuses[1].MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(count_of(&statuses[1], MPI_INT), 0);
  }
  MPI_Request_free(&none[0]);
  MPI_Request_free(&none[1]);

  STEP("free: inactive, then while active");
  MPI_Request_free(&ready);
  MPI_Request_free(&receive);
  CHECK(ready == MPI_REQUEST_NULL);
  for (int k = 0; k < n; k++) out[3][k] = k ^ rank;
  MPI_Irecv(in[0], n, MPI_INT, before, 3, MPI_COMM_WORLD, &receive);
  MPI_Start(&r[3]);
  MPI_Request_free(&r[3]);
  CHECK(r[3] == MPI_REQUEST_NULL);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  for (int k = 0; k < n; k++) CHECK_EQ(in[0][k], k ^ before);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 8; i++)
    if (r[i] != MPI_REQUEST_NULL) MPI_Request_free(&r[i]);
  void* detached;
  int bytes;
  MPI_Buffer_detach(&detached, &bytes);
  free(space);
  return end();
}
