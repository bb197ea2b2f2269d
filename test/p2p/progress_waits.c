// Every way to wait for a message of Tasuki's, while another rank's operation of the MPI library needs this
// rank to make progress. Rank 0 waits; rank 1 completes the operation, and only then sends, or receives, what
// rank 0 waits for. The other ranks exchange messages with rank 0 where it never waits for long.
#include "check.h"

enum { large = 300000, longs = 20000 };

static MPI_Comm idup, dup_;
static MPI_Win win;
static MPI_Group peer;
static int* window;
static char *big, *in, *spare;
static long *values, *sums;
static MPI_Request pending;
static MPI_Comm made;
static int flag;

// ---- ways to wait for rank 1

enum { tag_release = 1, tag_go };

static int token;

static void wait_by(int way) {
  MPI_Request r[2];
  MPI_Message message;
  int index = 0, answer = 0, done, indices[2];
  MPI_Status statuses[2];
  token = -1;
  switch (way) {
    case 0:
      MPI_Recv(&token, 1, MPI_INT, 1, tag_release, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return;
    case 1:
      MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, tag_release, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return;
    case 2:
      MPI_Recv(spare, BYTES(large), 1, tag_release, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      token = 4711;
      return;
    case 3:
      MPI_Send(big, BYTES(large), 1, tag_release, MPI_COMM_WORLD);
      token = 4711;
      return;
    case 4:
      token = 4711;
      MPI_Ssend(&token, 1, MPI_INT, 1, tag_release, MPI_COMM_WORLD);
      return;
    case 5:
      index = 4711;
      MPI_Sendrecv(&index, 1, MPI_INT, 1, tag_release, &token, 1, MPI_INT, 1, tag_release, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      return;
    case 6:
      MPI_Barrier(dup_);
      token = 4711;
      return;
    case 7:
      MPI_Bcast(&token, 1, MPI_INT, 1, MPI_COMM_WORLD);
      return;
    case 8:
      MPI_Probe(1, tag_release, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 9:
      for (done = 0; !done;)
        MPI_Iprobe(MPI_ANY_SOURCE, tag_release, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
      break;
    case 10:
      MPI_Mprobe(1, tag_release, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(&token, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
      return;
    case 11:  // no wait is long: the others answer at once
      for (done = 0; !done;) {
        for (int p = 2; p < ranks; p++)
          MPI_Sendrecv(&index, 1, MPI_INT, p, tag_go, &answer, 1, MPI_INT, p, tag_go, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
        MPI_Sendrecv(&index, 1, MPI_INT, 0, tag_go, &answer, 1, MPI_INT, 0, tag_go, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        MPI_Iprobe(1, tag_release, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
      }
      for (int p = 2; p < ranks; p++) MPI_Send(&index, 0, MPI_INT, p, tag_go, MPI_COMM_WORLD);
      break;
    default:
      MPI_Irecv(&token, 1, MPI_INT, 1, tag_release, MPI_COMM_WORLD, &r[0]);
      r[1] = MPI_REQUEST_NULL;
      done = 0;
      switch (way) {
        case 12:
          MPI_Wait(&r[0], MPI_STATUS_IGNORE);
          return;
        case 13:
          MPI_Waitall(2, r, statuses);
          return;
        case 14:
          MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
          return;
        case 15:
          MPI_Waitsome(2, r, &index, indices, statuses);
          return;
        case 16:
          while (!done) MPI_Test(&r[0], &done, MPI_STATUS_IGNORE);
          return;
        case 17:
          while (!done) MPI_Testall(2, r, &done, statuses);
          return;
        case 18:
          while (!done) MPI_Testany(2, r, &index, &done, MPI_STATUS_IGNORE);
          return;
        case 19:
          while (!done) MPI_Request_get_status(r[0], &done, MPI_STATUS_IGNORE);
          MPI_Wait(&r[0], MPI_STATUS_IGNORE);
          return;
      }
  }
  MPI_Recv(&token, 1, MPI_INT, 1, tag_release, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

enum { n_ways = 20 };

// Rank 1's part.
static void release(int way) {
  int out = 4711;
  token = 4711;
  if (way == 2)
    MPI_Send(big, BYTES(large), 0, tag_release, MPI_COMM_WORLD);
  else if (way == 3)
    MPI_Recv(spare, BYTES(large), 0, tag_release, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else if (way == 4)
    MPI_Recv(&token, 1, MPI_INT, 0, tag_release, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else if (way == 5)
    MPI_Sendrecv(&out, 1, MPI_INT, 0, tag_release, &token, 1, MPI_INT, 0, tag_release, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  else if (way == 6)
    MPI_Barrier(dup_);
  else if (way == 7)
    MPI_Bcast(&token, 1, MPI_INT, 1, MPI_COMM_WORLD);
  else
    MPI_Send(&token, 1, MPI_INT, 0, tag_release, MPI_COMM_WORLD);
}

// The other ranks' part.
static void stand_by(int way) {
  int n = 1;
  MPI_Status status;
  if (way == 6) MPI_Barrier(dup_);
  if (way == 7) MPI_Bcast(&token, 1, MPI_INT, 1, MPI_COMM_WORLD);
  while (way == 11 && n == 1) {
    MPI_Recv(&token, 1, MPI_INT, 0, tag_go, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    if (n == 1) MPI_Send(&token, 1, MPI_INT, 0, tag_go, MPI_COMM_WORLD);
  }
}

// ---- operations of the library between ranks 0 and 1: what rank 0 does before and after it waits, and what
// rank 1 completes

static const char* const names[] = {"lock and put", "fetch and add", "locked for all",  "exposed to a put",
                                    "Iallreduce",   "Ibarrier",      "a large message", "Comm_idup"};
enum { n_operations = sizeof names / sizeof *names };

static void before(int operation) {
  switch (operation) {
    case 3:
      MPI_Win_post(peer, 0, win);
      MPI_Win_test(win, &flag);
      break;
    case 4:
      MPI_Iallreduce(values, sums, longs, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &pending);
      break;
    case 5:
      MPI_Ibarrier(MPI_COMM_WORLD, &pending);
      break;
    case 6:
      MPI_Isend(big, BYTES(large), 1, 5, idup, &pending);
      break;
    case 7:
      MPI_Comm_idup(MPI_COMM_WORLD, &made, &pending);
      break;
  }
}

static void after(int operation) {
  if (operation >= 4 && operation <= 7) MPI_Wait(&pending, MPI_STATUS_IGNORE);
  if (operation == 3) {
    while (!flag) MPI_Win_test(win, &flag);
  }
  if (operation == 4) CHECK_EQ(sums[7], 7L * ranks);
  if (operation == 7) MPI_Comm_free(&made);
}

static void complete(int operation, int round) {
  const int one = 1;
  int was;
  switch (operation) {
    case 0:
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
      MPI_Put(&round, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
      MPI_Win_unlock(0, win);
      break;
    case 1:
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
      MPI_Fetch_and_op(&one, &was, MPI_INT, 0, 1, MPI_SUM, win);
      MPI_Win_flush(0, win);
      CHECK_EQ(was, round);
      MPI_Win_unlock(0, win);
      break;
    case 2:
      MPI_Win_lock_all(0, win);
      MPI_Accumulate(&one, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win);
      MPI_Win_flush_all(win);
      MPI_Get(&was, 1, MPI_INT, 0, 2, 1, MPI_INT, win);
      MPI_Win_flush(0, win);
      CHECK_EQ(was, round + 1);
      MPI_Win_unlock_all(win);
      break;
    case 3:
      MPI_Win_start(peer, 0, win);
      MPI_Put(&round, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
      MPI_Win_complete(win);
      break;
    case 6:
      MPI_Recv(in, BYTES(large), 0, 5, idup, MPI_STATUS_IGNORE);
      CHECK_EQ(first_wrong(in, large, 3), -1);
      break;
    default:
      before(operation);
      after(operation);
  }
}

// A barrier in which nobody waits for long, and the first test behind it.
static void first_test(void) {
  if (rank == 0) {
    MPI_Win_start(peer, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_complete(win);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    if (rank == 1) MPI_Win_post(peer, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Win_test(win, &flag);
      CHECK_EQ(flag, 1);
      if (!flag) MPI_Win_wait(win);
    }
  }
}

// Rank 0's messages to itself are always there: no call of it waits.
static void never_waiting(int round) {
  int in_ = 0;
  if (rank == 0) {
    while (*(volatile int*)&window[4] != round)
      MPI_Sendrecv(&round, 1, MPI_INT, 0, tag_go, &in_, 1, MPI_INT, 0, tag_go, MPI_COMM_SELF,
                   MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Accumulate(&round, 1, MPI_INT, 0, 4, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Group all;
  MPI_Request r;
  MPI_Comm_idup(MPI_COMM_WORLD, &idup, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup_);
  window = calloc(10, sizeof(int));
  MPI_Win_create(window, 10 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int other = rank == 0 ? 1 : 0;
  MPI_Group_incl(all, 1, &other, &peer);
  big = allocate(large);
  in = allocate(large);
  spare = allocate(large);
  fill(big, large, 3);
  values = calloc(longs, sizeof(long));
  sums = calloc(longs, sizeof(long));
  for (int i = 0; i < longs; i++) values[i] = i;
  STEP("the first test after a barrier");
  for (int i = 0; i < 20; i++) first_test();
  STEP("one-sided operations beside messages that nobody waits for");
  // Plain libraries deliver messages to oneself without a look at others.
  for (int round = 1; under_tasuki() && round <= 10; round++) never_waiting(round);
  for (int operation = 0; operation < n_operations; operation++) {
    for (int way = 0; way < n_ways; way++) {
      char step[100];
      snprintf(step, sizeof step, "%s, way %d", names[operation], way);
      STEP(step);
      if (rank == 0) {
        before(operation);
        wait_by(way);
        CHECK_EQ(token, 4711);
        after(operation);
      } else if (rank == 1) {
        complete(operation, way);
        release(way);
      } else {
        if (operation == 4 || operation == 5 || operation == 7) before(operation);
        stand_by(way);
        after(operation == 3 || operation == 6 ? 0 : operation);
      }
      if (rank == 0 && (operation == 0 || operation == 3)) CHECK_EQ(window[operation], way);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Win_free(&win);
  MPI_Comm_free(&idup);
  MPI_Comm_free(&dup_);
  MPI_Group_free(&all);
  MPI_Group_free(&peer);
  free(window);
  free(big);
  free(in);
  free(spare);
  free(values);
  free(sums);
  return end();
}
