/* A two-dimensional Fourier transform, MPI: its transposes are collective operations with datatypes.
 *
 *     mpicc -O3 -march=native -ffast-math fft2d.c -o fft2d -lm
 *     mpirun -n 4 ./fft2d 1024 10
 *
 * An N x N matrix (N a power of two, argument 1) is cut by rows. A transform is: transform my rows,
 * transpose the matrix, transform my rows, transpose it back. Nothing is packed: what a process gives to
 * another one is a block of columns, read row by row, and each of these rows becomes a part of a column
 * there. So the two sides of MPI_Alltoallw have different vector types.
 *
 * Transforms are scaled by 1 / N. Four of them are then the identity, and each repetition (argument 2) goes
 * on with the result of the last one: a repetition that is wrong, or that sees data of an earlier one, spoils
 * the result. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "../clock.h"
#include "fft.h"

static int rank, size;
static int n, rows; /* of the matrix; of it, mine */
static int* first;  /* [r]: the first row of rank r; [size]: n */
static double complex *a, *b, *roots, *scratch;

/* The arguments of MPI_Alltoallw, the same for both transposes: a square matrix. */
static struct {
  int *one, *rows, *at; /* blocks of columns; rows that arrive; where in my first row both begin, in bytes */
  MPI_Datatype *columns, *column;
} plan;

static void* memory(size_t count, size_t bytes) {
  void* const found = calloc(count, bytes);
  if (found == NULL) {
    fprintf(stderr, "fft2d: out of memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return found;
}

static void set_up(void) {
  first = memory((size_t)size + 1, sizeof *first);
  for (int r = 0; r <= size; r++) first[r] = (int)((int64_t)n * r / size);
  rows = first[rank + 1] - first[rank];
  a = memory((size_t)rows * n, sizeof *a), b = memory((size_t)rows * n, sizeof *b);
  roots = memory(n, sizeof *roots), scratch = memory(n, sizeof *scratch);
  set_roots(n, roots);

  /* Of a row that arrives, element i goes to my row i. The next row goes one element further. */
  MPI_Datatype apart, column;
  MPI_Type_vector(rows, 1, n, MPI_C_DOUBLE_COMPLEX, &apart);
  MPI_Type_create_resized(apart, 0, sizeof *a, &column);
  MPI_Type_commit(&column);
  MPI_Type_free(&apart);
  plan.one = memory(size, sizeof *plan.one), plan.rows = memory(size, sizeof *plan.rows);
  plan.at = memory(size, sizeof *plan.at);
  plan.columns = memory(size, sizeof *plan.columns), plan.column = memory(size, sizeof *plan.column);
  for (int r = 0; r < size; r++) {
    plan.one[r] = 1, plan.rows[r] = first[r + 1] - first[r];
    plan.at[r] = first[r] * (int)sizeof *a;
    MPI_Type_vector(rows, plan.rows[r], n, MPI_C_DOUBLE_COMPLEX, &plan.columns[r]);
    MPI_Type_commit(&plan.columns[r]);
    plan.column[r] = column;
  }
}

static void tear_down(void) {
  MPI_Type_free(&plan.column[0]);
  for (int r = 0; r < size; r++) MPI_Type_free(&plan.columns[r]);
  void* const all[] = {plan.one, plan.rows, plan.at, plan.columns, plan.column, first, a, b, roots, scratch};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void transpose(const double complex* from, double complex* to) {
  MPI_Alltoallw(from, plan.one, plan.at, plan.columns, to, plan.rows, plan.at, plan.column, MPI_COMM_WORLD);
}

static void transform_rows(double complex* matrix) {
  for (int y = 0; y < rows; y++) fft(n, roots, matrix + (size_t)y * n, scratch);
}

/* a := its transform */
static void transform(void) {
  transform_rows(a);
  spent(&clock_.compute);
  transpose(a, b);
  spent(&clock_.communication);
  transform_rows(b);
  spent(&clock_.compute);
  transpose(b, a);
  spent(&clock_.communication);
}

/* ---- verification */
static double over_all(double mine, MPI_Op op) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return mine;
}

typedef double complex (*matrix)(int x, int y); /* element x of row y */

static void set(matrix values) {
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < n; x++) a[(size_t)y * n + x] = values(x, first[rank] + y);
}
/* The largest difference. */
static double difference(matrix values) {
  double largest = 0;
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < n; x++) {
      const double d = cabs(a[(size_t)y * n + x] - values(x, first[rank] + y));
      if (d > largest) largest = d;
    }
  return over_all(largest, MPI_MAX);
}
static double squares(void) {
  double sum = 0;
  for (size_t i = 0; i < (size_t)rows * n; i++) sum += creal(a[i]) * creal(a[i]) + cimag(a[i]) * cimag(a[i]);
  return over_all(sum, MPI_SUM);
}

