// What the random program (random/) leaves out: ranks that give and get nothing and name one buffer twice, as
// programs in Fortran do; gaps in pairs of value and index; wrong arguments, which are errors as plainly.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 64 };
static int g_rank, g_ranks;

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s\n", g_rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// The last rank has nothing for anybody (MPI-4.0, 6.8).
static void exchange_but_one(void) {
  int none[kMost] = {0}, none_either[kMost] = {0}, counts[kMost], places[kMost], mine[kMost], got[kMost];
  int dummy[1] = {7};
  const int last = g_ranks - 1;
  for (int i = 0; i < g_ranks; i++) {
    counts[i] = i != last;
    places[i] = i;
    mine[i] = 100 * g_rank + i;
    got[i] = -1;
  }
  if (g_rank == last) {
    MPI_Alltoallv(dummy, none, none, MPI_INT, dummy, none_either, none, MPI_INT, MPI_COMM_WORLD);
  } else {
    MPI_Alltoallv(mine, counts, places, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < last; i++) check(got[i] == 100 * i + g_rank, "MPI_Alltoallv: wrong data");
  }
  check(dummy[0] == 7, "MPI_Alltoallv: wrote to a rank that gets nothing");
}

// The root has nothing for itself, in the buffer that it names for both.
static void root_without_part(void) {
  int all[kMost], counts[kMost], places[kMost], mine = 5 + g_rank, got = -1;
  for (int i = 0; i < g_ranks; i++) {
    counts[i] = i != 0;
    places[i] = i;
    all[i] = -1;
  }
  MPI_Gatherv(g_rank == 0 ? all : &mine, g_rank != 0, MPI_INT, all, counts, places, MPI_INT, 0,
              MPI_COMM_WORLD);
  for (int i = 0; g_rank == 0 && i < g_ranks; i++)
    check(all[i] == (i == 0 ? -1 : 5 + i), "MPI_Gatherv: wrong data");
  MPI_Scatterv(all, counts, places, MPI_INT, g_rank == 0 ? all : &got, g_rank != 0, MPI_INT, 0,
               MPI_COMM_WORLD);
  check(g_rank == 0 || got == 5 + g_rank, "MPI_Scatterv: wrong data");
}

// Four bytes lie behind the index, and are none of the type's (5.1).
static void gaps_of_pairs(void) {
  struct {
    double value;
    int rank, mine;
  } give = {g_ranks - g_rank, g_rank, g_rank}, get = {0, 0, 42};
  MPI_Allreduce(&give, &get, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  check(get.rank == g_ranks - 1 && get.mine == 42, "MPI_Allreduce: a pair, or the gap behind it, is wrong");
}

static void wrong_arguments(void) {
  MPI_Comm comm;
  int mine = 1, sum = 0, class = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // Open MPI tells that one
  MPI_Error_class(MPI_Allreduce(&mine, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), &class);
  check(class == MPI_ERR_BUFFER || class == MPI_ERR_ARG, "MPI_Allreduce into MPI_IN_PLACE is no error");
  MPI_Error_class(MPI_Allreduce(&mine, &sum, 1, MPI_FLOAT, MPI_BAND, comm), &class);
  check(class == MPI_ERR_OP, "a bitwise operation on floats is no error");
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  check(sum == g_ranks, "MPI_Allreduce after an error: wrong sum");
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  check(g_ranks <= kMost, "too many ranks");
  for (int i = 0; i < 20; i++) {
    exchange_but_one();
    root_without_part();
    gaps_of_pairs();
  }
  wrong_arguments();
  MPI_Finalize();
  return 0;
}
