// Small collective operations on communicators that span hosts: on many communicators of all ranks at once,
// of which only the first have what Tasuki needs; results the same on all ranks to the last bit.
#include "check.h"

enum { communicators = 70, most = 9000 };

static void add(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int*)right)[i] += ((int*)left)[i];
}

// x -> a x + b, one after the other: does not commute.
struct map {
  unsigned a, b;
};
static struct map then(struct map first, struct map second) {
  return (struct map){first.a * second.a, first.b * second.a + second.b};
}
static void compose(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  struct map *l = left, *r = right;
  for (int i = 0; i < *count; i++) r[i] = then(l[i], r[i]);
}

static MPI_Op sum, composition;
static MPI_Datatype map_type;

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

static struct map map_of(int rank_there, int i) {
  return (struct map){(unsigned)(2 * rank_there + 3 + i), (unsigned)(rank_there * 7 + i)};
}
static int same(struct map x, struct map y) {
  return x.a == y.a && x.b == y.b;
}

// Results in the order of the ranks: of all, of those up to this one, of those before it.
static void in_order(MPI_Comm comm, int count) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  struct map own[most / 2], all[most / 2], up_to[most / 2], before[most / 2], of_root[most / 2];
  for (int i = 0; i < count; i++) own[i] = map_of(me, i);
  memcpy(up_to, own, (size_t)count * sizeof *own);
  MPI_Allreduce(own, all, count, map_type, composition, comm);
  MPI_Reduce(own, of_root, count, map_type, composition, n - 1, comm);
  MPI_Scan(MPI_IN_PLACE, up_to, count, map_type, composition, comm);
  MPI_Exscan(own, before, count, map_type, composition, comm);
  for (int i = 0; i < count; i++) {
    struct map expected = map_of(0, i);
    for (int r = 1; r < n; r++) {
      if (r == me) CHECK_EQ(same(before[i], expected), 1);
      expected = then(expected, map_of(r, i));
      if (r == me) CHECK_EQ(same(up_to[i], expected), 1);
    }
    CHECK_EQ(same(all[i], expected), 1);
    if (me == n - 1) CHECK_EQ(same(of_root[i], expected), 1);
  }
  if (me == 0) CHECK_EQ(memcmp(up_to, own, (size_t)count * sizeof *own), 0);
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
  MPI_Op_create(compose, 0, &composition);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &map_type);
  MPI_Type_commit(&map_type);
  STEP("all ranks");
  for (int i = 0; i < 24; i++) everything(MPI_COMM_WORLD, i);
  for (int i = 0; i < 6; i++) in_order(MPI_COMM_WORLD, i % 2 == 0 ? i + 1 : most / 2);
  STEP("some ranks");
  MPI_Comm comm[communicators];
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, -rank, &comm[0]);
  for (int i = 0; i < 12; i++) everything(comm[0], i);
  in_order(comm[0], 100);
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
  MPI_Op_free(&composition);
  MPI_Type_free(&map_type);
  return end();
}
