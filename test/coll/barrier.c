// MPI_Barrier: nobody leaves before all have come, whatever else is under way; on every communicator, in any
// order of barriers on overlapping ones, with ranks that come late, and while messages arrive.
#include "check.h"

enum { large = 300000 };

static char *out, *in;

// A rank that leaves the barrier gets a token from the one that is last to enter, and it was sent before.
static void holds(MPI_Comm comm, int round) {
  int me, n, late, flag = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  late = round % n;
  if (me == late) {
    if (round % 5 == 0) usleep((useconds_t)(round % 3) * 700);
    for (int to = 0; to < n; to++)
      if (to != me) MPI_Send(&round, 1, MPI_INT, to, round, comm);
  }
  MPI_Barrier(comm);
  if (me == late) return;
  // Sent before its sender came. The libraries may take their time to deliver it.
  for (int i = 0; i < 1000 && !flag; i++) MPI_Iprobe(late, round, comm, &flag, MPI_STATUS_IGNORE);
  CHECK(flag || !under_tasuki());
  int got = -1;
  MPI_Recv(&got, 1, MPI_INT, late, round, comm, MPI_STATUS_IGNORE);
  CHECK_EQ(got, round);
}

// The clock of the node tells: nobody is out before the last one was in.
static void by_the_clock(int round) {
  double came, last;
  if (rank == round % ranks) usleep(3000);
  came = now();
  MPI_Barrier(MPI_COMM_WORLD);
  const double left = now();
  MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  CHECK(left >= last);
}

static void with_messages(int round) {
  MPI_Request requests[3];
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  const size_t bytes = round % 3 == 0 ? large : round % 3 == 1 ? 3000 : 8;
  fill(out, bytes, (unsigned)(rank + round));
  MPI_Irecv(in, BYTES(bytes), left, 1, MPI_COMM_WORLD, &requests[0]);
  if (round % 2 == 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isend(out, BYTES(bytes), right, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK_EQ(first_wrong(in, bytes, (unsigned)(left + round)), -1);
}

// Pairs copy a large message while all others wait.
static void pairs_beside(void) {
  for (int i = 0; i < 20; i++) {
    if (rank == 0) {
      fill(out, large, (unsigned)i);
      MPI_Send(out, BYTES(large), 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Recv(in, BYTES(large), 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(first_wrong(in, large, (unsigned)i), -1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void overlapping(void) {
  MPI_Comm pair[2], single;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &pair[0]);
  MPI_Comm_split(MPI_COMM_WORLD, (rank + 1) % ranks / 2, rank, &pair[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &single);
  for (int i = 0; i < 100; i++) {
    holds(pair[0], i);
    MPI_Barrier(single);
    holds(pair[1], i);
    MPI_Barrier(MPI_COMM_SELF);
  }
  MPI_Comm_free(&pair[0]);
  MPI_Comm_free(&pair[1]);
  MPI_Comm_free(&single);
}

// Barriers of freed communicators serve new ones, also where a slow rank still stands in the old one's.
static void made_and_freed(void) {
  for (int i = 0; i < 60; i++) {
    MPI_Comm comm;
    if (i % 2 == 0)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
      MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 0 ? rank % 2 : 0, i % 5 == 0 ? -rank : rank, &comm);
    holds(comm, i);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
  }
}

// The library's own: between two groups.
static void between_groups(void) {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
  for (int i = 0; i < 5; i++) MPI_Barrier(inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  out = allocate(large);
  in = allocate(large);
  STEP("all ranks");
  for (int i = 0; i < 200; i++) holds(MPI_COMM_WORLD, i);
  STEP("by the clock");
  for (int i = 0; i < 2 * ranks; i++) by_the_clock(i);
  STEP("many");
  for (int i = 0; i < 2000; i++) MPI_Barrier(MPI_COMM_WORLD);
  STEP("with messages");
  for (int i = 0; i < 60; i++) with_messages(i);
  STEP("beside a pair");
  pairs_beside();
  STEP("overlapping communicators");
  overlapping();
  STEP("communicators made and freed");
  made_and_freed();
  STEP("between groups");
  between_groups();
  free(out);
  free(in);
  return end();
}
