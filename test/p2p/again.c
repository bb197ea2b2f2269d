// The same messages again and again, so that their way may change from one to the next (TASUKI_LEARN): typed
// and dense ones, other layouts on either side, several under way at once, to oneself too, by two threads.
// Each has data of its own, and every byte is looked at, gaps included.
#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include "check.h"

enum { rounds = 150, threads = 2, streams = 5, untouched = 0xa5 };

// Blocks of so many bytes, so many bytes from one to the next.
struct side {
  int blocks, length, stride;
};
static const struct stream {
  struct side send, receive;
} kStreams[streams] = {
    {{2000, 8, 64}, {1000, 16, 48}},         // thin on both sides
    {{1, 40000, 40000}, {1, 40000, 40000}},  // dense
    {{16, 1024, 4096}, {16, 1024, 4096}},    // rows
    {{1, 24000, 24000}, {3000, 8, 24}},      // dense, and thin
    {{700, 12, 20}, {1, 8400, 8400}},
};

static MPI_Comm comm[threads];

static MPI_Datatype type_of(const struct side* s, int elements) {
  MPI_Datatype block, all;
  MPI_Type_contiguous(s->length, MPI_BYTE, &block);
  if (elements)  // the gaps belong to the elements, of which the message has many
    MPI_Type_create_resized(block, 0, s->stride, &all);
  else
    MPI_Type_create_hvector(s->blocks, 1, s->stride, block, &all);
  MPI_Type_commit(&all);
  MPI_Type_free(&block);
  return all;
}

static void* work(void* argument) {
  const int lane = (int)(intptr_t)argument;
  const int peer = rank ^ 1;
  MPI_Datatype send[streams], receive[streams];
  unsigned char *out[streams], *in[streams], *own[streams];
  for (int k = 0; k < streams; k++) {
    const struct stream* s = &kStreams[k];
    send[k] = type_of(&s->send, k % 2);
    receive[k] = type_of(&s->receive, k % 2);
    out[k] = allocate((size_t)s->send.blocks * (size_t)s->send.stride);
    in[k] = allocate((size_t)s->receive.blocks * (size_t)s->receive.stride);
    own[k] = allocate((size_t)s->receive.blocks * (size_t)s->receive.stride);
  }
  unsigned random = (unsigned)(rank * threads + lane);
  for (int round = 0; round < rounds; round++) {
    MPI_Request r[3 * streams];
    int started = 0;
    for (int k = 0; k < streams; k++) {
      const struct side* s = &kStreams[k].send;
      const struct side* d = &kStreams[k].receive;
      const unsigned seed = (unsigned)((round * streams + k) * threads + lane) * 2u;
      for (int i = 0; i < s->blocks; i++)
        for (int j = 0; j < s->length; j++)
          out[k][i * s->stride + j] = byte_of(seed + (unsigned)rank % 2u, (size_t)(i * s->length + j));
      memset(in[k], untouched, (size_t)d->blocks * (size_t)d->stride);
      memset(own[k], untouched, (size_t)d->blocks * (size_t)d->stride);
    }
    // Now the receives are first, now the messages.
    random = random * 1103515245u + 12345u;
    const int late = random >> 16 & 1;
    for (int part = 0; part < 2; part++)
      for (int k = 0; k < streams; k++) {
        const int sends = kStreams[k].send.blocks, receives = kStreams[k].receive.blocks;
        const int count = k % 2 ? sends : 1, room = k % 2 ? receives : 1;
        if (part == late) {
          MPI_Irecv(in[k], room, receive[k], peer, k, comm[lane], &r[started++]);
          if (k == round % streams)
            MPI_Irecv(own[k], room, receive[k], rank, 100 + k, comm[lane], &r[started++]);
        } else {
          MPI_Isend(out[k], count, send[k], peer, k, comm[lane], &r[started++]);
          if (k == round % streams)
            MPI_Isend(out[k], count, send[k], rank, 100 + k, comm[lane], &r[started++]);
        }
        if (random >> 20 & 1) sched_yield();
      }
    MPI_Waitall(started, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < streams; k++) {
      const struct side* d = &kStreams[k].receive;
      const unsigned seed = (unsigned)((round * streams + k) * threads + lane) * 2u;
      for (int i = 0; i < d->blocks; i++)
        for (int j = 0; j < d->stride; j++) {
          const int at = i * d->stride + j, data = j < d->length;
          const size_t n = (size_t)(i * d->length + j);
          CHECK_EQ(in[k][at], data ? byte_of(seed + (unsigned)peer % 2u, n) : untouched);
          if (k == round % streams)
            CHECK_EQ(own[k][at], data ? byte_of(seed + (unsigned)rank % 2u, n) : untouched);
        }
    }
  }
  for (int k = 0; k < streams; k++) {
    MPI_Type_free(&send[k]);
    MPI_Type_free(&receive[k]);
    free(out[k]);
    free(in[k]);
    free(own[k]);
  }
  return NULL;
}

int main(int argc, char** argv) {
  begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  CHECK_EQ(ranks % 2, 0);
  alarm(100);
  for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
  STEP("one thread");
  work((void*)0);
  STEP("all threads");
  pthread_t thread[threads];
  for (int i = 0; i < threads; i++) CHECK_EQ(pthread_create(&thread[i], NULL, work, (void*)(intptr_t)i), 0);
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < threads; i++) MPI_Comm_free(&comm[i]);
  return end();
}
