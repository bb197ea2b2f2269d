// Sends that are done when they start: their requests may be one and the same, and each must still behave as its
// own in every completion call.
#include "check.h"

enum { kMany = 60 };

static MPI_Request sends[kMany];
static int numbers[kMany];

static void start(int to, int tag) {
  for (int i = 0; i < kMany; i++) {
    numbers[i] = 100 * tag + i;
    MPI_Isend(&numbers[i], 1, MPI_INT, to, tag, MPI_COMM_WORLD, &sends[i]);
  }
}
static void receive(int from, int tag) {
  for (int i = 0; i < kMany; i++) {
    int x = -1;
    MPI_Recv(&x, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(x, 100 * tag + i);
  }
}
static void check_gone(void) {
  for (int i = 0; i < kMany; i++) CHECK(sends[i] == MPI_REQUEST_NULL);
}

// An error, which must not end the program where errors are returned.
static void start_what_is_not_persistent(int next, int before) {
  int error = MPI_SUCCESS, class = MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  start(next, 1);
  error = MPI_Start(&sends[0]);
  MPI_Error_class(error, &class);
  CHECK_EQ(class, MPI_ERR_REQUEST);
  error = MPI_Startall(kMany, sends);
  MPI_Error_class(error, &class);
  CHECK_EQ(class, MPI_ERR_REQUEST);
  CHECK(MPI_Waitall(-3, sends + 3, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
  MPI_Waitall(kMany, sends, MPI_STATUSES_IGNORE);
  receive(before, 1);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  static MPI_Status statuses[kMany];
  int flag, index, count, done, which[kMany];
  MPI_Status s;

  if (argc > 1) {
    start_what_is_not_persistent(next, before);
    return end();
  }
  STEP("wait, test");
  start(next, 1);
  for (int i = 0; i < kMany; i++) {
    if (i % 2) {
      MPI_Wait(&sends[i], &s);
    } else {
      for (flag = 0; !flag;) MPI_Test(&sends[i], &flag, &s);
    }
    MPI_Test_cancelled(&s, &flag);
    CHECK_EQ(flag, 0);
  }
  check_gone();
  receive(before, 1);

  STEP("waitall, testall");
  start(next, 2);
  MPI_Waitall(kMany, sends, statuses);
  check_gone();
  receive(before, 2);
  start(next, 3);
  for (flag = 0; !flag;) MPI_Testall(kMany, sends, &flag, statuses);
  check_gone();
  receive(before, 3);

  STEP("waitany, waitsome: each index once");
  start(next, 4);
  int seen[kMany] = {0};
  for (int i = 0; i < kMany / 2; i++) {
    MPI_Waitany(kMany, sends, &index, &s);
    CHECK(index >= 0 && index < kMany && seen[index]++ == 0 && sends[index] == MPI_REQUEST_NULL);
  }
  for (done = kMany / 2; done < kMany; done += count) {
    MPI_Waitsome(kMany, sends, &count, which, statuses);
    CHECK(count > 0 && count <= kMany - done);
    for (int i = 0; i < count; i++) CHECK_EQ(seen[which[i]]++, 0);
  }
  MPI_Waitany(kMany, sends, &index, &s);
  CHECK_EQ(index, MPI_UNDEFINED);
  receive(before, 4);

  STEP("freed ones leave the others alone");
  start(next, 5);
  for (int i = 0; i < kMany; i += 2) MPI_Request_free(&sends[i]);
  MPI_Request_get_status(sends[1], &flag, &s);
  for (int i = 1; i < kMany; i += 2) MPI_Wait(&sends[i], &s);
  check_gone();
  receive(before, 5);

  STEP("cancelled too late, or in time: the receiver knows");
  MPI_Isend(&numbers[0], 1, MPI_INT, next, 6, MPI_COMM_WORLD, &sends[0]);
  MPI_Isend(&numbers[1], 1, MPI_INT, next, 7, MPI_COMM_WORLD, &sends[1]);
  MPI_Cancel(&sends[0]);
  MPI_Wait(&sends[0], &s);
  MPI_Test_cancelled(&s, &flag);
  MPI_Wait(&sends[1], &s);
  int cancelled = flag, of_before = 0, x = -1;
  MPI_Test_cancelled(&s, &flag);
  CHECK_EQ(flag, 0);
  MPI_Sendrecv(&cancelled, 1, MPI_INT, next, 8, &of_before, 1, MPI_INT, before, 8, MPI_COMM_WORLD, &s);
  if (!of_before) MPI_Recv(&x, 1, MPI_INT, before, 6, MPI_COMM_WORLD, &s);
  MPI_Recv(&x, 1, MPI_INT, before, 7, MPI_COMM_WORLD, &s);
  CHECK_EQ(x, 501);

  STEP("beside receives");
  for (int i = 0; i < kMany; i += 2) {
    which[i] = -1;
    numbers[i] = 900 + i;
    MPI_Irecv(&which[i], 1, MPI_INT, before, 9, MPI_COMM_WORLD, &sends[i]);
    MPI_Isend(&numbers[i], 1, MPI_INT, next, 9, MPI_COMM_WORLD, &sends[i + 1]);
  }
  MPI_Waitall(kMany, sends, statuses);
  for (int i = 0; i < kMany; i += 2) {
    CHECK_EQ(which[i], 900 + i);
    CHECK_EQ(statuses[i].MPI_SOURCE, before);
    CHECK_EQ(statuses[i].MPI_TAG, 9);
  }
  return end();
}
