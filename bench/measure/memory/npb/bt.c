// Block tridiagonal systems along the three directions of a cube: the access pattern of NPB's BT (RNR-94-007,
// section 3; arrays as in its version 2.3: 140 numbers a point, 75 of them the blocks of the whole cube).
// Lines are eliminated together, plane after plane of the direction, so that along z every step touches all
// of the array.
//
// A step makes the right side from a solution that is known, and must find it again:
// M_x M_y M_z w = f, where M_d has a 5x5 block for a point and each of its two neighbours along d.
#include <math.h>

#include "measure/memory/memory.h"
#include "measure/memory/npb/blocks.h"

struct row {
  block a, b, c;  // of the point before, of this point, of the point behind
};

static int g_n;
static vector *g_u, *g_rhs, *g_forcing;
static struct row* g_lhs;
static block *g_fjac, *g_njac;

struct direction {  // strides of the direction itself, and of the two others
  size_t s, a, b;
  double scale;
};

static struct direction direction(int d) {
  const size_t n = (size_t)g_n;
  if (d == 0) return (struct direction){n * n, n, 1, 1.0};
  if (d == 1) return (struct direction){n, n * n, 1, 0.9};
  return (struct direction){1, n * n, n, 0.8};
}

static size_t cells(void) {
  return (size_t)g_n * (size_t)g_n * (size_t)g_n;
}

static double solution(size_t cell, int m, int repetition) {
  return (1 + unit(cell * 5 + (size_t)m)) * (1 + 0.125 * (repetition % 16));
}

static bool setup(const char* size) {
  static const int sizes[] = {12, 24, 64, 102, 162, 408};
  const int c = npb_class(size);
  if (c < 0) return false;
  g_n = sizes[c];
  g_u = memory_get(cells() * sizeof *g_u);
  g_rhs = memory_get(cells() * sizeof *g_rhs);
  g_forcing = memory_get(cells() * sizeof *g_forcing);
  g_lhs = memory_get(cells() * sizeof *g_lhs);
  g_fjac = memory_get(cells() * sizeof *g_fjac);
  g_njac = memory_get(cells() * sizeof *g_njac);
#pragma omp parallel for schedule(static)
  for (size_t x = 0; x < cells(); x++)
    for (int m = 0; m < 5; m++) g_u[x][m] = unit(~(x * 5 + (size_t)m));
  return true;
}

// Made up, of the shape that the fluxes' derivatives have: one full, one lower triangular.
static void jacobians(vector u, double scale, block f, block n) {
  for (int m = 0; m < 5; m++)
    for (int l = 0; l < 5; l++) {
      f[m][l] = 0.1 * scale * (u[m] - 0.5) * u[l];
      n[m][l] = l <= m ? 0.05 * scale * u[l] : 0;
    }
}

static const double kT1 = 0.1, kT2 = 0.2, kD = 0.75;

static void rows(block f_before, block n_before, block n_here, block f_behind, block n_behind,
                 struct row* out) {
  for (int m = 0; m < 5; m++)
    for (int l = 0; l < 5; l++) {
      const double one = m == l;
      out->a[m][l] = -kT2 * f_before[m][l] - kT1 * n_before[m][l] - kT1 * kD * one;
      out->b[m][l] = one + 2 * kT1 * n_here[m][l] + 2 * kT1 * kD * one;
      out->c[m][l] = kT2 * f_behind[m][l] - kT1 * n_behind[m][l] - kT1 * kD * one;
    }
}

// out = M_d in; the first and the last point of a line stay as they are.
static void multiply(int d, vector* in, vector* out) {
  const struct direction k = direction(d);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < g_n; i++)
    for (int j = 0; j < g_n; j++)
      for (int l = 0; l < g_n; l++) {
        const size_t x = ((size_t)i * (size_t)g_n + (size_t)j) * (size_t)g_n + (size_t)l;
        const int at = d == 0 ? i : d == 1 ? j : l;
        if (at == 0 || at == g_n - 1) {
          for (int m = 0; m < 5; m++) out[x][m] = in[x][m];
          continue;
        }
        block f[3], n[3];
        for (int side = 0; side < 3; side++)
          jacobians(g_u[x + (size_t)side * k.s - k.s], k.scale, f[side], n[side]);
        struct row r;
        rows(f[0], n[0], n[1], f[2], n[2], &r);
        vector sum = {0};
        subtract_product(r.a, in[x - k.s], sum);
        subtract_product(r.b, in[x], sum);
        subtract_product(r.c, in[x + k.s], sum);
        for (int m = 0; m < 5; m++) out[x][m] = -sum[m];
      }
}

