// MPI_Bcast between point-to-point messages and other collective operations: each keeps its own order,
// wildcard receives and probes never see a broadcast, and what is under way arrives while ranks wait in one.
#include "check.h"

enum { large = 300000 };

static char *out, *in, *data;

// A ring of messages is in progress during the broadcast; all of it has wildcards.
static void around(int round, size_t bytes, size_t message) {
  MPI_Request requests[2];
  MPI_Status status;
  const int root = round % ranks, left = (rank + ranks - 1) % ranks;
  fill(out, message, (unsigned)(rank + round));
  if (rank == root) fill(data, bytes, (unsigned)round);
  MPI_Irecv(in, BYTES(message), MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, BYTES(message), (rank + 1) % ranks, round % 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Bcast(data, BYTES(bytes), root, MPI_COMM_WORLD);
  CHECK_EQ(first_wrong(data, bytes, (unsigned)round), -1);
  MPI_Wait(&requests[0], &status);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  CHECK_EQ(status.MPI_SOURCE, left);
  CHECK_EQ(status.MPI_TAG, round % 3);
  CHECK_EQ(first_wrong(in, message, (unsigned)(left + round)), -1);
}

// A broadcast that has arrived and not been called is no message for a probe.
static void probes(size_t bytes) {
  int flag = 0;
  if (rank == 0) {
    fill(data, bytes, 5);
    MPI_Bcast(data, BYTES(bytes), 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  const double until = now() + 0.005;
  while (now() < until) {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
  }
  MPI_Bcast(data, BYTES(bytes), 0, MPI_COMM_WORLD);
  CHECK_EQ(first_wrong(data, bytes, 5), -1);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void collectives(void) {
  for (int i = 0; i < 100; i++) {
    int sum = 0, one = 1, root = i % ranks, value = rank == root ? i : -1;
    MPI_Request request;
    int later = rank == root ? 1000 + i : -1;
    MPI_Ibcast(&later, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
    MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(value, i);
    CHECK_EQ(sum, ranks);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(later, 1000 + i);
  }
}

// Overlapping communicators, with roots that wait for each other's receivers in turn.
static void overlapping(void) {
  MPI_Comm pair[2];
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair[0]);
  MPI_Comm_split(MPI_COMM_WORLD, (rank + 1) % ranks / 2, rank, &pair[1]);
  for (int i = 0; i < 60; i++) {
    const size_t bytes = i % 3 == 0 ? large : i % 3 == 1 ? 10000 : 10;
    for (int k = 0; k < 2; k++) {
      int me, n;
      MPI_Comm_rank(pair[k], &me);
      MPI_Comm_size(pair[k], &n);
      if (me == i % n) fill(data, bytes, (unsigned)i);
      MPI_Bcast(data, BYTES(bytes), i % n, pair[k]);
      CHECK_EQ(first_wrong(data, bytes, (unsigned)i), -1);
    }
  }
  MPI_Comm_free(&pair[0]);
  MPI_Comm_free(&pair[1]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  out = allocate(large);
  in = allocate(large);
  data = allocate(large);
  static const size_t sizes[] = {4, 900, 5000, 40000, large};
  STEP("with messages");
  for (int round = 0; round < 200; round++) around(round, sizes[round % 5], sizes[round / 5 % 5]);
  STEP("with probes");
  probes(4);
  probes(5000);
  probes(large);
  STEP("with other collectives");
  collectives();
  STEP("on overlapping communicators");
  overlapping();
  free(out);
  free(in);
  free(data);
  return end();
}
