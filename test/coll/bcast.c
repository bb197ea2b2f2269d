// MPI_Bcast of every kind of size, from every root, on many communicators, one after the other without a
// pause.
#include "check.h"

#define MOST (3 << 20)

static unsigned char* buffer;

static void one(MPI_Comm comm, int root, size_t bytes, unsigned seed) {
  int me;
  MPI_Comm_rank(comm, &me);
  memset(buffer, 0xee, bytes + 16);
  if (me == root) fill(buffer, bytes, seed);
  CHECK_EQ(MPI_Bcast(buffer, BYTES(bytes), root, comm), MPI_SUCCESS);
  CHECK_EQ(first_wrong(buffer, bytes, seed), -1);
  CHECK_EQ(first_not(buffer + bytes, 16, 0xee), -1);
}

static void sizes(MPI_Comm comm) {
  static const size_t list[] = {0,     1,     40,    41,    1000,  1001,   4095,   4096,    16384,
                                32767, 32768, 32769, 65535, 65536, 131072, 262147, 1 << 20, MOST};
  int n;
  MPI_Comm_size(comm, &n);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (int root = 0; root < n; root++) one(comm, root, list[i], (unsigned)(7 * i + (size_t)root));
}

// Small ones let the root run ahead: what it sends must not change afterwards, and nothing may be overtaken.
static void in_a_row(size_t bytes, int rounds, int rotate) {
  for (int i = 0; i < rounds; i++) {
    const int root = rotate ? i % ranks : 0;
    if (rank == root) fill(buffer, bytes, (unsigned)i);
    MPI_Bcast(buffer, BYTES(bytes), root, MPI_COMM_WORLD);
    CHECK_EQ(first_wrong(buffer, bytes, (unsigned)i), -1);
  }
}

static void communicators(void) {
  MPI_Comm half, reversed, copy, self = MPI_COMM_SELF;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int i = 0; i < 20; i++) {
    const size_t bytes = (size_t)i * i * 500;
    one(half, 0, bytes, (unsigned)(rank % 2 + i));
    one(copy, i % ranks, bytes, (unsigned)i);
    one(reversed, i % ranks, bytes, (unsigned)i + 1);
    one(MPI_COMM_WORLD, i % ranks, bytes, (unsigned)i + 2);
    one(self, 0, bytes, (unsigned)i);
  }
  MPI_Comm_free(&half);
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&copy);
}

static void between_groups(void) {
  MPI_Comm half, inter;
  const int low = rank % 2 == 0;
  int value = low ? 40 + rank : -1;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 1 : 0, 3, &inter);
  MPI_Bcast(&value, 1, MPI_INT, low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
  CHECK_EQ(value, low ? 40 + rank : 40);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

// The root is free to go on: small ones are not held up by a receiver that is late.
static void root_does_not_wait(void) {
  int token = 0;
  for (int i = 0; i < 10; i++) in_a_row(500, 1, 0);
  if (rank == 0) {
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 1; i < ranks; i++) MPI_Send(&token, 1, MPI_INT, i, 5, MPI_COMM_WORLD);
  } else {
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  buffer = allocate(MOST + 16);
  STEP("sizes");
  sizes(MPI_COMM_WORLD);
  STEP("many small ones from one root");
  in_a_row(8, 2000, 0);
  in_a_row(900, 300, 0);
  STEP("many from changing roots");
  in_a_row(8, 1000, 1);
  STEP("many buffered ones");
  in_a_row(2000, 300, 0);
  in_a_row(4000, 300, 1);
  STEP("many large ones");
  in_a_row(20000, 60, 0);
  in_a_row(100000, 30, 0);
  in_a_row(100000, 30, 1);
  STEP("communicators");
  communicators();
  STEP("an inter-communicator");
  between_groups();
  STEP("the root goes on");
  root_does_not_wait();
  free(buffer);
  return end();
}
