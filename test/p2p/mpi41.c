// What MPI-4.1 added to requests and to buffered mode: MPI_Request_get_status_all, _any and _some; buffers of
// communicators, automatic buffers, flushing.
#include "check.h"

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
enum { n = 3000 };
static unsigned char out[4][n], in[4][n];
static int peer;

// Two receives of ours, an inactive persistent one, a null request, and one that is the library's: a barrier.
static void look_at_requests(void) {
  MPI_Request r[5];
  MPI_Status s[5];
  int flag = -1, index = -1, count = -1, indices[5];
  MPI_Comm other;
  STEP("nothing active");
  for (int i = 0; i < 5; i++) r[i] = MPI_REQUEST_NULL;
  MPI_Recv_init(in[2], BYTES(n), peer, 2, MPI_COMM_WORLD, &r[2]);
  poison(&s[0]);
  MPI_Request_get_status_any(5, r, &index, &flag, &s[0]);
  CHECK_EQ(flag, 1);
  CHECK_EQ(index, MPI_UNDEFINED);
  CHECK_EQ(s[0].MPI_SOURCE, MPI_ANY_SOURCE);
  MPI_Request_get_status_some(5, r, &count, indices, s);
  CHECK_EQ(count, MPI_UNDEFINED);
  MPI_Request_get_status_all(5, r, &flag, s);
  CHECK_EQ(flag, 1);
  CHECK_EQ(count_of(&s[2], MPI_BYTE), 0);

  STEP("nothing complete");
  MPI_Irecv(in[0], BYTES(n), peer, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(in[1], BYTES(n), peer, 1, MPI_COMM_WORLD, &r[1]);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Request_get_status_all(5, r, &flag, s);
  CHECK_EQ(flag, 0);
  MPI_Request_get_status_any(5, r, &index, &flag, s);
  CHECK_EQ(flag, 0);
  CHECK_EQ(index, MPI_UNDEFINED);
  MPI_Request_get_status_some(5, r, &count, indices, s);
  CHECK_EQ(count, 0);
  MPI_Barrier(MPI_COMM_WORLD);

  STEP("one complete");
  fill(out[1], n, (unsigned)rank);
  MPI_Send(out[1], BYTES(n - 10), peer, 1, MPI_COMM_WORLD);
  do MPI_Request_get_status_any(5, r, &index, &flag, &s[0]);
  while (!flag);
  CHECK_EQ(index, 1);
  CHECK_EQ(s[0].MPI_SOURCE, peer);
  CHECK_EQ(s[0].MPI_TAG, 1);
  CHECK_EQ(count_of(&s[0], MPI_BYTE), n - 10);
  MPI_Request_get_status_some(5, r, &count, indices, s);
  CHECK_EQ(count, 1);
  CHECK_EQ(indices[0], 1);
  CHECK_EQ(count_of(&s[0], MPI_BYTE), n - 10);
  MPI_Request_get_status_all(5, r, &flag, MPI_STATUSES_IGNORE);
  CHECK_EQ(flag, 0);

  STEP("the library's request among ours");
  MPI_Ibarrier(other, &r[4]);
  MPI_Barrier(MPI_COMM_WORLD);
  do MPI_Request_get_status_some(5, r, &count, indices, MPI_STATUSES_IGNORE);
  while (count < 2);
  CHECK_EQ(count, 2);
  CHECK_EQ(indices[1], 4);

  STEP("all complete");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(out[1], BYTES(n), peer, 0, MPI_COMM_WORLD);
  do MPI_Request_get_status_all(5, r, &flag, s);
  while (!flag);
  CHECK_EQ(count_of(&s[0], MPI_BYTE), n);
  CHECK_EQ(count_of(&s[1], MPI_BYTE), n - 10);
  CHECK_EQ(s[1].MPI_TAG, 1);
  // They are still there to be waited for.
  CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL && r[4] != MPI_REQUEST_NULL);
  MPI_Waitall(5, r, s);
  CHECK_EQ(count_of(&s[1], MPI_BYTE), n - 10);
  CHECK(r[0] == MPI_REQUEST_NULL && r[4] == MPI_REQUEST_NULL);
  CHECK_EQ(first_wrong(in[1], n - 10, (unsigned)peer), -1);
  MPI_Request_free(&r[2]);
  MPI_Comm_free(&other);
}

// Four messages by buffered sends that find no receive; received afterwards.
static void bsends(MPI_Comm comm, int room_for) {
  for (int i = 0; i < room_for; i++) {
    fill(out[i], n, (unsigned)(10 * rank + i));
    CHECK_EQ(MPI_Bsend(out[i], BYTES(n), peer, i, comm), MPI_SUCCESS);
  }
}
static void receive(MPI_Comm comm, int count) {
  for (int i = 0; i < count; i++) {
    MPI_Recv(in[i], BYTES(n), peer, i, comm, MPI_STATUS_IGNORE);
    CHECK_EQ(first_wrong(in[i], n, (unsigned)(10 * peer + i)), -1);
  }
}

static void buffers(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int two = 2 * (n + MPI_BSEND_OVERHEAD);
  void *back = NULL, *space = allocate((size_t)two), *own = allocate((size_t)two);
  int bytes = -1;
  MPI_Request flushed;
  STEP("a communicator with a buffer of its own");
  MPI_Comm_attach_buffer(comm, own, two);
  bsends(comm, 2);
  receive(comm, 2);
  MPI_Comm_flush_buffer(comm);
  STEP("beside the process's");
  MPI_Buffer_attach(space, two);
  bsends(comm, 2);
  bsends(MPI_COMM_WORLD, 2);
  receive(MPI_COMM_WORLD, 2);
  receive(comm, 2);
  STEP("a flush makes room");
  MPI_Buffer_flush();
  bsends(MPI_COMM_WORLD, 2);
  receive(MPI_COMM_WORLD, 2);
  MPI_Buffer_iflush(&flushed);
  MPI_Wait(&flushed, MPI_STATUS_IGNORE);
  bsends(MPI_COMM_WORLD, 2);
  receive(MPI_COMM_WORLD, 2);
  STEP("detaching one keeps the other");
  MPI_Comm_iflush_buffer(comm, &flushed);
  MPI_Wait(&flushed, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&back, &bytes);
  CHECK(back == space);
  CHECK_EQ(bytes, two);
  bsends(comm, 2);
  receive(comm, 2);
  MPI_Comm_detach_buffer(comm, &back, &bytes);
  CHECK(back == own);
  CHECK_EQ(bytes, two);
  STEP("an automatic buffer");
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
  bsends(comm, 4);
  receive(comm, 4);
  MPI_Buffer_detach(&back, &bytes);
  MPI_Comm_free(&comm);
  free(space);
  free(own);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  peer = rank ^ 1;
  CHECK_EQ(ranks % 2, 0);
  look_at_requests();
  buffers();
  return end();
}
#else
int main(int argc, char** argv) {
  begin(&argc, &argv);
  skip("this MPI library is older than MPI-4.1");
}
#endif
