/* Himeno benchmark, XcalableACC's global view: the sequential program, and directives that say which
 * process holds and computes what. A compiler that ignores them makes the sequential program of it. See
 * himeno.h, of which this version uses the problem and the report.
 *
 *     tasukicc -O3 -march=native -ffast-math -DSIZE=M -DNDI=2 -DNDJ=2 himeno_global.c -o himeno_global -lm
 *     mpirun -n 4 tasuki run ./himeno_global 100
 */
#define HIMENO_GLOBAL_VIEW
#include "himeno.h"

#pragma xmp nodes n[NDI][NDJ]
#pragma xmp template t[NI][NJ][NK]
#pragma xmp distribute t[block][block][*] onto n

static float p[NI][NJ][NK];
static float a[4][NI][NJ][NK], b[3][NI][NJ][NK], c[3][NI][NJ][NK];
static float bnd[NI][NJ][NK], wrk1[NI][NJ][NK], wrk2[NI][NJ][NK];
#pragma xmp align p[i][j][k] with t[i][j][k]
#pragma xmp align a[*][i][j][k] with t[i][j][k]
#pragma xmp align b[*][i][j][k] with t[i][j][k]
#pragma xmp align c[*][i][j][k] with t[i][j][k]
#pragma xmp align bnd[i][j][k] with t[i][j][k]
#pragma xmp align wrk1[i][j][k] with t[i][j][k]
#pragma xmp align wrk2[i][j][k] with t[i][j][k]
#pragma xmp shadow p[1][1][0]
#pragma acc declare create(p, a, b, c, bnd, wrk1, wrk2)

static void set_up(void) {
#pragma xmp loop (i, j) on t[i][j][*]
  for (int i = 0; i < NI; i++)
    for (int j = 0; j < NJ; j++)
      for (int k = 0; k < NK; k++) {
        const float x = (float)i / (NI - 1);
        p[i][j][k] = x * x;
        for (int m = 0; m < 3; m++) a[m][i][j][k] = c[m][i][j][k] = 1, b[m][i][j][k] = 0;
        a[3][i][j][k] = 1.0f / 6;
        bnd[i][j][k] = 1;
        wrk1[i][j][k] = wrk2[i][j][k] = 0;
      }
#pragma acc update device(p, a, b, c, bnd, wrk1, wrk2)
}

/* The part of gosa that each process has computed. */
static double jacobi(void) {
  double gosa = 0;
#pragma acc parallel loop gang collapse(2) reduction(+ : gosa) present(p, a, b, c, bnd, wrk1, wrk2)
#pragma xmp loop (i, j) on t[i][j][*]
  for (int i = 1; i < NI - 1; i++)
    for (int j = 1; j < NJ - 1; j++) {
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

static void update(void) {
#pragma acc parallel loop collapse(2) present(p, wrk2)
#pragma xmp loop (i, j) on t[i][j][*]
  for (int i = 1; i < NI - 1; i++)
    for (int j = 1; j < NJ - 1; j++)
      for (int k = 1; k < NK - 1; k++) p[i][j][k] = wrk2[i][j][k];
}

int main(int argc, char** argv) {
  const struct run run = run_of(argc, argv, PROCESSES, 0); /* `nodes` has compared their number */
  double gosa = 0;
  int code = 0;
  set_up();
#pragma xmp barrier
  start_clock();
  for (int iteration = 0; iteration < run.iterations; iteration++) {
#pragma xmp reflect (p) width(1, 1, 0) acc
    spent(&clock_.communication);
    gosa = jacobi();
    spent(&clock_.compute);
#pragma xmp reduction(+ : gosa)
    spent(&clock_.reduction);
    update();
    spent(&clock_.compute);
  }
#pragma xmp task on n[0][0]
  code = report("global", run, gosa);
  return code;
}
