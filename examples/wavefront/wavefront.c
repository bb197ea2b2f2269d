/* A solver whose sweeps go through a grid as wavefronts, MPI: the communication of the benchmark LU of the
 * NAS Parallel Benchmarks, with datatypes.
 *
 *     mpicc -O3 -march=native -ffast-math wavefront.c -o wavefront -lm
 *     mpirun -n 4 ./wavefront A
 *
 * A linear system with five unknowns in each point of a cube is solved by SSOR (symmetric successive
 * overrelaxation). A point depends on its six neighbours. The lower sweep goes through the points in their
 * order, and uses the new values of the points before; the upper sweep goes back.
 *
 * The cube is cut in directions i and j; all of direction k is in one process. Plane by plane of k, a
 * process waits for the new values of its two neighbours before it, computes, and sends its own to the two
 * behind (exchange_1 in LU). The face to a neighbour in j is a row of points, contiguous; that to a neighbour
 * in i is a column, a vector type. Before each iteration whole faces go to all four neighbours (exchange_3 in
 * LU).
 *
 * The size is a class, argument 1: S, W, A or B; argument 2 is the number of iterations. */
#include <math.h>
#include <mpi.h>
#include <stdlib.h>

#include "../clock.h"

#define ITERATIONS 20

/* Points in each direction, as in LU; what `history` must be after ITERATIONS, computed by one process. */
static const struct size_class {
  char name;
  int points;
  double history;
} classes[] = {{'S', 12, 3.47516689546214e1},
               {'W', 33, 3.37972951254432e1},
               {'A', 64, 3.34936629686861e1},
               {'B', 102, 3.33675612013587e1}};

/* ---- the system: DIAGONAL * u(p) - sum over directions d of coupling[d] (u(p - d) + u(p + d)) = f(p) */
#define M 5 /* unknowns of a point */
#define DIAGONAL 7.5
#define OMEGA 0.5 /* so small that every iteration still counts */
#define RATE 0.8  /* the error of an iteration is less than that of the one before times this */

static double coupling[3][M][M];

/* The couplings of a point are less than DIAGONAL together. */
static void set_coupling(void) {
  for (int d = 0; d < 3; d++)
    for (int m = 0; m < M; m++)
      for (int l = 0; l < M; l++)
        coupling[d][m][l] = (1 - 0.1 * d) * ((m == l) + 0.05 * ((m + l + d) % 3 - 1));
}

/* sum += coupling[d] value */
static inline void add(double sum[M], int d, const double value[M]) {
  for (int m = 0; m < M; m++)
    for (int l = 0; l < M; l++) sum[m] += coupling[d][m][l] * value[l];
}

/* The solution. The cube's points are 1 ... points; 0 and points + 1 are its boundary, which is fixed. */
static void exact(int points, int i, int j, int k, double value[M]) {
  const double h = 1.0 / (points + 1), x = h * i, y = h * j, z = h * k;
  for (int m = 0; m < M; m++) value[m] = (1 + 0.1 * m) * (1 + x * (1 - y) + y * z) + z * z;
}

/* ---- one process's block, with a layer of points around it */
static struct block {
  MPI_Comm comm;
  int points, ni, nj, i0, j0; /* of the cube; of the block; global index = local index + i0 */
  size_t row, plane;          /* doubles from a point to the next one in j, in k */
  int west, east, south, north;
  MPI_Datatype column;         /* M unknowns of each point of a column (all j) */
  MPI_Datatype face_i, face_j; /* a column and a row of all planes */
  double *u, *f, *v;           /* the unknowns, the right-hand side, and what a sweep computes */
} b;

static inline size_t at(int i, int j, int k) {
  return b.plane * (size_t)k + b.row * (size_t)j + M * (size_t)i;
}

