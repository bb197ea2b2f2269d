/* The benchmark CG of the NAS Parallel Benchmarks: the smallest eigenvalue of a large sparse symmetric
 * matrix by the inverse power method, whose systems are solved by 25 iterations of the method of conjugate
 * gradients. This header is what its versions share: the problem, the method on one process's part, times,
 * verification, output. How parts become sums and vectors is in the versions:
 *
 *     cg_seq.c       one process
 *     cg_mpi.c       MPI: sends and receives
 *     cg_mpi_get.c   MPI: one-sided gets
 *     cg_global.c    XcalableACC, global view: the sequential loops with directives
 *     cg_local.c     XcalableACC, local view: coarrays
 *     cg_nonblock.c  the same with all puts of a sum in flight at once
 *
 * The class and the grid of processes are constants of the program: -DCLASS=A -DPROWS=2 -DPCOLS=2; both
 * are powers of two, and there are as many columns as rows or twice as many. The matrix is cut into PROWS
 * x PCOLS blocks. A vector is cut into PCOLS parts, and every row of processes has all of them. A process
 * multiplies its block by its part of a vector; w, the sum of what a row's processes have then, is cut by
 * rows, and must become q, which is cut by columns, by an exchange across the diagonal. */
#ifndef CG_H
#define CG_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../clock.h"

#ifndef CLASS
#define CLASS S
#endif
#ifndef PROWS
#define PROWS 1
#endif
#ifndef PCOLS
#define PCOLS 1
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

/* The classes of the benchmark: order of the matrix, nonzeros of each vector that it is made of,
 * iterations, shift. */
#define NA_S 1400
#define NA_W 7000
#define NA_A 14000
#define NA_B 75000
#define NA_C 150000
#define NONZER_S 7
#define NONZER_W 8
#define NONZER_A 11
#define NONZER_B 13
#define NONZER_C 15
#define NITER_S 15
#define NITER_W 15
#define NITER_A 15
#define NITER_B 75
#define NITER_C 75
#define SHIFT_S 10.0
#define SHIFT_W 12.0
#define SHIFT_A 20.0
#define SHIFT_B 60.0
#define SHIFT_C 110.0
/* What NASA publishes. */
#define ZETA_S 8.5971775078648
#define ZETA_W 10.362595087124
#define ZETA_A 17.130235054029
#define ZETA_B 22.712745482631
#define ZETA_C 28.973605592845

#define NA PASTE(NA_, CLASS)
#define NONZER PASTE(NONZER_, CLASS)
#define NITER PASTE(NITER_, CLASS)
#define SHIFT PASTE(SHIFT_, CLASS)
#define ZETA PASTE(ZETA_, CLASS)
#define RCOND 0.1
#define INNER 25 /* iterations of conjugate gradients */

#define PROCESSES (PROWS * PCOLS)
#define RATIO (PCOLS / PROWS)
#define COLS ((NA + PCOLS - 1) / PCOLS) /* of a block; what is behind the matrix's last column is zero */
#define ROWS (COLS * RATIO)

_Static_assert((PROWS & (PROWS - 1)) == 0 && (PCOLS == PROWS || PCOLS == 2 * PROWS),
               "as many columns of processes as rows or twice as many");

/* ---- the matrix: the sum of size(i) v(i) v(i)^T + (RCOND - SHIFT) I, where size falls from 1 to RCOND
 * and v(i) are sparse random vectors */

/* The linear congruential generator of the benchmark: in (0, 1). */
static double random_number(void) {
  static uint64_t state = 314159265;
  state = state * 1220703125 & ((UINT64_C(1) << 46) - 1);
  return (double)state / (double)(UINT64_C(1) << 46);
}

struct sparse_vector {
  int count, index[NONZER + 1];
  double value[NONZER + 1];
};

/* NONZER different elements, and element i is 1/2. */
static void make_vector(struct sparse_vector* v, int i) {
  int power = 1, at;
  while (power < NA) power *= 2;
  v->count = 0;
  while (v->count < NONZER) {
    const double value = random_number();
    const int index = (int)(power * random_number());
    for (at = 0; at < v->count && v->index[at] != index; at++) {
    }
    if (index >= NA || at < v->count) continue;
    v->index[at] = index, v->value[at] = value, v->count++;
  }
  for (at = 0; at < v->count && v->index[at] != i; at++) {
  }
  if (at == v->count) v->count++;
  v->index[at] = i, v->value[at] = 0.5;
}

/* Rows: elements row_begin[j] to row_begin[j + 1] - 1. */
struct matrix {
  int rows, *row_begin, *column;
  double* value;
};

static void* need(void* memory) {
  if (memory != NULL) return memory;
  fprintf(stderr, "no memory\n");
  exit(2);
}

