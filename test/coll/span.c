// MPI_Bcast on communicators that span hosts: every size, type, root and communicator; mixed with messages and
// other collective operations; communicators made and freed; several threads have tests of their own.
#include "check.h"

enum { large = 3000000 };

static char *data, *spread;

static const size_t sizes[] = {1, 4096, 16383, 16384, 65536, 65537, 131072, 300000, 1000001, large};
enum { n_sizes = sizeof sizes / sizeof *sizes };

static void contiguous(MPI_Comm comm, size_t bytes, int root, unsigned seed) {
  int me;
  MPI_Comm_rank(comm, &me);
  memset(data, 'x', bytes + 64);
  if (me == root) fill(data, bytes, seed);
  MPI_Bcast(data, BYTES(bytes), root, comm);
  CHECK_EQ(first_wrong(data, bytes, seed), -1);
  CHECK_EQ(first_not(data + bytes, 64, 'x'), -1);
}

// The root's type and those of the others have one signature and different layouts.
static void typed(MPI_Comm comm, size_t ints, int root, unsigned seed) {
  int me;
  MPI_Comm_rank(comm, &me);
  const int gap = 1 + (me + root) % 3; /* 1: dense */
  MPI_Datatype type;
  MPI_Type_vector((int)ints, 1, gap, MPI_INT, &type);
  MPI_Type_commit(&type);
  memset(spread, 'x', ints * (size_t)gap * 4);
  for (size_t i = 0; me == root && i < ints; i++) {
    const int value = (int)(i * 2654435761u + seed);
    memcpy(spread + i * (size_t)gap * 4, &value, 4);
  }
  MPI_Bcast(spread, 1, type, root, comm);
  for (size_t i = 0; i < ints; i++) {
    int value;
    memcpy(&value, spread + i * (size_t)gap * 4, 4);
    CHECK_EQ(value, (int)(i * 2654435761u + seed));
    if (i + 1 < ints) CHECK_EQ(first_not(spread + i * (size_t)gap * 4 + 4, (size_t)(gap - 1) * 4, 'x'), -1);
  }
  MPI_Type_free(&type);
}

static void everything(MPI_Comm comm, unsigned seed) {
  int n;
  MPI_Comm_size(comm, &n);
  for (int i = 0; i < n_sizes; i++) {
    const int roots = sizes[i] > 200000 ? 1 : n;
    for (int k = 0; k < roots; k++) {
      const int root = (k + i) % n;
      contiguous(comm, sizes[i], root, seed + (unsigned)i);
      typed(comm, sizes[i] / 8, root, seed + (unsigned)i);
    }
  }
}

// A ring of messages is in progress during the broadcast, other collective operations follow at once.
static void mixed(int round) {
  MPI_Request requests[2];
  const int left = (rank + ranks - 1) % ranks;
  int out = rank * 1000 + round, in = -1, sum = 0;
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&out, 1, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &requests[1]);
  contiguous(MPI_COMM_WORLD, 100000, round % ranks, (unsigned)round);
  contiguous(MPI_COMM_WORLD, 20000, (round + 1) % ranks, (unsigned)round);
  MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQ(sum, ranks * round + 500 * ranks * (ranks - 1));
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK_EQ(in, left * 1000 + round);
}

// Other orders of the ranks, some without a host, and handles that are used again.
static void others(void) {
  for (int i = 0; i < 12; i++) {
    MPI_Comm comm;
    const int colour = i % 3 == 0 ? 0 : i % 3 == 1 ? rank % 2 : (rank > 0);
    if (i == 5)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
      MPI_Comm_split(MPI_COMM_WORLD, colour, i % 2 == 0 ? -rank : rank, &comm);
    int n;
    MPI_Comm_size(comm, &n);
    for (int k = 0; k < 3; k++) {
      contiguous(comm, sizes[(i + k) % n_sizes], k % n, (unsigned)(i + k));
      typed(comm, 50000, (k + i) % n, (unsigned)i);
    }
    MPI_Comm_free(&comm);
  }
}

// The library's own.
static void between_groups(void) {
  MPI_Comm half, inter;
  const int group = rank % 2;
  MPI_Comm_split(MPI_COMM_WORLD, group, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - group, 3, &inter);
  if (rank == 0) fill(data, 100000, 7);
  MPI_Bcast(data, BYTES(100000), group == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
  if (group == 1) CHECK_EQ(first_wrong(data, 100000, 7), -1);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  data = allocate(large + 64);
  spread = allocate((size_t)large / 8 * 3 * 4);
  STEP("all ranks");
  everything(MPI_COMM_WORLD, 1);
  STEP("with other operations");
  for (int i = 0; i < 20; i++) mixed(i);
  STEP("other communicators");
  others();
  STEP("between groups");
  if (ranks > 1) between_groups();
  free(data);
  free(spread);
  return end();
}
