// MPI_Bcast from several threads at once, each on a communicator of its own, while another thread sends
// messages.
#include <pthread.h>

#include "check.h"

enum { threads = 3, rounds = 120, largest = 150000 };

static MPI_Comm comms[threads];

static void* broadcasts(void* argument) {
  const int t = *(int*)argument;
  char* data = allocate(largest);
  for (int i = 0; i < rounds; i++) {
    const size_t bytes = i % 3 == 0 ? 16 : i % 3 == 1 ? 6000 : largest;
    const unsigned seed = (unsigned)(i * threads + t);
    const int root = (i + t) % ranks;
    MPI_Datatype type;
    MPI_Type_contiguous((int)bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    if (rank == root) fill(data, bytes, seed);
    MPI_Bcast(data, 1, type, root, comms[t]);
    MPI_Type_free(&type);
    CHECK_EQ(first_wrong(data, bytes, seed), -1);
  }
  free(data);
  return NULL;
}

static void* messages(void* argument) {
  (void)argument;
  char *out = allocate(20000), *in = allocate(20000);
  for (int i = 0; i < rounds; i++) {
    const size_t bytes = i % 2 ? 20000 : 32;
    const int left = (rank + ranks - 1) % ranks;
    fill(out, bytes, (unsigned)(rank + i));
    MPI_Sendrecv(out, BYTES(bytes), (rank + 1) % ranks, 1, in, BYTES(bytes), left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_EQ(first_wrong(in, bytes, (unsigned)(left + i)), -1);
  }
  free(out);
  free(in);
  return NULL;
}

int main(int argc, char** argv) {
  begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  pthread_t thread[threads + 1];
  int number[threads];
  STEP("threads");
  for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < threads; i++) {
    number[i] = i;
    CHECK_EQ(pthread_create(&thread[i], NULL, broadcasts, &number[i]), 0);
  }
  CHECK_EQ(pthread_create(&thread[threads], NULL, messages, NULL), 0);
  for (int i = 0; i <= threads; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < threads; i++) MPI_Comm_free(&comms[i]);
  return end();
}
