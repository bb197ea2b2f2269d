/* The Himeno benchmark: Jacobi's method for Poisson's equation in a box, 19 points for each new one, 34
 * floating-point operations. This header is what its versions share: the problem, the kernels on one
 * process's block, times, verification, output. How blocks get their neighbours' values is in the
 * versions:
 *
 *     himeno_seq.c       one process
 *     himeno_mpi.c       MPI: sends and receives
 *     himeno_mpi_get.c   MPI: one-sided gets
 *     himeno_global.c    XcalableACC, global view: the sequential loops with directives
 *     himeno_local.c     XcalableACC, local view: coarrays
 *     himeno_nonblock.c  the same with all gets of an iteration in flight at once
 *
 * The size and the grid of processes are constants of the program: -DSIZE=M -DNDI=2 -DNDJ=2. Each process
 * holds a block of the directions i and j with a layer of its neighbours' points (the halo) around it, and
 * all of direction k, so that rows stay whole. */
#ifndef HIMENO_H
#define HIMENO_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../clock.h"

#ifndef SIZE
#define SIZE S
#endif
#ifndef NDI /* processes in directions i and j */
#define NDI 1
#endif
#ifndef NDJ
#define NDJ 1
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

/* Points in each direction, the fixed boundary among them. */
#define NI_XS 32
#define NI_S 64
#define NI_M 128
#define NI_L 256
#define NI PASTE(NI_, SIZE)
#define NJ NI
#define NK (2 * NI)

#define PROCESSES (NDI * NDJ)
#define BI ((NI + NDI - 1) / NDI) /* points of a block; the last one may have fewer */
#define BJ ((NJ + NDJ - 1) / NDJ)
#define LI (BI + 2) /* with the halo: point 1 is the block's first */
#define LJ (BJ + 2)

_Static_assert((NDI - 1) * BI < NI && (NDJ - 1) * BJ < NJ, "a process would have no points");

#define OMEGA 0.8f

typedef float (*field)[LJ][NK]; /* the points of a block */

/* ---- one process's block */
struct block {
  int i, j;               /* its place in the grid */
  int i0, i1, j0, j1;     /* local indices [i0, i1) x [j0, j1) of its inner points: those that are computed */
  int before_i, before_j; /* global index of a point = local index + this */
};

/* Rank 0 is (0, 0), rank 1 (0, 1): neighbours in j are close. */
static inline struct block block_of(int rank) {
  struct block b = {.i = rank / NDJ, .j = rank % NDJ};
  b.before_i = b.i * BI - 1, b.before_j = b.j * BJ - 1;
  b.i0 = b.i == 0 ? 2 : 1, b.i1 = b.i == NDI - 1 ? NI - 1 - b.before_i : BI + 1;
  b.j0 = b.j == 0 ? 2 : 1, b.j1 = b.j == NDJ - 1 ? NJ - 1 - b.before_j : BJ + 1;
  return b;
}

#ifndef HIMENO_GLOBAL_VIEW
static float a[4][LI][LJ][NK], b[3][LI][LJ][NK], c[3][LI][LJ][NK]; /* coefficients */
static float bnd[LI][LJ][NK];                                      /* 1 in the fluid, 0 in obstacles */
static float wrk1[LI][LJ][NK];                                     /* the source term */
static float wrk2[LI][LJ][NK];                                     /* the new p */
#pragma acc declare create(a, b, c, bnd, wrk1, wrk2)

/* No value in the halo: those come from the neighbours. */
static void set_up(field p, struct block me) {
  for (int i = 1; i <= BI; i++)
    for (int j = 1; j <= BJ; j++)
      for (int k = 0; k < NK; k++) {
        const float x = (float)(me.before_i + i) / (NI - 1);
        p[i][j][k] = x * x;
        for (int n = 0; n < 3; n++) a[n][i][j][k] = c[n][i][j][k] = 1, b[n][i][j][k] = 0;
        a[3][i][j][k] = 1.0f / 6;
        bnd[i][j][k] = 1;
        wrk1[i][j][k] = wrk2[i][j][k] = 0;
      }
#pragma acc update device(p [0:LI], a, b, c, bnd, wrk1, wrk2)
}

/* The new values into wrk2; this block's part of gosa, the sum of the squares of the changes. */
static double jacobi(field p, struct block me) {
  double gosa = 0;
#pragma acc parallel loop gang collapse(2) reduction(+ : gosa) present(p [0:LI], a, b, c, bnd, wrk1, wrk2)
  for (int i = me.i0; i < me.i1; i++)
    for (int j = me.j0; j < me.j1; j++) {
      float row = 0;
#pragma acc loop vector reduction(+ : row)
      for (int k = 1; k < NK - 1; k++) {
        const float s =
            a[0][i][j][k] * p[i + 1][j][k] + a[1][i][j][k] * p[i][j + 1][k] + a[2][i][j][k] * p[i][j][k + 1] +
            c[0][i][j][k] * p[i - 1][j][k] + c[1][i][j][k] * p[i][j - 1][k] + c[2][i][j][k] * p[i][j][k - 1] +
            b[0][i][j][k] * (p[i + 1][j + 1][k] - p[i + 1][j - 1][k] - p[i - 1][j + 1][k] + p[i - 1][j - 1][k]) +
            b[1][i][j][k] * (p[i][j + 1][k + 1] - p[i][j - 1][k + 1] - p[i][j + 1][k - 1] + p[i][j - 1][k - 1]) +
            b[2][i][j][k] * (p[i + 1][j][k + 1] - p[i - 1][j][k + 1] - p[i + 1][j][k - 1] + p[i - 1][j][k - 1]) +
            wrk1[i][j][k];
        const float change = (s * a[3][i][j][k] - p[i][j][k]) * bnd[i][j][k];
        row += change * change;
        wrk2[i][j][k] = p[i][j][k] + OMEGA * change;
      }
      gosa += row;
    }
  return gosa;
}

