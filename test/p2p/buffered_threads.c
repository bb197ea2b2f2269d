// MPI_THREAD_MULTIPLE: threads of a rank share its attached buffer. Buffered sends succeed until it is used
// up exactly, and what was received is free again, whichever thread asks.
#include <pthread.h>

#include "check.h"

enum { threads = 4, each = 100, bytes = 3000, credits = 2, steps = 2000 };

static MPI_Comm other;
static int peer;

static void* send_all(void* argument) {
  int lane = (int)(intptr_t)argument;
  unsigned char* out = allocate(bytes);
  for (int i = 0; i < each; i++) {
    fill(out, bytes, (unsigned)(rank * 7777 + lane * each + i));
    CHECK_EQ(MPI_Bsend(out, BYTES(bytes), peer, lane, MPI_COMM_WORLD), MPI_SUCCESS);
  }
  free(out);
  return NULL;
}

static void* receive_all(void* argument) {
  int lane = (int)(intptr_t)argument;
  unsigned char* in = allocate(bytes);
  for (int i = 0; i < each; i++) {
    MPI_Recv(in, BYTES(bytes), peer, lane, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(first_wrong(in, bytes, (unsigned)(peer * 7777 + lane * each + i)), -1);
  }
  free(in);
  return NULL;
}

// At most `credits` messages of each thread are on their way: there is always room.
static void* keep_going(void* argument) {
  int lane = (int)(intptr_t)argument;
  unsigned char *out = allocate(bytes), *in = allocate(bytes);
  for (int i = 0; i < steps; i++) {
    fill(out, 64, (unsigned)(rank + i));
    CHECK_EQ(MPI_Bsend(out, BYTES(bytes), peer, lane, MPI_COMM_WORLD), MPI_SUCCESS);
    if (i % credits != credits - 1) continue;
    for (int k = credits - 1; k >= 0; k--) {
      MPI_Recv(in, BYTES(bytes), peer, lane, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(first_wrong(in, 64, (unsigned)(peer + i - k)), -1);
    }
    MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, threads + lane, NULL, 0, MPI_BYTE, peer, threads + lane,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
  return NULL;
}

static void in_threads(void* (*work)(void*)) {
  pthread_t t[threads];
  for (int i = 0; i < threads; i++) CHECK_EQ(pthread_create(&t[i], NULL, work, (void*)(intptr_t)i), 0);
  for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
}

int main(int argc, char** argv) {
  begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  CHECK_EQ(ranks, 2);
  peer = rank ^ 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int room = threads * each * (bytes + MPI_BSEND_OVERHEAD), size;
  void *space = allocate((size_t)room), *back;
  MPI_Buffer_attach(space, room);
  for (int round = 0; round < 5; round++) {
    STEP("until the buffer is full");
    in_threads(send_all);
    // Tasuki charges less than MPI_BSEND_OVERHEAD for a message, but something. What a library's own buffer still
    // takes then is its affair.
    const int overheads = threads * each * MPI_BSEND_OVERHEAD;
    if (under_tasuki())
      CHECK_EQ(error_class(MPI_Bsend(space, BYTES(overheads), peer, 99, other)), MPI_ERR_BUFFER);
    MPI_Barrier(MPI_COMM_WORLD);
    STEP("all received");
    in_threads(receive_all);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Buffer_detach(&back, &size);
  CHECK(back == space);
  CHECK_EQ(size, room);
  STEP("a small buffer, used again and again");
  room = threads * credits * (bytes + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(space, room);
  in_threads(keep_going);
  MPI_Buffer_detach(&back, &size);
  CHECK_EQ(size, room);
  MPI_Comm_free(&other);
  free(space);
  return end();
}