// The blocks of the whole cube.
static void build(int d) {
  const struct direction k = direction(d);
#pragma omp parallel for schedule(static)
  for (size_t x = 0; x < cells(); x++) jacobians(g_u[x], k.scale, g_fjac[x], g_njac[x]);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < g_n; i++)
    for (int j = 0; j < g_n; j++)
      for (int l = 0; l < g_n; l++) {
        const size_t x = ((size_t)i * (size_t)g_n + (size_t)j) * (size_t)g_n + (size_t)l;
        const int at = d == 0 ? i : d == 1 ? j : l;
        if (at > 0 && at < g_n - 1) {
          rows(g_fjac[x - k.s], g_njac[x - k.s], g_njac[x], g_fjac[x + k.s], g_njac[x + k.s], &g_lhs[x]);
          continue;
        }
        for (int m = 0; m < 5; m++)
          for (int o = 0; o < 5; o++) g_lhs[x].a[m][o] = g_lhs[x].c[m][o] = 0, g_lhs[x].b[m][o] = m == o;
      }
}

static void solve(int d, vector* rhs) {
  const struct direction k = direction(d);
  // The same thread has the same lines in every plane: static schedules of as many iterations.
#pragma omp parallel
  for (int s = 1; s < g_n; s++) {
#pragma omp for schedule(static) nowait
    for (int i = 0; i < g_n; i++)
      for (int j = 0; j < g_n; j++) {
        const size_t x = (size_t)s * k.s + (size_t)i * k.a + (size_t)j * k.b;
        struct row* r = &g_lhs[x];
        struct row* before = &g_lhs[x - k.s];
        subtract_product(r->a, rhs[x - k.s], rhs[x]);
        for (int m = 0; m < 5; m++)
          for (int l = 0; l < 5; l++)
            for (int o = 0; o < 5; o++) r->b[m][l] -= r->a[m][o] * before->c[o][l];
        solve_block(r->b, r->c, rhs[x]);
      }
  }
#pragma omp parallel
  for (int s = g_n - 2; s >= 0; s--) {
#pragma omp for schedule(static) nowait
    for (int i = 0; i < g_n; i++)
      for (int j = 0; j < g_n; j++) {
        const size_t x = (size_t)s * k.s + (size_t)i * k.a + (size_t)j * k.b;
        subtract_product(g_lhs[x].c, rhs[x + k.s], rhs[x]);
      }
  }
}

static void step(int part, int repetition) {
  (void)part;
#pragma omp parallel for schedule(static)
  for (size_t x = 0; x < cells(); x++)
    for (int m = 0; m < 5; m++) g_rhs[x][m] = solution(x, m, repetition);
  multiply(2, g_rhs, g_forcing);
  multiply(1, g_forcing, g_rhs);
  multiply(0, g_rhs, g_forcing);
  for (int d = 0; d < 3; d++) {
    build(d);
    solve(d, g_forcing);
  }
}

static double bytes(int part) {
  (void)
      part;  // in each direction: both Jacobians and the blocks written and read, and twice the blocks again
  return (double)cells() * 8 * 3 * (2 * 50 + 4 * 75 + 8 * 5);
}
static double operations(int part) {
  (void)part;
  return (double)cells() * 3 * (250 + 50 + 50 + 430 + 50 + 400);
}

static bool check(int repetitions, char* failure, size_t size) {
  for (size_t x = 0; x < cells(); x++)
    for (int m = 0; m < 5; m++) {
      const double expected = solution(x, m, repetitions - 1);
      if (fabs(g_forcing[x][m] - expected) <= 1e-10) continue;
      snprintf(failure, size, "number %d of point %zu is %.15g, the solution is %.15g", m, x, g_forcing[x][m],
               expected);
      return false;
    }
  return true;
}

static int results(struct memory_result* r) {
  r[0] = (struct memory_result){g_forcing, cells() * sizeof *g_forcing};
  return 1;
}

const struct memory_kernel kBt = {.name = "bt",
                                  .sizes = "NPB classes S, W, A, B, C, D",
                                  .size = "A",
                                  .setup = setup,
                                  .step = step,
                                  .bytes = bytes,
                                  .operations = operations,
                                  .check = check,
                                  .results = results};
