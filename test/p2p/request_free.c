// Request_free on active requests; Request_get_status, which looks and changes nothing.
#include "check.h"

enum { big = 150000, n = 200 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, flag;
  static unsigned char out[2][big], in[big];
  static int numbers[n];
  MPI_Request r;
  MPI_Status s, t;

  STEP("freed sends arrive");
  for (int i = 0; i < n; i++) {
    numbers[i] = i * 10 + rank;
    MPI_Isend(&numbers[i], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &r);
    MPI_Request_free(&r);
    CHECK(r == MPI_REQUEST_NULL);
  }
  for (int i = 0; i < n; i++) {
    int x;
    MPI_Recv(&x, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(x, i * 10 + before);
  }
  for (int k = 0; k < 2; k++) {
    fill(out[k], big, (unsigned)(k + rank));
    if (k) {
      MPI_Issend(out[k], BYTES(big), next, 2, MPI_COMM_WORLD, &r);
    } else {
      MPI_Isend(out[k], BYTES(big), next, 2, MPI_COMM_WORLD, &r);
    }
    MPI_Request_free(&r);
  }
  for (int k = 0; k < 2; k++) {
    MPI_Recv(in, BYTES(big), before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(first_wrong(in, big, (unsigned)(k + before)), -1);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  STEP("a freed receive is filled");
  // Known to be complete by a later message of the same sender.
  volatile int filled = -1;
  int marker;
  MPI_Irecv((void*)&filled, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &r);
  MPI_Request_free(&r);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
  MPI_Recv(&marker, 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQ(filled, before);

  STEP("get_status of null, inactive, incomplete and complete requests");
  r = MPI_REQUEST_NULL;
  flag = 0;
  poison(&s);
  MPI_Request_get_status(r, &flag, &s);
  CHECK(flag);
  CHECK_EQ(s.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(s.MPI_TAG, MPI_ANY_TAG);
  MPI_Recv_init(in, BYTES(big), before, 4, MPI_COMM_WORLD, &r);
  flag = 0;
  MPI_Request_get_status(r, &flag, &s);
  CHECK(flag);
  CHECK_EQ(count_of(&s, MPI_BYTE), 0);
  for (int i = 0; i < 20; i++) {
    int size = i % 2 ? big : 10;
    MPI_Start(&r);
    MPI_Request_get_status(r, &flag, &s);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request send;
    fill(out[0], (size_t)size, (unsigned)(i + rank));
    MPI_Isend(out[0], BYTES(size), next, 4, MPI_COMM_WORLD, &send);
    flag = 0;
    while (!flag) MPI_Request_get_status(r, &flag, &s);
    CHECK_EQ(s.MPI_SOURCE, before);
    CHECK_EQ(s.MPI_TAG, 4);
    CHECK_EQ(count_of(&s, MPI_BYTE), size);
    CHECK_EQ(first_wrong(in, (size_t)size, (unsigned)(i + before)), -1);
    MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
    CHECK(flag);
    MPI_Wait(&r, &t);
    CHECK_EQ(t.MPI_SOURCE, before);
    CHECK_EQ(count_of(&t, MPI_BYTE), size);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request_free(&r);
  return end();
}
