// Persistent collective operations of one communicator that several threads start at the same time, each its
// own, in whatever order that comes to.
#include <pthread.h>

#include "../p2p/check.h"

// Open MPI 5 says that it is MPI-3.1.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

enum { kThreads = 3, kEach = 4, kElements = 3000, kStarts = 60 };

typedef struct {
  MPI_Request request;
  long send[kElements], receive[kElements];
  int elements;
} Operation;

static Operation operations[kThreads][kEach];

static void* use(void* argument) {
  const int thread = *(int*)argument;
  Operation* mine = operations[thread];
  for (int i = 0; i < kStarts; i++) {
    for (int k = 0; k < kEach; k++) {
      Operation* o = &mine[(k + rank + i) % kEach];
      for (int e = 0; e < o->elements; e++) o->send[e] = 1000 * rank + e + i;
      MPI_Start(&o->request);
    }
    for (int k = 0; k < kEach; k++) {
      Operation* o = &mine[(2 * kEach - 1 - k + rank) % kEach];
      int done = 0;
      if (i % 2 == 0) MPI_Wait(&o->request, MPI_STATUS_IGNORE);
      while (i % 2 != 0 && !done) MPI_Test(&o->request, &done, MPI_STATUS_IGNORE);
    }
    for (int k = 0; k < kEach; k++)
      for (int e = 0; e < mine[k].elements; e++)
        CHECK_EQ(mine[k].receive[e], 1000L * ranks * (ranks - 1) / 2 + (long)ranks * (e + i));
  }
  return NULL;
}

int main(int argc, char** argv) {
  begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  STEP("making");
  for (int k = 0; k < kEach; k++)
    for (int t = 0; t < kThreads; t++) {
      Operation* o = &operations[t][k];
      o->elements = k % 2 == 0 ? 5 : kElements;
      MPI_Allreduce_init(o->send, o->receive, o->elements, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &o->request);
    }
  STEP("using");
  pthread_t threads[kThreads];
  int number[kThreads];
  for (int t = 0; t < kThreads; t++) {
    number[t] = t;
    pthread_create(&threads[t], NULL, use, &number[t]);
  }
  for (int t = 0; t < kThreads; t++) pthread_join(threads[t], NULL);
  for (int k = 0; k < kEach; k++)
    for (int t = 0; t < kThreads; t++) MPI_Request_free(&operations[t][k].request);
  return end();
}

#else

int main(int argc, char** argv) {
  begin(&argc, &argv);
  skip("this MPI library is older than persistent collective operations");
}

#endif
