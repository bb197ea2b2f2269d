// Several threads exchange typed messages that the MPI library carries (a rank without Tasuki makes it do
// so), each with requests of its own; the same types are met by all threads at once.
#include <pthread.h>
#include <stdint.h>

#include "../p2p/check.h"

enum { kThreads = 3, kRounds = 60, kMessages = 4, kMost = 40000 };

static void* exchange(void* number) {
  const int me = (int)(intptr_t)number, other = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  int* out = malloc(sizeof(int) * kMessages * 2 * kMost);
  int* in = malloc(sizeof(int) * kMessages * 2 * kMost);
  CHECK(out != NULL && in != NULL);
  for (int round = 0; round < kRounds; round++) {
    const int n = round % 5 == 0 ? kMost : 100 + 37 * round;
    MPI_Datatype type;
    MPI_Type_vector(n, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Request r[2 * kMessages];
    MPI_Status s[2 * kMessages];
    for (int k = 0; k < kMessages; k++) {
      for (int i = 0; i < 2 * n; i++) {
        out[k * 2 * kMost + i] = ((rank * kThreads + me) * kRounds + round) * kMessages + k + i * 12345;
        in[k * 2 * kMost + i] = -1;
      }
      MPI_Irecv(in + k * 2 * kMost, 1, type, from, me * 10 + k, MPI_COMM_WORLD, &r[k]);
    }
    for (int k = 0; k < kMessages; k++)
      MPI_Isend(out + k * 2 * kMost, 1, type, other, me * 10 + k, MPI_COMM_WORLD, &r[kMessages + k]);
    if (round % 3 == 0) {
      MPI_Waitall(2 * kMessages, r, s);
    } else if (round % 3 == 1) {
      for (int done = 0; done < 2 * kMessages;) {
        int some, indices[2 * kMessages];
        MPI_Testsome(2 * kMessages, r, &some, indices, s);
        done += some;
      }
    } else {
      for (int k = 0; k < 2 * kMessages; k++) MPI_Wait(&r[k], &s[k]);
    }
    MPI_Type_free(&type);
    for (int k = 0; k < kMessages; k++)
      for (int i = 0; i < 2 * n; i++)
        CHECK_EQ(in[k * 2 * kMost + i],
                 i % 2 != 0 ? -1 : ((from * kThreads + me) * kRounds + round) * kMessages + k + i * 12345);
  }
  free(in);
  free(out);
  return NULL;
}

int main(int argc, char** argv) {
  begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  STEP("self");  // the one communicator here that is Tasuki's
  int one = 1, two = 0;
  MPI_Sendrecv(&one, 1, MPI_INT, 0, 0, &two, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK_EQ(two, 1);
  STEP("threads");
  pthread_t t[kThreads];
  for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_create(&t[i], NULL, exchange, (void*)(intptr_t)i), 0);
  for (int i = 0; i < kThreads; i++) pthread_join(t[i], NULL);
  return end();
}
