// Every collective operation against what one process computes, blocking, non-blocking and persistent.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(c)                                                                              \
  do {                                                                                        \
    if (!(c)) {                                                                               \
      fprintf(stderr, "rank %d: line %d (n %d, root %d): %s\n", rank, __LINE__, n, root, #c); \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                           \
    }                                                                                         \
  } while (0)
#define MOST 3000

static int rank, size, n, root;

// 2 x 2 matrices modulo a prime: associative, not commutative.
typedef struct {
  unsigned m[4];
} matrix;
static matrix product(matrix a, matrix b) {
  matrix c;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      c.m[2 * i + j] = (unsigned)(((unsigned long long)a.m[2 * i] * b.m[j] +
                                   (unsigned long long)a.m[2 * i + 1] * b.m[2 + j]) %
                                  10007u);
  return c;
}
static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  matrix *a = in, *b = inout;
  for (int i = 0; i < *count; i++) b[i] = product(a[i], b[i]);
}
static matrix matrix_of(int r, int i) {
  matrix m = {{(unsigned)(r + 1), (unsigned)(i + 2), (unsigned)(r * 3 + 1), (unsigned)(i * r + 5)}};
  return m;
}

static void check_all(void) {
  int *send = malloc(sizeof(int) * (size_t)(n * size + 1)),
      *receive = malloc(sizeof(int) * (size_t)(n * size + 1));
  int *counts = malloc(sizeof(int) * (size_t)size), *displs = malloc(sizeof(int) * (size_t)size);
  for (int form = 0; form < 3; form++) {
    MPI_Request r = MPI_REQUEST_NULL;
#define RUN(name, lower, ...)                                            \
  do {                                                                   \
    if (form == 0) MPI_##name(__VA_ARGS__, MPI_COMM_WORLD);              \
    if (form == 1) {                                                     \
      MPI_I##lower(__VA_ARGS__, MPI_COMM_WORLD, &r);                     \
      MPI_Wait(&r, MPI_STATUS_IGNORE);                                   \
    }                                                                    \
    if (form == 2) {                                                     \
      MPI_##name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &r); \
      MPI_Start(&r);                                                     \
      MPI_Wait(&r, MPI_STATUS_IGNORE);                                   \
      MPI_Request_free(&r);                                              \
    }                                                                    \
  } while (0)
    for (int i = 0; i < n; i++) send[i] = rank == root ? 100 + i : -1;
    RUN(Bcast, bcast, send, n, MPI_INT, root);
    for (int i = 0; i < n; i++) CHECK(send[i] == 100 + i);

    for (int i = 0; i < n; i++) send[i] = rank * 10000 + i;
    memset(receive, 255, sizeof(int) * (size_t)(n * size));
    RUN(Gather, gather, send, n, MPI_INT, receive, n, MPI_INT, root);
    for (int i = 0; rank == root && i < n * size; i++)
      CHECK(receive[i] == i / (n ? n : 1) * 10000 + i % (n ? n : 1));
    RUN(Allgather, allgather, send, n, MPI_INT, receive, n, MPI_INT);
    for (int i = 0; i < n * size; i++) CHECK(receive[i] == i / n * 10000 + i % n);
    for (int i = 0; i < n * size; i++) send[i] = rank == root ? i : -1;
    RUN(Scatter, scatter, send, n, MPI_INT, receive, n, MPI_INT, root);
    for (int i = 0; i < n; i++) CHECK(receive[i] == rank * n + i);
    for (int i = 0; i < n * size; i++) send[i] = rank * 100000 + i;
    RUN(Alltoall, alltoall, send, n, MPI_INT, receive, n, MPI_INT);
    for (int i = 0; i < n * size; i++) CHECK(receive[i] == i / n * 100000 + rank * n + i % n);

    // Rank r has r % 3 elements.
    int total = 0;
    for (int i = 0; i < size; i++) {
      counts[i] = n == 0 ? 0 : i % 3;
      displs[i] = total;
      total += counts[i];
    }
    for (int i = 0; i < counts[rank]; i++) send[i] = rank * 10 + i;
    memset(receive, 255, sizeof(int) * (size_t)(n * size));
    if (n >= 3) {
      RUN(Gatherv, gatherv, send, counts[rank], MPI_INT, receive, counts, displs, MPI_INT, root);
      for (int i = 0; rank == root && i < size; i++)
        for (int j = 0; j < counts[i]; j++) CHECK(receive[displs[i] + j] == i * 10 + j);
      memset(receive, 255, sizeof(int) * (size_t)(n * size));
      RUN(Allgatherv, allgatherv, send, counts[rank], MPI_INT, receive, counts, displs, MPI_INT);
      for (int i = 0; i < size; i++)
        for (int j = 0; j < counts[i]; j++) CHECK(receive[displs[i] + j] == i * 10 + j);
      for (int i = 0; i < total; i++) send[i] = rank == root ? i : -1;
      RUN(Scatterv, scatterv, send, counts, displs, MPI_INT, receive, counts[rank], MPI_INT, root);
      for (int i = 0; i < counts[rank]; i++) CHECK(receive[i] == displs[rank] + i);
      // To rank i go counts[i] elements; all arrive at rank * 3.
      int *rc = malloc(sizeof(int) * (size_t)size), *rd = malloc(sizeof(int) * (size_t)size);
      for (int i = 0; i < size; i++) {
        rc[i] = counts[rank];
        rd[i] = 3 * i;
      }
      for (int i = 0; i < total; i++) send[i] = rank * 1000 + i;
      RUN(Alltoallv, alltoallv, send, counts, displs, MPI_INT, receive, rc, rd, MPI_INT);
      for (int i = 0; i < size; i++)
        for (int j = 0; j < counts[rank]; j++) CHECK(receive[3 * i + j] == i * 1000 + displs[rank] + j);
      MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)size);
      int *sb = malloc(sizeof(int) * (size_t)size), *rb = malloc(sizeof(int) * (size_t)size);
      for (int i = 0; i < size; i++) {
        types[i] = MPI_INT;
        sb[i] = displs[i] * 4;
        rb[i] = rd[i] * 4;
      }
      memset(receive, 255, sizeof(int) * (size_t)(n * size));
      RUN(Alltoallw, alltoallw, send, counts, sb, types, receive, rc, rb, types);
      for (int i = 0; i < size; i++)
        for (int j = 0; j < counts[rank]; j++) CHECK(receive[3 * i + j] == i * 1000 + displs[rank] + j);
      free(rc);
      free(rd);
      free(types);
      free(sb);
      free(rb);
    }

    for (int i = 0; i < n; i++) send[i] = rank + i;
    RUN(Reduce, reduce, send, receive, n, MPI_INT, MPI_SUM, root);
    for (int i = 0; rank == root && i < n; i++) CHECK(receive[i] == size * i + size * (size - 1) / 2);
    RUN(Allreduce, allreduce, send, receive, n, MPI_INT, MPI_MAX);
    for (int i = 0; i < n; i++) CHECK(receive[i] == size - 1 + i);
    RUN(Scan, scan, send, receive, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; i++) CHECK(receive[i] == (rank + 1) * i + rank * (rank + 1) / 2);
    RUN(Exscan, exscan, send, receive, n, MPI_INT, MPI_SUM);
    for (int i = 0; rank > 0 && i < n; i++) CHECK(receive[i] == rank * i + rank * (rank - 1) / 2);
    for (int i = 0; i < n * size; i++) send[i] = rank + i;
    RUN(Reduce_scatter_block, reduce_scatter_block, send, receive, n, MPI_INT, MPI_SUM);
    for (int i = 0; i < n; i++) CHECK(receive[i] == size * (rank * n + i) + size * (size - 1) / 2);
    if (n >= 3) {
      RUN(Reduce_scatter, reduce_scatter, send, receive, counts, MPI_INT, MPI_SUM);
      for (int i = 0; i < counts[rank]; i++)
        CHECK(receive[i] == size * (displs[rank] + i) + size * (size - 1) / 2);
    }
    if (form == 1) {
      MPI_Ibarrier(MPI_COMM_WORLD, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }

    // In place, and an operator that does not commute.
    for (int i = 0; i < n; i++) send[i] = rank ^ i;
    RUN(Allreduce, allreduce, MPI_IN_PLACE, send, n, MPI_INT, MPI_BXOR);
    int x = 0;
    for (int i = 0; i < size; i++) x ^= i;
    for (int i = 0; i < n; i++) CHECK(send[i] == (x ^ (size % 2 ? i : 0)));
    MPI_Op op;
    MPI_Datatype type;
    MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    matrix *ms = malloc(sizeof(matrix) * (size_t)(n + 1)), *mr = malloc(sizeof(matrix) * (size_t)(n + 1));
    for (int i = 0; i < n; i++) ms[i] = matrix_of(rank, i);
    for (int which = 0; which < 3; which++) {
      if (which == 0) RUN(Reduce, reduce, ms, mr, n, type, op, root);
      if (which == 1) RUN(Allreduce, allreduce, ms, mr, n, type, op);
      if (which == 2) RUN(Scan, scan, ms, mr, n, type, op);
      for (int i = 0; i < n && (which != 0 || rank == root); i++) {
        matrix m = matrix_of(0, i);
        for (int k = 1; k <= (which == 2 ? rank : size - 1); k++) m = product(m, matrix_of(k, i));
        CHECK(memcmp(&m, &mr[i], sizeof m) == 0);
      }
    }
    free(ms);
    free(mr);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    struct {
      double v;
      int i;
    } li = {rank == size / 2 ? -1.0 : rank, rank}, lo;
    RUN(Allreduce, allreduce, &li, &lo, 1, MPI_DOUBLE_INT, MPI_MINLOC);
    CHECK(lo.i == size / 2 && lo.v == -1.0);
    double z = 1.5;
    RUN(Allreduce, allreduce, MPI_IN_PLACE, &z, 1, MPI_DOUBLE, MPI_PROD);
  }
  // Several under way at once.
  MPI_Request many[4];
  int a = rank, b, c = rank == root ? 42 : 0, d[2] = {rank, 1}, e[2];
  MPI_Iallreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &many[0]);
  MPI_Ibcast(&c, 1, MPI_INT, root, MPI_COMM_WORLD, &many[1]);
  MPI_Iallreduce(d, e, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &many[2]);
  MPI_Ibarrier(MPI_COMM_WORLD, &many[3]);
  MPI_Waitall(4, many, MPI_STATUSES_IGNORE);
  CHECK(b == size * (size - 1) / 2 && c == 42 && e[0] == b && e[1] == size);
  free(send);
  free(receive);
  free(counts);
  free(displs);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int sizes[] = {0, 1, 5, MOST};
  for (int i = 0; i < 4; i++) {
    n = sizes[i];
    root = (i * 3) % size;
    if (n == MOST && size > 20) n = 300;
    check_all();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("ok %d\n", size);
  MPI_Finalize();
  return 0;
}
