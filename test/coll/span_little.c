// Small collective operations on communicators that span hosts: on many communicators of all ranks at once,
// of which only the first have what Tasuki needs; results the same on all ranks to the last bit.
#include "check.h"

enum { communicators = 70, most = 9000 };

static void add(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int*)right)[i] += ((int*)left)[i];
}

// right = left, of an operation that does not commute: the first rank's remain.
static void first(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  memcpy(right, left, (size_t)*count * sizeof(int));
}

static MPI_Op sum, first_of;

static void reductions(MPI_Comm comm, int count, int seed) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  int own[most], all[most];
  const int root = seed % n;
  for (int i = 0; i < count; i++) own[i] = me * 1000 + seed + i;
  MPI_Allreduce(own, all, count, MPI_INT, seed % 2 == 0 ? MPI_SUM : sum, comm);
  for (int i = 0; i < count; i++) CHECK_EQ(all[i], 500 * n * (n - 1) + n * (seed + i));
  MPI_Reduce(own, me == root ? all : NULL, count, MPI_INT, MPI_MAX, root, comm);
  for (int i = 0; i < count; i++)
    if (me == root) CHECK_EQ(all[i], (n - 1) * 1000 + seed + i);
}

static void moves(MPI_Comm comm, int count, int seed) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  const int root = (seed + 1) % n;
  int piece[most], *all = allocate((size_t)n * (size_t)count * sizeof *all);
  for (int i = 0; i < count; i++) piece[i] = me == root ? seed + i : -1;
  MPI_Bcast(piece, count, MPI_INT, root, comm);
  for (int i = 0; i < count; i++) CHECK_EQ(piece[i], seed + i);
  for (int i = 0; i < count; i++) piece[i] = me * count + i;
  MPI_Allgather(piece, count, MPI_INT, all, count, MPI_INT, comm);
  for (int i = 0; i < n * count; i++) CHECK_EQ(all[i], i);
  for (int i = 0; i < n * count; i++) all[i] = i + me;
  MPI_Reduce_scatter_block(MPI_IN_PLACE, all, count, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < count; i++) CHECK_EQ(all[i], n * (me * count + i) + n * (n - 1) / 2);
  free(all);
}

static void same_everywhere(MPI_Comm comm, int count) {
  int n, me;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  double own[most], result[most], again[most], of_root[most];
  for (int i = 0; i < count; i++) own[i] = 1.0 / (me * 7 + i + 1) * (i % 3 == 0 ? 1e9 : 1e-9);
  MPI_Allreduce(own, result, count, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(own, again, count, MPI_DOUBLE, MPI_SUM, comm);
  CHECK_EQ(memcmp(result, again, (size_t)count * sizeof *result), 0);
  memcpy(of_root, result, (size_t)count * sizeof *result);
  MPI_Bcast(of_root, count, MPI_DOUBLE, n - 1, comm);
  CHECK_EQ(memcmp(result, of_root, (size_t)count * sizeof *result), 0);
}

static void in_order(MPI_Comm comm, int count) {
  int me, all = -1;
  MPI_Comm_rank(comm, &me);
  for (int i = 0; i < count; i++) {
    const int own = me * 100 + i;
    MPI_Allreduce(&own, &all, 1, MPI_INT, first_of, comm);
    CHECK_EQ(all, i);
  }
}

static void everything(MPI_Comm comm, int seed) {
  static const int counts[] = {1, 3, 250, 1000, 1024, most};
  const int count = counts[seed % (int)(sizeof counts / sizeof *counts)];
  reductions(comm, count, seed);
  moves(comm, count, seed);
  same_everywhere(comm, count);
  MPI_Barrier(comm);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Op_create(add, 1, &sum);
  MPI_Op_create(first, 0, &first_of);
  STEP("all ranks");
  for (int i = 0; i < 24; i++) everything(MPI_COMM_WORLD, i);
  in_order(MPI_COMM_WORLD, 3);
  STEP("some ranks");
  MPI_Comm comm[communicators];
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, -rank, &comm[0]);
  for (int i = 0; i < 12; i++) everything(comm[0], i);
  MPI_Comm_free(&comm[0]);
  STEP("many communicators");
  for (int i = 0; i < communicators; i++)
    if (i % 2 == 0)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    else
      MPI_Comm_split(MPI_COMM_WORLD, 0, (rank + i) % ranks, &comm[i]);
  for (int i = communicators; i-- > 0;) reductions(comm[i], 10, i);
  for (int i = 0; i < communicators; i += 3) everything(comm[i], i);
  for (int i = 0; i < communicators; i++) MPI_Comm_free(&comm[i]);
  MPI_Op_free(&sum);
  MPI_Op_free(&first_of);
  return end();
}
