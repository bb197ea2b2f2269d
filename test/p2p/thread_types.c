// MPI_THREAD_MULTIPLE: several threads use one fresh datatype for the first time at the same moment, free it
// while messages of it are on the way, and make communicators meanwhile.
#include <pthread.h>

#include "check.h"

enum { threads = 4, rounds = 400, n = 64 };

static MPI_Comm comm[threads];
static MPI_Datatype fresh;
static pthread_barrier_t gate;
static int rounds_run;

static void* work(void* argument) {
  int lane = (int)(intptr_t)argument, peer = rank ^ 1;
  int out[2 * n], in[2 * n];
  for (int i = 0; i < rounds_run; i++) {
    if (lane == 0) {
      MPI_Type_vector(n, 1, 2, MPI_INT, &fresh);
      MPI_Type_commit(&fresh);
    }
    for (int k = 0; k < 2 * n; k++) {
      out[k] = (rank * threads + lane) * 1000000 + i * 1000 + k;
      in[k] = -1;
    }
    pthread_barrier_wait(&gate);
    MPI_Request r[2];
    for (int again = 0; again < 3; again++) {
      MPI_Irecv(in, 1, fresh, peer, again, comm[lane], &r[0]);
      MPI_Isend(out, 1, fresh, peer, again, comm[lane], &r[1]);
      if (again < 2) MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    pthread_barrier_wait(&gate);
    if (lane == 0) MPI_Type_free(&fresh);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 2 * n; k++)
      CHECK_EQ(in[k], k % 2 ? -1 : (peer * threads + lane) * 1000000 + i * 1000 + k);
    if (i % 50 == lane) {
      MPI_Comm other;
      MPI_Comm_dup(comm[lane], &other);
      MPI_Comm_free(&comm[lane]);
      comm[lane] = other;
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  CHECK_EQ(ranks % 2, 0);
  rounds_run = rounds;
  for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
  pthread_barrier_init(&gate, NULL, threads);
  STEP("fresh types");
  pthread_t t[threads];
  for (intptr_t i = 1; i < threads; i++) CHECK(pthread_create(&t[i], NULL, work, (void*)i) == 0);
  work((void*)0);
  for (int i = 1; i < threads; i++) pthread_join(t[i], NULL);
  return end();
}