static int ascending(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

/* The block of `rows` x `cols` at (row0, col0), with columns counted from `base`. Every process makes all
 * the vectors. */
static struct matrix make_matrix(int row0, int rows, int col0, int cols, int base) {
  struct sparse_vector* v = need(malloc(sizeof *v * NA));
  double* size = need(malloc(sizeof *size * NA));
  /* where the list of vectors that are not 0 in a row ends */
  int* uses = need(calloc((size_t)rows + 1, sizeof *uses));
  const double ratio = pow(RCOND, 1.0 / NA);
  (void)random_number(); /* the benchmark does not use the first */
  for (int i = 0; i < NA; i++) {
    make_vector(&v[i], i);
    size[i] = i == 0 ? 1 : size[i - 1] * ratio;
    for (int e = 0; e < v[i].count; e++)
      if (v[i].index[e] >= row0 && v[i].index[e] < row0 + rows) uses[v[i].index[e] - row0]++;
  }
  int total = 0;
  for (int j = 0; j <= rows; j++) {
    const int here = uses[j];
    uses[j] = total, total += here;
  }
  struct use {
    int vector;
    double value;
  }* list = need(malloc(sizeof *list * ((size_t)total + 1)));
  for (int i = 0; i < NA; i++)
    for (int e = 0; e < v[i].count; e++)
      if (v[i].index[e] >= row0 && v[i].index[e] < row0 + rows)
        list[uses[v[i].index[e] - row0]++] = (struct use){i, v[i].value[e]};

  struct matrix a = {.rows = rows, .row_begin = need(malloc(sizeof(int) * ((size_t)rows + 1)))};
  double* sum = need(malloc(sizeof *sum * (size_t)cols));
  char* there = need(calloc((size_t)cols, 1));
  size_t count = 0, room = 0;
  for (int j = 0; j < rows; j++) {
    a.row_begin[j] = (int)count;
    for (int u = j == 0 ? 0 : uses[j - 1]; u < uses[j]; u++) {
      const struct sparse_vector* of = &v[list[u].vector];
      if (count + (size_t)of->count > room) {
        room = 2 * room + 1000;
        a.column = need(realloc(a.column, sizeof(int) * room));
        a.value = need(realloc(a.value, sizeof(double) * room));
      }
      for (int e = 0; e < of->count; e++) {
        const int c = of->index[e] - col0;
        if (c < 0 || c >= cols) continue;
        if (!there[c]) there[c] = 1, sum[c] = 0, a.column[count++] = c;
        sum[c] += size[list[u].vector] * list[u].value * of->value[e];
        if (row0 + j == col0 + c && list[u].vector == row0 + j) sum[c] += RCOND - SHIFT;
      }
    }
    const size_t begin = (size_t)a.row_begin[j];
    if (count > begin) qsort(a.column + begin, count - begin, sizeof(int), ascending);
    for (size_t k = begin; k < count; k++)
      a.value[k] = sum[a.column[k]], there[a.column[k]] = 0, a.column[k] += col0 - base;
  }
  a.row_begin[rows] = (int)count;
  free(v), free(size), free(uses), free(list), free(sum), free(there);
  return a;
}

#ifndef CG_GLOBAL_VIEW
/* ---- one process's part */
struct place {
  int row, col; /* in the grid */
};

static inline struct place place_of(int rank) {
  return (struct place){rank / PCOLS, rank % PCOLS};
}

/* After the sums a process needs COLS elements of w, those that it gives to the one across the diagonal:
 * with twice as many columns as rows it is one half or the other. */
static inline int kept(struct place at) {
  return at.col % RATIO * COLS;
}
/* The one that has my part of q, as I have its. */
static inline struct place across(struct place at) {
  return (struct place){at.col / RATIO, at.row * RATIO + at.col % RATIO};
}

static struct matrix a;
static double x[COLS], z[COLS], p[COLS], r[COLS];
#pragma acc declare create(x, z, p, r)

/* What a version defines: the sum of a number over the processes of my row; and my part of q, from all the
 * parts of w. */
static double sum(double mine);
static void assemble(double* w, double* q);

static double row_sum(double mine) {
  spent(&clock_.compute);
  mine = sum(mine);
  spent(&clock_.reduction);
  return mine;
}

/* q = A v */
static void multiply(const double* v, double* w, double* q) {
  const int *row_begin = a.row_begin, *column = a.column;
  const double* value = a.value;
#pragma acc parallel loop gang present(row_begin [0:ROWS + 1], v [0:COLS], w [0:ROWS]) \
    present(column [0:row_begin[ROWS]], value [0:row_begin[ROWS]])
  for (int j = 0; j < ROWS; j++) {
    double element = 0;
#pragma acc loop vector reduction(+ : element)
    for (int k = row_begin[j]; k < row_begin[j + 1]; k++) element += value[k] * v[column[k]];
    w[j] = element;
  }
  spent(&clock_.compute);
  assemble(w, q);
  spent(&clock_.communication);
}

/* A z = x; |x - A z|. */
static double conjugate_gradients(double* w, double* q) {
  double rho = 0, rest = 0;
#pragma acc parallel loop reduction(+ : rho) present(x, z, p, r)
  for (int i = 0; i < COLS; i++) {
    z[i] = 0, r[i] = p[i] = x[i];
    rho += x[i] * x[i];
  }
  rho = row_sum(rho);
  for (int n = 0; n < INNER; n++) {
    double pq = 0, next = 0;
    multiply(p, w, q);
#pragma acc parallel loop reduction(+ : pq) present(p, q [0:COLS])
    for (int i = 0; i < COLS; i++) pq += p[i] * q[i];
    const double alpha = rho / row_sum(pq);
#pragma acc parallel loop reduction(+ : next) present(z, p, r, q [0:COLS])
    for (int i = 0; i < COLS; i++) {
      z[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      next += r[i] * r[i];
    }
    next = row_sum(next);
    const double beta = next / rho;
    rho = next;
#pragma acc parallel loop present(p, r)
    for (int i = 0; i < COLS; i++) p[i] = r[i] + beta * p[i];
  }
  multiply(z, w, q);
#pragma acc parallel loop reduction(+ : rest) present(x, q [0:COLS])
  for (int i = 0; i < COLS; i++) rest += (x[i] - q[i]) * (x[i] - q[i]);
  return sqrt(row_sum(rest));
}

/* One step of the power method; zeta, the eigenvalue so far. */
static double power_step(double* w, double* q, double* rest) {
  double xz = 0, zz = 0;
  *rest = conjugate_gradients(w, q);
#pragma acc parallel loop reduction(+ : xz, zz) present(x, z)
  for (int i = 0; i < COLS; i++) xz += x[i] * z[i], zz += z[i] * z[i];
  xz = row_sum(xz);
  const double scale = 1 / sqrt(row_sum(zz));
#pragma acc parallel loop present(x, z)
  for (int i = 0; i < COLS; i++) x[i] = scale * z[i];
  return SHIFT + 1 / xz;
}

static void set_up(struct place me) {
  a = make_matrix(me.row * ROWS, ROWS, me.col * COLS, COLS, me.col * COLS);
  const int *row_begin = a.row_begin, *column = a.column, count = row_begin[ROWS];
  const double* value = a.value;
#pragma acc enter data copyin(row_begin [0:ROWS + 1], column [0:count], value [0:count])
  (void)count, (void)column, (void)value;
}

static void first_x(struct place me) {
#pragma acc parallel loop present(x)
  for (int i = 0; i < COLS; i++) x[i] = me.col * COLS + i < NA ? 1 : 0;
}

/* The benchmark; w has ROWS elements, and so has q. One step before the clock starts, as the benchmark
 * says. */
static double power_method(struct place me, double* w, double* q, double* rest) {
  double zeta = 0;
  first_x(me);
  power_step(w, q, rest);
  first_x(me);
  start_clock();
  for (int n = 0; n < NITER; n++) zeta = power_step(w, q, rest);
  spent(&clock_.compute);
  return zeta;
}
#endif

/* Called by all processes; one of them speaks. */
static inline void check_processes(const char* program, int processes, int rank) {
  if (processes == PROCESSES) return;
  if (rank == 0)
    fprintf(stderr, "%s: compiled for %d x %d processes (-DPROWS=%d -DPCOLS=%d), not for %d\n", program,
            PROWS, PCOLS, PROWS, PCOLS, processes);
  exit(2);
}

/* For rank 0; the program's exit code. */
static int report(const char* version, double zeta, double rest) {
  /* as the benchmark counts them */
  const double operations =
      2.0 * NA * (3 + NONZER * (NONZER + 1) + INNER * (5.0 + NONZER * (NONZER + 1)) + 3);
  const double mops = 1e-6 * operations / seconds_per_iteration(NITER), error = fabs(zeta / ZETA - 1);
  const int verified = error < 1e-10;
  printf("NPB CG, class %s (order %d), version %s\n", TEXT(CLASS), NA, version);
  printf("  processes             %d: %d x %d blocks of %d x %d\n", PROCESSES, PROWS, PCOLS, ROWS, COLS);
  print_times(NITER);
  printf("  performance           %.1f Mop/s\n", mops);
  printf("  residual              %.6e\n", rest);
  printf("  zeta                  %.13f, published %.13f, relative error %.1e: %s\n", zeta, ZETA, error,
         verified ? "verified" : "NOT VERIFIED");
  return print_result("cg", version, TEXT(CLASS), PROCESSES, NITER, mops, verified);
}
#endif
