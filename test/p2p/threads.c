// MPI_THREAD_MULTIPLE: several threads of each rank send, receive, test and probe at once. Every thread has a
// tag or a communicator of its own, so each must get exactly its own messages, in order.
#include <pthread.h>

#include "check.h"

enum { threads = 4, rounds = 300, most = 40000 };

static MPI_Comm own_comm[threads], shared;

static int size_of(int i, int lane) {
  static const int sizes[] = {0, 8, 40, 1000, 1001, 4096, 5000, 20000, most};
  return sizes[(i * 7 + lane) % 9];
}

static unsigned seed_of(int from, int lane, int i) {
  return (unsigned)(from * 1000003 + lane * 10007 + i);
}

static void expect(const unsigned char* in, int from, int lane, int i, const MPI_Status* s) {
  CHECK_EQ(count_of(s, MPI_BYTE), size_of(i, lane));
  CHECK_EQ(s->MPI_SOURCE, from);
  CHECK_EQ(first_wrong(in, (size_t)size_of(i, lane), seed_of(from, lane, i)), -1);
}

// Blocking calls with a tag of the thread's own, named source.
static void* blocking(void* argument) {
  int lane = (int)(intptr_t)argument, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  unsigned char *out = allocate(most), *in = allocate(most);
  MPI_Status s;
  for (int i = 0; i < rounds; i++) {
    int n = size_of(i, lane);
    fill(out, (size_t)n, seed_of(rank, lane, i));
    MPI_Request r;
    MPI_Isend(out, BYTES(n), next, lane, shared, &r);
    MPI_Recv(in, BYTES(most), before, lane, shared, &s);
    expect(in, before, lane, i, &s);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
  return NULL;
}

// Wildcards on a communicator of the thread's own; windows of requests.
static void* wildcards(void* argument) {
  enum { window = 8 };
  int lane = (int)(intptr_t)argument, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  unsigned char* out[window];
  unsigned char* in[window];
  for (int k = 0; k < window; k++) {
    out[k] = allocate(most);
    in[k] = allocate(most);
  }
  for (int i = 0; i < rounds; i += window) {
    MPI_Request r[2 * window];
    MPI_Status s[2 * window];
    for (int k = 0; k < window; k++) {
      int n = size_of(i + k, lane);
      MPI_Irecv(in[k], BYTES(most), MPI_ANY_SOURCE, MPI_ANY_TAG, own_comm[lane], &r[k]);
      fill(out[k], (size_t)n, seed_of(rank, lane, i + k));
      MPI_Isend(out[k], BYTES(n), next, i + k, own_comm[lane], &r[window + k]);
    }
    if (i / window % 2 == 0) {
      MPI_Waitall(2 * window, r, s);
    } else {
      for (int left = 2 * window; left > 0;) {
        int index, flag;
        MPI_Status one;
        MPI_Testany(2 * window, r, &index, &flag, &one);
        if (!flag) continue;
        s[index] = one;
        left--;
      }
    }
    for (int k = 0; k < window; k++) {
      CHECK_EQ(s[k].MPI_TAG, i + k);
      expect(in[k], before, lane, i + k, &s[k]);
    }
  }
  for (int k = 0; k < window; k++) {
    free(out[k]);
    free(in[k]);
  }
  return NULL;
}

// Matched probes: all threads take messages of one stream; no message is lost or taken twice.
static volatile int taken[rounds * threads];
static void* probes(void* argument) {
  int lane = (int)(intptr_t)argument, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  unsigned char *out = allocate(most), *in = allocate(most);
  for (int i = 0; i < rounds; i++) {
    int id = i * threads + lane, n = 4 + size_of(i, lane) / 2;
    fill(out, (size_t)n, seed_of(rank, 77, id));
    MPI_Request r;
    MPI_Isend(out, BYTES(n), next, 1000 + id, shared, &r);
    MPI_Message m = MPI_MESSAGE_NULL;
    MPI_Status s;
    if (i % 2 == 0) {
      MPI_Mprobe(before, MPI_ANY_TAG, shared, &m, &s);
    } else {
      int flag = 0;
      while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, shared, &flag, &m, &s);
    }
    int got = s.MPI_TAG - 1000, bytes = count_of(&s, MPI_BYTE);
    CHECK(got >= 0 && got < rounds * threads);
    CHECK_EQ(__atomic_fetch_add(&taken[got], 1, __ATOMIC_RELAXED), 0);
    CHECK_EQ(bytes, 4 + size_of(got / threads, got % threads) / 2);
    if (i % 3 == 0) {
      MPI_Request receive;
      MPI_Imrecv(in, BYTES(most), &m, &receive);
      MPI_Wait(&receive, &s);
    } else {
      MPI_Mrecv(in, BYTES(most), &m, &s);
    }
    CHECK(m == MPI_MESSAGE_NULL);
    CHECK_EQ(first_wrong(in, (size_t)bytes, seed_of(before, 77, got)), -1);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
  return NULL;
}

// Some threads poll with Iprobe, others wait in a receive of the same communicator: different tags.
static void* mixed(void* argument) {
  int lane = (int)(intptr_t)argument, peer = rank ^ 1;
  unsigned char *out = allocate(most), *in = allocate(most);
  MPI_Status s;
  if (peer < ranks) {
    for (int i = 0; i < rounds; i++) {
      int n = size_of(i, lane);
      fill(out, (size_t)n, seed_of(rank, lane, i));
      if (rank % 2 == 0) MPI_Send(out, BYTES(n), peer, lane, shared);
      if (lane % 2 == 0) {
        int flag = 0;
        while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, lane, shared, &flag, &s);
        CHECK_EQ(count_of(&s, MPI_BYTE), n);
      }
      MPI_Recv(in, BYTES(most), MPI_ANY_SOURCE, lane, shared, &s);
      expect(in, peer, lane, i, &s);
      if (rank % 2 == 1) MPI_Ssend(out, BYTES(n), peer, lane, shared);
    }
  }
  free(out);
  free(in);
  return NULL;
}

static void together(const char* name, void* (*work)(void*)) {
  pthread_t t[threads];
  STEP(name);
  MPI_Barrier(MPI_COMM_WORLD);
  for (intptr_t i = 1; i < threads; i++) CHECK(pthread_create(&t[i], NULL, work, (void*)i) == 0);
  work((void*)0);
  for (int i = 1; i < threads; i++) pthread_join(t[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  MPI_Comm_dup(MPI_COMM_WORLD, &shared);
  for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &own_comm[i]);
  together("blocking calls, tags of their own", blocking);
  together("wildcards, communicators of their own", wildcards);
  together("matched probes of one stream", probes);
  for (int i = 0; i < rounds * threads; i++) CHECK_EQ(taken[i], 1);
  together("probes beside receives", mixed);
  return end();
}
