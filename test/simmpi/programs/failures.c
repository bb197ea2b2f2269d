// Programs that go wrong in ways that users' programs do; argv[1] says which.
#include <err.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int* volatile nowhere;

static int deep(int n) {
  volatile char fill[4096];
  fill[0] = (char)n;
  return n == 0 ? fill[0] : deep(n - 1) + fill[0];
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "none";
  int rank, size, x = 0;
  if (strcmp(what, "exit-before-init") == 0) exit(4);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d starts\n", rank);
  if (strcmp(what, "deadlock") == 0) {  // everybody receives before sending
    MPI_Recv(&x, 1, MPI_INT, (rank + 1) % size, 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&x, 1, MPI_INT, (rank + 1) % size, 17, MPI_COMM_WORLD);
  }
  if (strcmp(what, "missing-rank") == 0 && rank != 1) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(what, "crash") == 0 && rank == 2) *nowhere = 1;
  if (strcmp(what, "overflow") == 0 && rank == 2) return deep(1 << 20);
  if (strcmp(what, "libc-crash") == 0 && rank == 2) x = (int)strlen((char*)nowhere + 8);
  volatile int divisor = x;
  if (strcmp(what, "divide") == 0 && rank == 2) return 1000 / divisor;
  if (strcmp(what, "c-abort") == 0 && rank == 2) abort();
  if (strcmp(what, "exit") == 0 && rank == 2) exit(9);
  if (strcmp(what, "return") == 0 && rank == 2) return 0;
  if (strcmp(what, "abort") == 0 && rank == 2) MPI_Abort(MPI_COMM_WORLD, 6);
  if (strcmp(what, "kill") == 0 && rank == 2) kill(getpid(), SIGKILL);
  if (strcmp(what, "kill-other") == 0 && rank == 2) kill(getpid() + 1, SIGKILL);
  if (strcmp(what, "raise") == 0 && rank == 2) raise(SIGTERM);
  if (strcmp(what, "exec") == 0 && rank == 2) execl("/bin/true", "true", (char*)NULL);
  if (strcmp(what, "err") == 0 && rank == 2) errx(3, "no luck");
  if (strcmp(what, "loop") == 0 && rank == 2)
    for (volatile int forever = 1; forever;) continue;
  if (strcmp(what, "poll") == 0 && rank == 2)
    for (int flag = 0; !flag;) MPI_Iprobe(1, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  if (strcmp(what, "clock") == 0 && rank == 2)
    for (volatile double t = 0; t >= 0;) t = MPI_Wtime();
  if (strcmp(what, "pause") == 0 && rank == 2) pause();
  if (strcmp(what, "missing") == 0) {
    MPI_Win w;
    MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
  }
  if (strcmp(what, "truncate") == 0) {
    int two[2] = {1, 2};
    if (rank == 0) MPI_Send(two, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(two, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(what, "bad-rank") == 0) MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  if (strcmp(what, "errors-return") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    x = MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD) == MPI_ERR_RANK ? 0 : 1;
    if (x) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return strcmp(what, "code") == 0 && rank == 1 ? 5 : 0;
}
