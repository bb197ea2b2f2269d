// The ranks of a job of which some run Tasuki and some do not begin with communication of their own, in which nobody but they take
// part: whatever other ranks do in MPI_Init to find out who runs Tasuki, none of it may come here. Argument: which communication.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { bytes = 1 << 20 };

/* How many of a broadcast's bytes are wrong, over all roots. */
static int wrong_after_broadcasts(int rank, int ranks) {
  int wrong = 0;
  unsigned char* data = malloc(bytes);
  for (int root = 0; root < ranks; root++) {
    for (int i = 0; i < bytes; i++) data[i] = rank == root ? (unsigned char)(i * 31 + root) : 0xee;
    MPI_Bcast(data, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; i++) wrong += data[i] != (unsigned char)(i * 31 + root);
  }
  free(data);
  return wrong;
}

int main(int argc, char** argv) {
  int rank, ranks, in = 4711, out = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Comm dup;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* first = argc > 1 ? argv[1] : "";
  printf("rank %d begins\n", rank);
  fflush(stdout);
  if (strcmp(first, "iallreduce") == 0) {
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(first, "send") == 0) {
    for (int tag = 0; tag < 3; tag++)
      MPI_Send(&in, 1, MPI_INT, rank == 0 ? ranks - 1 : 0, tag, MPI_COMM_WORLD);
    // The first rank hears the others, the last one rank 0.
    for (int i = 0; i < (rank == 0 ? 3 * (ranks - 1) : rank == ranks - 1 ? 3 : 0); i++)
      MPI_Recv(&out, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (rank != 0 && rank != ranks - 1) out = in;
  } else if (strcmp(first, "dup") == 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAX, dup);
    MPI_Comm_free(&dup);
  } else if (strcmp(first, "window") == 0) {
    MPI_Win_create(&out, sizeof out, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&in, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
  }
  printf("rank %d communicated, and has %d; wrong bytes: %d\n", rank, out,
         wrong_after_broadcasts(rank, ranks));
  fflush(stdout);
  // MPICH before 4.2 hangs in MPI_Finalize between hosts if a rank is there while another one still communicates (docs/tasks.md).
  nanosleep(&(struct timespec){.tv_nsec = 100000000 * (1 + rank % 4)}, NULL);
  MPI_Finalize();
  return 0;
}
