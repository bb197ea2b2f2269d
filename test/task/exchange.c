/* Ranks that exchange messages and check every byte, point to point and collectively, with contiguous and
   strided data.

     exchange ROUNDS        ends after so many rounds; 0: goes on until it is killed
     exchange ROUNDS quiet [pause]  prints nothing but errors and, at the end, "rank R of N ok"

   "pause" waits before MPI_Finalize, every rank another time: MPICH before 4.2 over UCX and TCP hangs there
   if a rank still progresses when another one closes its connections, also without Tasuki. So nobody may
   start MPI_Finalize while another one is in the barrier; and Tasuki must not progress inside MPI_Finalize,
   which the differences show.

   Each rank prints "ready PID" once messages flow, so that a test can kill it in the middle of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMost = 40000 };

static int rank, size;
static int sent[2 * kMost], received[2 * kMost];

static void fail(const char* what, int round, int from) {
  fprintf(stderr, "exchange: rank %d round %d: wrong data, %s, from %d\n", rank, round, what, from);
  MPI_Abort(MPI_COMM_WORLD, 9);
}

static int value(int from, int to, int round, int i) {
  return from * 1000003 + to * 10007 + round * 101 + i;
}

/* To the right neighbour, from the left one: the whole block, or every second int of it. */
static void shift(MPI_Comm comm, int round, int count, MPI_Datatype strided) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  const int step = strided == MPI_DATATYPE_NULL ? 1 : 2;
  for (int i = 0; i < count; i++) sent[i * step] = value(me, right, round, i);
  memset(received, 0xff, sizeof(int) * (size_t)count);
  MPI_Request requests[2];
  MPI_Irecv(received, count, MPI_INT, left, round % 1000, comm, &requests[0]);
  if (step == 1)
    MPI_Isend(sent, count, MPI_INT, right, round % 1000, comm, &requests[1]);
  else
    MPI_Isend(sent, 1, strided, right, round % 1000, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; i++)
    if (received[i] != value(left, me, round, i)) fail("shift", round, left);
}

/* Everybody hears from everybody, in the order in which messages come. */
static void crowd(MPI_Comm comm, int round) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  for (int to = 0; to < n; to++) {
    int word = value(me, to, round, 0);
    if (to != me) MPI_Send(&word, 1, MPI_INT, to, 2000, comm);
  }
  for (int i = 1; i < n; i++) {
    int word;
    MPI_Status status;
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 2000, comm, &status);
    if (word != value(status.MPI_SOURCE, me, round, 0)) fail("any source", round, status.MPI_SOURCE);
  }
  MPI_Barrier(comm); /* else a fast rank's next message is taken for this round's */
}

static void collective(MPI_Comm comm, int round) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  for (int to = 0; to < n; to++) sent[to] = value(me, to, round, 0);
  MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
  for (int from = 0; from < n; from++)
    if (received[from] != value(from, me, round, 0)) fail("alltoall", round, from);
  int one = me + round, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != n * (n - 1) / 2 + n * round) fail("allreduce", round, -1);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  const int quiet = argc > 2 && strcmp(argv[2], "quiet") == 0;
  const int pause = argc > 3 && strcmp(argv[3], "pause") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm node, reversed;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  static const int counts[] = {1, 50, 3000, kMost};
  MPI_Datatype strided[4];
  for (int k = 0; k < 4; k++) {
    MPI_Type_vector(counts[k], 1, 2, MPI_INT, &strided[k]);
    MPI_Type_commit(&strided[k]);
  }
  for (int round = 0; rounds == 0 || round < rounds; round++) {
    const int k = round % 4;
    MPI_Comm const comms[] = {MPI_COMM_WORLD, node, reversed};
    for (int c = 0; c < 3; c++) {
      shift(comms[c], round, counts[k], MPI_DATATYPE_NULL);
      shift(comms[c], round, counts[k], strided[k]);
      crowd(comms[c], round);
    }
    collective(comms[round % 3], round);
    if (round == 0 && !quiet) {
      printf("ready %d\n", (int)getpid());
      fflush(stdout);
    }
  }
  int on_node = 0;
  MPI_Comm_size(node, &on_node);
  for (int k = 0; k < 4; k++) MPI_Type_free(&strided[k]);
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&node);
  MPI_Barrier(MPI_COMM_WORLD);
  if (pause) usleep(300000 + 100000 * (unsigned)rank);
  MPI_Finalize();
  printf("rank %d of %d ok, %d on its node\n", rank, size, on_node);
  return 0;
}
