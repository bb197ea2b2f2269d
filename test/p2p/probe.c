// Probe and Iprobe: what they report is what the next matching receive gets, and they take nothing away.
#include "check.h"

enum { most = 200000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  static unsigned char data[most];
  MPI_Status s, t;
  int flag;

  STEP("nothing is there");
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
  CHECK_EQ(flag, 0);
  MPI_Barrier(MPI_COMM_WORLD);

  if (rank != 0) {
    for (int i = 0; i < 400; i++) {
      int size = i % 40 == 0 ? most : i * 11 % 5000;
      fill(data, (size_t)size, (unsigned)(i + rank * 1000));
      MPI_Send(data, BYTES(size), 0, i % 7, MPI_COMM_WORLD);
    }
  } else {
    STEP("any source, any tag");
    int count[16] = {0};
    for (int i = 0; i < 400 * (ranks - 1); i++) {
      poison(&s);
      if (i % 2) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
      } else {
        flag = 0;
        while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
      }
      int source = s.MPI_SOURCE, tag = s.MPI_TAG, size = count_of(&s, MPI_BYTE);
      CHECK(source > 0 && source < ranks);
      CHECK_EQ(tag, count[source] % 7);
      int number = count[source]++;
      CHECK_EQ(size, number % 40 == 0 ? most : number * 11 % 5000);
      // Still there, however often one looks, and by its name too.
      MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &t);
      CHECK_EQ(flag, 1);
      CHECK_EQ(count_of(&t, MPI_BYTE), size);
      MPI_Probe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &t);
      CHECK_EQ(t.MPI_TAG, tag);
      CHECK_EQ(count_of(&t, MPI_BYTE), size);
      MPI_Recv(data, BYTES(size), source, tag, MPI_COMM_WORLD, &t);
      CHECK_EQ(count_of(&t, MPI_BYTE), size);
      CHECK_EQ(first_wrong(data, (size_t)size, (unsigned)(number + source * 1000)), -1);
    }
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
    CHECK_EQ(flag, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  STEP("a probe by tag looks past earlier messages");
  if (rank == 1) {
    for (int tag = 0; tag < 50; tag++) MPI_Send(&tag, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  } else if (rank == 0) {
    for (int tag = 49; tag >= 0; tag--) {
      int value = -1;
      MPI_Probe(1, tag, MPI_COMM_WORLD, &s);
      CHECK_EQ(s.MPI_TAG, tag);
      CHECK_EQ(count_of(&s, MPI_INT), 1);
      MPI_Recv(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(value, tag);
    }
  }

  STEP("status ignored, self, nobody");
  MPI_Request r;
  MPI_Isend(&rank, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &r);
  MPI_Probe(rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK_EQ(flag, 1);
  int me = -1;
  MPI_Recv(&me, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQ(me, rank);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  poison(&s);
  MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &s);
  CHECK_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(s.MPI_TAG, MPI_ANY_TAG);
  CHECK_EQ(count_of(&s, MPI_BYTE), 0);
  poison(&s);
  MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &s);
  CHECK_EQ(flag, 1);
  CHECK_EQ(s.MPI_SOURCE, MPI_PROC_NULL);

  STEP("a posted receive hides its message from probes");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    int a = 0, b = 0;
    MPI_Irecv(&a, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &r);
    MPI_Send(NULL, 0, MPI_INT, 1, 4, MPI_COMM_WORLD);
    MPI_Probe(1, 5, MPI_COMM_WORLD, &s);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Recv(&b, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(a, 1);
    CHECK_EQ(b, 2);
  } else if (rank == 1) {
    MPI_Recv(NULL, 0, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i <= 2; i++) MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
  return end();
}