static double* field(void) {
  double* const found = calloc(b.plane * (size_t)(b.points + 2), sizeof *found);
  if (found == NULL) {
    fprintf(stderr, "wavefront: out of memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return found;
}

static void divide(int points, int processes, int mine, int* before, int* length) {
  *before = points * mine / processes;
  *length = points * (mine + 1) / processes - *before;
}

static void set_up(MPI_Comm comm, const int grid[2], int points) {
  int rank, place[2];
  MPI_Cart_create(comm, 2, grid, (int[]){0, 0}, 0, &b.comm);
  MPI_Comm_rank(b.comm, &rank);
  MPI_Cart_coords(b.comm, rank, 2, place);
  MPI_Cart_shift(b.comm, 0, 1, &b.west, &b.east);
  MPI_Cart_shift(b.comm, 1, 1, &b.south, &b.north);
  b.points = points;
  divide(points, grid[0], place[0], &b.i0, &b.ni);
  divide(points, grid[1], place[1], &b.j0, &b.nj);
  b.row = M * (size_t)(b.ni + 2), b.plane = b.row * (size_t)(b.nj + 2);
  MPI_Type_vector(b.nj, M, (int)b.row, MPI_DOUBLE, &b.column);
  MPI_Type_create_hvector(points, 1, (MPI_Aint)(b.plane * sizeof(double)), b.column, &b.face_i);
  MPI_Type_vector(points, M * b.ni, (int)b.plane, MPI_DOUBLE, &b.face_j);
  MPI_Type_commit(&b.column), MPI_Type_commit(&b.face_i), MPI_Type_commit(&b.face_j);
  b.u = field(), b.f = field(), b.v = field();
}

static void tear_down(void) {
  free(b.u), free(b.f), free(b.v);
  MPI_Type_free(&b.column), MPI_Type_free(&b.face_i), MPI_Type_free(&b.face_j);
  MPI_Comm_free(&b.comm);
}

/* result := f - A u in point p */
static inline void residual(const double* f, size_t p, double result[M]) {
  double sum[M] = {0};
  const size_t apart[3] = {M, b.row, b.plane};
  for (int d = 0; d < 3; d++) add(sum, d, b.u + p - apart[d]), add(sum, d, b.u + p + apart[d]);
  for (int m = 0; m < M; m++) result[m] = f[m] - (DIAGONAL * b.u[p + m] - sum[m]);
}

/* f belongs to the exact solution; u begins as 0, and has the exact solution on the boundary. */
static void set_problem(void) {
  static const double zero[M];
  for (int k = 0; k <= b.points + 1; k++)
    for (int j = 0; j <= b.nj + 1; j++)
      for (int i = 0; i <= b.ni + 1; i++) exact(b.points, b.i0 + i, b.j0 + j, k, b.u + at(i, j, k));
  for (int k = 1; k <= b.points; k++)
    for (int j = 1; j <= b.nj; j++)
      for (int i = 1; i <= b.ni; i++) {
        double* const f = b.f + at(i, j, k);
        residual(zero, at(i, j, k), f);
        for (int m = 0; m < M; m++) f[m] = -f[m];
      }
  for (int k = 1; k <= b.points; k++)
    for (int j = 1; j <= b.nj; j++) memset(b.u + at(1, j, k), 0, (size_t)b.ni * M * sizeof(double));
}

/* The outermost points of my block to the four neighbours, theirs into the layer around it. */
static void exchange_faces(void) {
  MPI_Request requests[4];
  MPI_Irecv(b.u + at(0, 1, 1), 1, b.face_i, b.west, 0, b.comm, &requests[0]);
  MPI_Irecv(b.u + at(b.ni + 1, 1, 1), 1, b.face_i, b.east, 0, b.comm, &requests[1]);
  MPI_Irecv(b.u + at(1, 0, 1), 1, b.face_j, b.south, 0, b.comm, &requests[2]);
  MPI_Irecv(b.u + at(1, b.nj + 1, 1), 1, b.face_j, b.north, 0, b.comm, &requests[3]);
  MPI_Send(b.u + at(b.ni, 1, 1), 1, b.face_i, b.east, 0, b.comm);
  MPI_Send(b.u + at(1, 1, 1), 1, b.face_i, b.west, 0, b.comm);
  MPI_Send(b.u + at(1, b.nj, 1), 1, b.face_j, b.north, 0, b.comm);
  MPI_Send(b.u + at(1, 1, 1), 1, b.face_j, b.south, 0, b.comm);
  for (int n = 0; n < 4; n++) MPI_Wait(&requests[n], MPI_STATUS_IGNORE);
}

/* v := f - A u; the sum of its squares */
static double residuals(void) {
  double sum = 0;
  for (int k = 1; k <= b.points; k++)
    for (int j = 1; j <= b.nj; j++)
      for (int i = 1; i <= b.ni; i++) {
        double* const v = b.v + at(i, j, k);
        residual(b.f + at(i, j, k), at(i, j, k), v);
        for (int m = 0; m < M; m++) sum += v[m] * v[m];
      }
  return sum;
}

/* DIAGONAL v(p) = v(p) + OMEGA * sum of coupling[d] v(p - d) */
static void lower_plane(int k) {
  for (int j = 1; j <= b.nj; j++)
    for (int i = 1; i <= b.ni; i++) {
      double* const v = b.v + at(i, j, k);
      double sum[M] = {0};
      add(sum, 0, v - M), add(sum, 1, v - b.row), add(sum, 2, v - b.plane);
      for (int m = 0; m < M; m++) v[m] = (v[m] + OMEGA * sum[m]) * (1 / DIAGONAL);
    }
}

/* DIAGONAL v(p) = DIAGONAL v(p) + OMEGA * sum of coupling[d] v(p + d), which then changes u. */
static void upper_plane(int k) {
  for (int j = b.nj; j >= 1; j--)
    for (int i = b.ni; i >= 1; i--) {
      double *const v = b.v + at(i, j, k), *const u = b.u + at(i, j, k);
      double sum[M] = {0};
      add(sum, 0, v + M), add(sum, 1, v + b.row), add(sum, 2, v + b.plane);
      for (int m = 0; m < M; m++) {
        v[m] += OMEGA / DIAGONAL * sum[m];
        u[m] += OMEGA * (2 - OMEGA) * v[m];
      }
    }
}

static void lower_sweep(void) {
  for (int k = 1; k <= b.points; k++) {
    MPI_Recv(b.v + at(0, 1, k), 1, b.column, b.west, 1, b.comm, MPI_STATUS_IGNORE);
    MPI_Recv(b.v + at(1, 0, k), M * b.ni, MPI_DOUBLE, b.south, 1, b.comm, MPI_STATUS_IGNORE);
    spent(&clock_.communication);
    lower_plane(k);
    spent(&clock_.compute);
    MPI_Send(b.v + at(b.ni, 1, k), 1, b.column, b.east, 1, b.comm);
    MPI_Send(b.v + at(1, b.nj, k), M * b.ni, MPI_DOUBLE, b.north, 1, b.comm);
    spent(&clock_.communication);
  }
}

static void upper_sweep(void) {
  for (int k = b.points; k >= 1; k--) {
    MPI_Recv(b.v + at(b.ni + 1, 1, k), 1, b.column, b.east, 2, b.comm, MPI_STATUS_IGNORE);
    MPI_Recv(b.v + at(1, b.nj + 1, k), M * b.ni, MPI_DOUBLE, b.north, 2, b.comm, MPI_STATUS_IGNORE);
    spent(&clock_.communication);
    upper_plane(k);
    spent(&clock_.compute);
    MPI_Send(b.v + at(1, 1, k), 1, b.column, b.west, 2, b.comm);
    MPI_Send(b.v + at(1, 1, k), M * b.ni, MPI_DOUBLE, b.south, 2, b.comm);
    spent(&clock_.communication);
  }
}

/* ---- verification */
static double largest_error(void) {
  double largest = 0;
  for (int k = 1; k <= b.points; k++)
    for (int j = 1; j <= b.nj; j++)
      for (int i = 1; i <= b.ni; i++) {
        double value[M];
        exact(b.points, b.i0 + i, b.j0 + j, k, value);
        for (int m = 0; m < M; m++) largest = fmax(largest, fabs(b.u[at(i, j, k) + (size_t)m] - value[m]));
      }
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, b.comm);
  return largest;
}

/* `history` is the sum of the residuals' norms before each iteration and at the end. The order in which
 * points are computed does not depend on the grid of processes, so it is the same on all grids but for
 * rounding; a value of an iteration that came too late, or from another place, changes it. */
struct result {
  double before, after, history;
};

static struct result solve(MPI_Comm comm, const int grid[2], int points, int iterations) {
  struct result result = {0};
  set_up(comm, grid, points);
  set_problem();
  double* const squares = calloc((size_t)iterations + 1, sizeof *squares);
  result.before = largest_error();
  MPI_Barrier(b.comm);
  start_clock();
  for (int n = 0; n < iterations; n++) {
    exchange_faces();
    spent(&clock_.communication);
    squares[n] = residuals();
    spent(&clock_.compute);
    lower_sweep();
    upper_sweep();
  }
  exchange_faces();
  squares[iterations] = residuals();
  MPI_Allreduce(MPI_IN_PLACE, squares, iterations + 1, MPI_DOUBLE, MPI_SUM, b.comm);
  for (int n = 0; n <= iterations; n++) result.history += sqrt(squares[n] / pow(points, 3));
  result.after = largest_error();
  free(squares);
  tear_down();
  return result;
}

static int report(const struct size_class* size, const int grid[2], int iterations, struct result result,
                  double history) {
  const double bound = result.before * pow(RATE, iterations) + 1e-13,
               off = fabs(result.history / history - 1);
  const int verified = result.after < bound && off < 1e-12;
  const double operations = 2 * M * M * 12 + 12 * M; /* of a point in an iteration */
  const double mflops = 1e-6 * operations * pow(size->points, 3) / seconds_per_iteration(iterations);
  printf("Wavefronts, class %c (%d x %d x %d points)\n", size->name, size->points, size->points,
         size->points);
  printf("  processes             %d: %d x %d\n", grid[0] * grid[1], grid[0], grid[1]);
  print_times(iterations);
  printf("  in communication      %.1f %%\n",
         100 * clock_.communication / (clock_.communication + clock_.compute));
  printf("  performance           %.1f MFLOPS\n", mflops);
  printf("  error                 %.3e of at most %.3e, at the start %.3f\n", result.after, bound,
         result.before);
  printf("  sum of residuals      %.15e: %s\n", result.history, verified ? "verified" : "NOT VERIFIED");
  printf("  by one process        %.15e: relative difference %.1e\n", history, off);
  return print_result("wavefront", "mpi", (char[]){size->name, 0}, grid[0] * grid[1], iterations, mflops,
                      verified);
}

int main(int argc, char** argv) {
  int rank, processes, code = 2, grid[2] = {0, 0};
  const struct size_class* size = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const char* const name = argc > 1 ? argv[1] : "S";
  const int iterations = argc > 2 ? atoi(argv[2]) : ITERATIONS;
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (name[0] == classes[i].name && name[1] == 0) size = &classes[i];
  MPI_Dims_create(processes, 2, grid);
  if (argc > 3 || size == NULL || iterations < 1) {
    if (rank == 0) fprintf(stderr, "usage: %s [CLASS [ITERATIONS]]; CLASS is S, W, A or B\n", argv[0]);
  } else if (grid[0] > size->points) {
    if (rank == 0)
      fprintf(stderr, "%s: %d processes form a grid of %d x %d, too many for %d x %d points\n", argv[0],
              processes, grid[0], grid[1], size->points, size->points);
  } else {
    set_coupling();
    /* Before the time is taken: what one process computes, where it is not known. */
    double history = size->history;
    if (rank == 0 && iterations != ITERATIONS)
      history = solve(MPI_COMM_SELF, (const int[]){1, 1}, size->points, iterations).history;
    const struct result result = solve(MPI_COMM_WORLD, grid, size->points, iterations);
    code = rank == 0 ? report(size, grid, iterations, result, history) : 0;
  }
  MPI_Finalize();
  return code;
}
