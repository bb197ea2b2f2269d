// Matched probe: the message is out of the queue, belongs to the handle, and is received by Mrecv or Imrecv.
#include "check.h"

enum { most = 100000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  static unsigned char data[most];
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status s;
  int flag;

  STEP("nobody");
  poison(&s);
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &s);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  CHECK_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
  poison(&s);
  MPI_Mrecv(data, BYTES(10), &message, &s);
  CHECK(message == MPI_MESSAGE_NULL);
  CHECK_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(s.MPI_TAG, MPI_ANY_TAG);
  CHECK_EQ(count_of(&s, MPI_BYTE), 0);
  flag = 0;
  MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &message, &s);
  CHECK_EQ(flag, 1);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  MPI_Request r;
  MPI_Imrecv(data, BYTES(10), &message, &r);
  CHECK(message == MPI_MESSAGE_NULL);
  poison(&s);
  MPI_Wait(&r, &s);
#ifndef OPEN_MPI  // MPICH 4.0 returns the empty status here
  if (s.MPI_SOURCE != MPI_ANY_SOURCE)
#endif
    CHECK_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(count_of(&s, MPI_BYTE), 0);
  MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &s);
  CHECK_EQ(flag, 0);
  MPI_Barrier(MPI_COMM_WORLD);

  enum { n = 300, ahead = 8 };
  if (rank != 0) {
    for (int i = 0; i < n; i++) {
      int size = i % 30 == 0 ? most : i * 17 % 4500;
      fill(data, (size_t)size, (unsigned)(i + rank * 1000));
      if (i % 5 == 0) {
        MPI_Ssend(data, BYTES(size), 0, i % 3, MPI_COMM_WORLD);
      } else {
        MPI_Send(data, BYTES(size), 0, i % 3, MPI_COMM_WORLD);
      }
    }
  } else {
    STEP("one after the other");
    int count[16] = {0};
    for (int i = 0; i < n * (ranks - 1); i++) {
      poison(&s);
      if (i % 2) {
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &s);
      } else {
        flag = 0;
        while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &s);
      }
      int source = s.MPI_SOURCE, number = count[source]++,
          size = number % 30 == 0 ? most : number * 17 % 4500;
      CHECK(message != MPI_MESSAGE_NULL);
      CHECK_EQ(s.MPI_TAG, number % 3);
      CHECK_EQ(count_of(&s, MPI_BYTE), size);
      memset(data, 0, (size_t)size);
      if (i % 4 < 2) {
        MPI_Mrecv(data, BYTES(size), &message, &s);
      } else {
        MPI_Imrecv(data, BYTES(most), &message, &r);
        CHECK(message == MPI_MESSAGE_NULL);
        MPI_Wait(&r, &s);
      }
      CHECK(message == MPI_MESSAGE_NULL);
      CHECK_EQ(s.MPI_SOURCE, source);
      CHECK_EQ(s.MPI_TAG, number % 3);
      CHECK_EQ(count_of(&s, MPI_BYTE), size);
      CHECK_EQ(first_wrong(data, (size_t)size, (unsigned)(number + source * 1000)), -1);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);

  if (rank == 1) {
    STEP("send several");
    for (int i = 0; i < ahead; i++) MPI_Send(&i, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    int last = ahead;
    MPI_Send(&last, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
  } else if (rank == 0) {
    STEP("messages held by handles are invisible to receives and probes, and may be taken in any order");
    MPI_Message held[ahead];
    for (int i = 0; i < ahead; i++) MPI_Mprobe(1, 9, MPI_COMM_WORLD, &held[i], MPI_STATUS_IGNORE);
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(value, ahead);
    MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Request rest[ahead];
    int values[ahead];
    for (int i = ahead - 1; i >= 0; i--) MPI_Imrecv(&values[i], 1, MPI_INT, &held[i], &rest[i]);
    MPI_Waitall(ahead, rest, MPI_STATUSES_IGNORE);
    for (int i = 0; i < ahead; i++) CHECK_EQ(values[i], i);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  STEP("self, an empty message, a typed receive");
  MPI_Datatype column;
  MPI_Type_vector(50, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  int line[50], matrix[150];
  for (int i = 0; i < 50; i++) line[i] = i * rank;
  memset(matrix, 0xff, sizeof matrix);
  MPI_Request sends[2];
  MPI_Isend(NULL, 0, MPI_INT, rank, 1, MPI_COMM_WORLD, &sends[0]);
  MPI_Isend(line, 50, MPI_INT, rank, 2, MPI_COMM_WORLD, &sends[1]);
  MPI_Message second;
  MPI_Mprobe(rank, 2, MPI_COMM_WORLD, &second, &s);
  CHECK_EQ(count_of(&s, MPI_INT), 50);
  MPI_Mprobe(rank, 1, MPI_COMM_WORLD, &message, &s);
  CHECK_EQ(count_of(&s, MPI_INT), 0);
  MPI_Mrecv(matrix, 1, column, &second, &s);
  CHECK_EQ(count_of(&s, column), 1);
  for (int i = 0; i < 150; i++) CHECK_EQ(matrix[i], i % 3 ? -1 : i / 3 * rank);
  MPI_Mrecv(NULL, 0, MPI_INT, &message, &s);
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  MPI_Type_free(&column);
  return end();
}