/* Three plane waves, exp(2 pi i (u x + v y) / N), and their transform: three peaks. */
static const struct {
  int u, v;
  double re, im;
} waves[] = {{1, 2, 1, 0}, {3, -1, 0, 0.5}, {-7, 5, -0.5, 0.25}};

static int cyclic(int64_t index) {
  return (int)(index & (n - 1));
}
static double complex plane_waves(int x, int y) {
  double complex sum = 0;
  for (int w = 0; w < 3; w++)
    sum += (waves[w].re + I * waves[w].im) *
           conj(roots[cyclic((int64_t)waves[w].u * x + (int64_t)waves[w].v * y)]);
  return sum;
}
static double complex peaks(int x, int y) {
  double complex sum = 0;
  for (int w = 0; w < 3; w++)
    if (x == cyclic(waves[w].u) && y == cyclic(waves[w].v)) sum += n * (waves[w].re + I * waves[w].im);
  return sum;
}

static double pseudo_random(uint64_t h) {
  h = (h + 1) * 0x9e3779b97f4a7c15u;
  h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
  return (double)((h ^ h >> 32) >> 11) / (double)(UINT64_C(1) << 53) - 0.5;
}
static double complex noise(int x, int y) {
  const uint64_t index = 2 * ((uint64_t)y * (uint64_t)n + (uint64_t)x);
  return pseudo_random(index) + I * pseudo_random(index + 1);
}

static int run(int repetitions) {
  set(plane_waves);
  transform();
  const double off_peaks = difference(peaks) / n;

  set(noise);
  const double before = squares();
  transform();
  const double parseval = fabs(squares() / before - 1);
  int transforms = 1;
  for (; (transforms + repetitions) % 4 != 0; transforms++) transform();
  MPI_Barrier(MPI_COMM_WORLD);
  start_clock();
  for (int i = 0; i < repetitions; i++, transforms++) transform();
  const double off_input = difference(noise);

  const double tolerance = 1e-14 * (transforms + 4);
  const int verified = off_peaks < tolerance && parseval < tolerance && off_input < tolerance;
  if (rank != 0) return !verified;
  const double mflops = 1e-6 * 10.0 * n * n * log2(n) / seconds_per_iteration(repetitions);
  printf("2-D FFT, %d x %d, transposes by datatypes\n", n, n);
  printf("  processes             %d: blocks of about %d x %d\n", size, n / size, n);
  print_times(repetitions);
  printf("  in the transposes     %.1f %%\n",
         100 * clock_.communication / (clock_.communication + clock_.compute));
  printf("  performance           %.1f MFLOPS\n", mflops);
  printf("  plane waves           relative error %.1e\n", off_peaks);
  printf("  sum of squares        relative error %.1e\n", parseval);
  printf("  %5d transforms      error %.1e of at most %.1e: %s\n", transforms, off_input, tolerance,
         verified ? "verified" : "NOT VERIFIED");
  char text[16];
  snprintf(text, sizeof text, "%d", n);
  return print_result("fft2d", "mpi", text, size, repetitions, mflops, verified);
}

int main(int argc, char** argv) {
  int code = 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  n = argc > 1 ? atoi(argv[1]) : 1024;
  const int repetitions = argc > 2 ? atoi(argv[2]) : 10;
  if (argc > 3 || n < 2 || n > 32768 || !is_power_of_two(n) || repetitions < 1) {
    if (rank == 0)
      fprintf(stderr, "usage: %s [N [REPETITIONS]]; N is a power of two from 2 to 32768\n", argv[0]);
  } else {
    set_up();
    code = run(repetitions);
    tear_down();
  }
  MPI_Finalize();
  return code;
}