static void update(field p, struct block me) {
#pragma acc parallel loop collapse(3) present(p [0:LI], wrk2)
  for (int i = me.i0; i < me.i1; i++)
    for (int j = me.j0; j < me.j1; j++)
      for (int k = 1; k < NK - 1; k++) p[i][j][k] = wrk2[i][j][k];
}
#endif

/* ---- the command line: the number of iterations, and what gosa must be then: optional. */
struct run {
  int iterations;
  double gosa; /* 0: not given */
};

/* Called by all processes; one of them speaks. */
static struct run run_of(int argc, char** argv, int processes, int rank) {
  const struct run run = {argc > 1 ? atoi(argv[1]) : 100, argc > 2 ? atof(argv[2]) : 0};
  if (processes == PROCESSES && run.iterations > 0 && argc < 4) return run;
  if (rank == 0 && processes != PROCESSES)
    fprintf(stderr, "%s: compiled for %d x %d processes (-DNDI=%d -DNDJ=%d), not for %d\n", argv[0], NDI, NDJ,
            NDI, NDJ, processes);
  else if (rank == 0)
    fprintf(stderr, "usage: %s [ITERATIONS [GOSA OF THE SEQUENTIAL PROGRAM]]\n", argv[0]);
  exit(2);
}

/* ---- verification. gosa of an iteration (from 1), exactly.
 *
 * At the start p is (i / (NI-1))^2, so the changes are 1 / (3 (NI-1)^2) at all inner points. As the
 * boundary is fixed they are 0 there, and a sweep multiplies their sine mode (l, m, n) by 1 - w + w/3 (cos
 * l pi/(NI-1) + cos m pi/(NJ-1) + cos n pi/(NK-1)). A constant has odd modes only; the square of mode l's
 * part is 2/(NI-1) cot^2(l pi / 2(NI-1)). */
static double exact_gosa(int iteration) {
  const int points[3] = {NI, NJ, NK};
  static double share[3][NK / 2], cosine[3][NK / 2];
  const double first = 1.0 / (3.0 * (NI - 1) * (NI - 1)), pi = acos(-1);
  for (int d = 0; d < 3; d++)
    for (int l = 1; l < points[d] - 1; l += 2) {
      const double angle = l * pi / (points[d] - 1), cotangent = 1 / tan(angle / 2);
      share[d][l / 2] = 2.0 / (points[d] - 1) * cotangent * cotangent;
      cosine[d][l / 2] = cos(angle);
    }
  double sum = 0;
  for (int l = 0; l < NI / 2 - 1; l++)
    for (int m = 0; m < NJ / 2 - 1; m++)
      for (int n = 0; n < NK / 2 - 1; n++) {
        const double factor = 1 - OMEGA + OMEGA / 3 * (cosine[0][l] + cosine[1][m] + cosine[2][n]);
        sum += share[0][l] * share[1][m] * share[2][n] * pow(factor, 2.0 * (iteration - 1));
      }
  return first * first * sum;
}

/* For rank 0; the program's exit code. gosa is that of the last iteration. In float, 1/6 is off by up to
 * half a unit in its last place: so much of p, up to 1, is added to the changes. */
static int report(const char* version, struct run run, double gosa) {
  const double flops = 34.0 * (NI - 2) * (NJ - 2) * (NK - 2);
  const double mflops = 1e-6 * flops / seconds_per_iteration(run.iterations);
  const double exact = exact_gosa(run.iterations), error = fabs(gosa / exact - 1);
  const double tolerance = FLT_EPSILON / 2 * 3 * (NI - 1) * (NI - 1);
  const int verified = error < tolerance && (run.gosa == 0 || fabs(gosa / run.gosa - 1) < 1e-6);
  printf("Himeno benchmark, size %s (%d x %d x %d), version %s\n", TEXT(SIZE), NI, NJ, NK, version);
  printf("  processes             %d: %d x %d blocks of %d x %d x %d\n", PROCESSES, NDI, NDJ, BI, BJ, NK);
  print_times(run.iterations);
  printf("  performance           %.1f MFLOPS\n", mflops);
  printf("  gosa                  %.9e: %s\n", gosa, verified ? "verified" : "NOT VERIFIED");
  printf("  in exact arithmetic   %.9e: relative error %.1e of at most %.1e\n", exact, error, tolerance);
  if (run.gosa != 0) printf("  sequential program    %.9e\n", run.gosa);
  return print_result("himeno", version, TEXT(SIZE), PROCESSES, run.iterations, mflops, verified);
}
#endif
