// How a job ends that does not end well: `abort` by MPI_Abort while others wait in every kind of call, `exit`
// without MPI_Finalize, `error` by the error handler that MPI has by default. The launcher's exit code is the
// test's subject, and that no process is left (the harness looks).
#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "";
  int x = rank;
  MPI_Request r;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 1, &x, 1, MPI_INT, (rank + ranks - 1) % ranks, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQ(x, (rank + ranks - 1) % ranks);
  if (strcmp(what, "abort") == 0) {
    if (rank == ranks - 1) {
      usleep(200000);  // the others are in their calls
      MPI_Abort(MPI_COMM_WORLD, 42);
    }
    switch (rank % 4) {
      case 0:
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
      case 1:
        MPI_Ssend(&x, 1, MPI_INT, 0, 98, MPI_COMM_WORLD);
        break;
      case 2:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
      default:
        MPI_Irecv(&x, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &r);
        for (int flag = 0; !flag;) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    }
    return 1;
  }
  if (strcmp(what, "error") == 0) {
    if (rank == ranks - 1) MPI_Send(&x, 1, MPI_INT, ranks + 7, 1, MPI_COMM_WORLD);
    MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
  }
  if (strcmp(what, "exit") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != ranks - 1) MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    exit(9);
  }
  CHECK(!"known argument");
  return 0;
}
