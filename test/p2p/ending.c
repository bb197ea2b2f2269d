// How a job ends that does not end well. First argument: what the last rank does before MPI_Finalize, while
// the others wait for it in every kind of call. The launcher's exit code is the test's subject, that the job
// ends at all, and that no process is left (the harness looks).
//
//   abort            MPI_Abort, with 42
//   error            the error handler that MPI has by default, by an invalid rank
//   exit <n>         exit(n); alone: the others wait for it
//   all_exit <n>     the same, by all ranks, with messages on their way
//   leave <n>        _exit(n)
//   crash            abort()
//   kill <n>         a signal from itself
#include "check.h"

static int x;

static void wait_for_the_last(void) {
  MPI_Request r;
  switch (rank % 4) {
    case 0:
      MPI_Recv(&x, 1, MPI_INT, ranks - 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 1:
      MPI_Ssend(&x, 1, MPI_INT, ranks - 1, 98, MPI_COMM_WORLD);
      break;
    case 2:
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    default:
      MPI_Irecv(&x, 1, MPI_INT, ranks - 1, 99, MPI_COMM_WORLD, &r);
      for (int flag = 0; !flag;) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "";
  int number = argc > 2 ? atoi(argv[2]) : 0, last = ranks - 1;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 1, &x, 1, MPI_INT, (rank + ranks - 1) % ranks, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQ(x, (rank + ranks - 1) % ranks);
  if (strcmp(what, "all_exit") == 0) {
    static char bytes[1 << 20];
    MPI_Request r;
    MPI_Isend(bytes, BYTES(sizeof bytes), (rank + 1) % ranks, 5, MPI_COMM_WORLD, &r);
    MPI_Send(&x, 1, MPI_INT, (rank + 1) % ranks, 6, MPI_COMM_WORLD);
    MPI_Recv(&x, 1, MPI_INT, (rank + last) % ranks, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    exit(number);
  }
  if (rank != last) {
    wait_for_the_last();
    return 1;  // not reached: the job has ended
  }
  usleep(300000);  // the others are in their calls
  if (strcmp(what, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 42);
  if (strcmp(what, "error") == 0) MPI_Send(&x, 1, MPI_INT, ranks + 7, 1, MPI_COMM_WORLD);
  if (strcmp(what, "exit") == 0) exit(number);
  if (strcmp(what, "leave") == 0) _exit(number);
  if (strcmp(what, "crash") == 0) abort();
  if (strcmp(what, "kill") == 0) raise(number);
  CHECK(!"known argument");
  return 0;
}
