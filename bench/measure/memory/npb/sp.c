// Pentadiagonal systems along the three directions of a cube: the access pattern of NPB's SP (RNR-94-007,
// section 3; arrays as in its version 2.3): 35 arrays of the whole cube, of which an elimination walks
// through 20 in three planes at once.
//
// A step makes the right side from a solution that is known, and must find it again, as in bt.c.
#include <math.h>

#include "measure/memory/memory.h"

static int g_n;
static double *g_u[5], *g_us, *g_vs, *g_ws, *g_rho, *g_speed, *g_rhs[5], *g_forcing[5];
static double* g_lhs[15];  // five diagonals of three systems: of components 0 to 2, of 3, of 4

struct direction {
  size_t s, a, b;       // strides of the direction itself, and of the two others
  const double* speed;  // of the flow in this direction
};

static struct direction direction(int d) {
  const size_t n = (size_t)g_n;
  if (d == 0) return (struct direction){n * n, n, 1, g_us};
  if (d == 1) return (struct direction){n, n * n, 1, g_vs};
  return (struct direction){1, n * n, n, g_ws};
}

static size_t cells(void) {
  return (size_t)g_n * (size_t)g_n * (size_t)g_n;
}
static int system_of(int component) {
  return component < 3 ? 0 : component - 2;
}
static double solution(size_t cell, int m, int repetition) {
  return (1 + unit(cell * 5 + (size_t)m)) * (1 + 0.125 * (repetition % 16));
}

static bool setup(const char* size) {
  static const int sizes[] = {12, 36, 64, 102, 162, 408};
  const int c = npb_class(size);
  if (c < 0) return false;
  g_n = sizes[c];
  const size_t bytes = cells() * sizeof(double);
  for (int m = 0; m < 5; m++) {
    g_u[m] = memory_get(bytes);
    g_rhs[m] = memory_get(bytes);
    g_forcing[m] = memory_get(bytes);
  }
  double** const fields[] = {&g_us, &g_vs, &g_ws, &g_rho, &g_speed};
  for (int i = 0; i < 5; i++) *fields[i] = memory_get(bytes);
  for (int i = 0; i < 15; i++) g_lhs[i] = memory_get(bytes);
  for (int m = 0; m < 5; m++) {
#pragma omp parallel for schedule(static)
    for (size_t x = 0; x < cells(); x++) g_u[m][x] = 0.5 + 0.5 * unit(~(x * 5 + (size_t)m));
  }
  return true;
}

// What the coefficients are made of, from the field.
static void primitive(void) {
#pragma omp parallel for schedule(static)
  for (size_t x = 0; x < cells(); x++) {
    const double inverse = 1 / g_u[0][x];
    g_us[x] = g_u[1][x] * inverse - 1;
    g_vs[x] = g_u[2][x] * inverse - 1;
    g_ws[x] = g_u[3][x] * inverse - 1;
    g_rho[x] = 0.5 * inverse;
    g_speed[x] = 0.5 * sqrt(g_u[4][x] * inverse);
  }
}

static const double kT1 = 0.1, kT2 = 0.1, kDissipation = 0.02;

// The five coefficients of point x, number `at` of its line.
static void coefficients(const struct direction* k, int system, int at, size_t x, double l[5]) {
  l[0] = l[1] = l[3] = l[4] = 0;
  l[2] = 1;
  if (at == 0 || at == g_n - 1) return;
  const size_t before = x - k->s, behind = x + k->s;
  const double sound = system == 0 ? 0 : system == 1 ? kT2 : -kT2;
  if (at > 1) l[0] = kDissipation;
  l[1] = -kT2 * k->speed[before] - kT1 * g_rho[before] - 4 * kDissipation - sound * g_speed[before];
  l[2] += 2 * kT1 * g_rho[x] + 6 * kDissipation;
  l[3] = kT2 * k->speed[behind] - kT1 * g_rho[behind] - 4 * kDissipation + sound * g_speed[behind];
  if (at < g_n - 2) l[4] = kDissipation;
}

static void multiply(int d, double* const* in, double* const* out) {
  const struct direction k = direction(d);
  for (int m = 0; m < 5; m++) {
    const double* from = in[m];
    double* to = out[m];
#pragma omp parallel for schedule(static)
    for (int i = 0; i < g_n; i++)
      for (int j = 0; j < g_n; j++)
        for (int c = 0; c < g_n; c++) {
          const size_t x = ((size_t)i * (size_t)g_n + (size_t)j) * (size_t)g_n + (size_t)c;
          const int at = d == 0 ? i : d == 1 ? j : c;
          double l[5];
          coefficients(&k, system_of(m), at, x, l);
          double sum = l[2] * from[x];
          if (at > 0 && at < g_n - 1) sum += l[1] * from[x - k.s] + l[3] * from[x + k.s];
          if (at > 1 && at < g_n - 1) sum += l[0] * from[x - 2 * k.s];
          if (at > 0 && at < g_n - 2) sum += l[4] * from[x + 2 * k.s];
          to[x] = sum;
        }
  }
}

static void build(int d) {
  const struct direction k = direction(d);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < g_n; i++)
    for (int j = 0; j < g_n; j++)
      for (int c = 0; c < g_n; c++) {
        const size_t x = ((size_t)i * (size_t)g_n + (size_t)j) * (size_t)g_n + (size_t)c;
        const int at = d == 0 ? i : d == 1 ? j : c;
        for (int system = 0; system < 3; system++) {
          double l[5];
          coefficients(&k, system, at, x, l);
          for (int e = 0; e < 5; e++) g_lhs[5 * system + e][x] = l[e];
        }
      }
}

// Row x of one system is final; the two behind it lose their part of it.
static inline void eliminate(double* const* l, double* const* rhs, int from, int to, int at, size_t x,
                             size_t stride) {
  const double factor = 1 / l[2][x];
  l[3][x] *= factor;
  l[4][x] *= factor;
  for (int m = from; m < to; m++) rhs[m][x] *= factor;
  if (at + 1 >= g_n) return;
  const size_t y = x + stride;
  l[2][y] -= l[1][y] * l[3][x];
  l[3][y] -= l[1][y] * l[4][x];
  for (int m = from; m < to; m++) rhs[m][y] -= l[1][y] * rhs[m][x];
  if (at + 2 >= g_n) return;
  const size_t z = y + stride;
  l[1][z] -= l[0][z] * l[3][x];
  l[2][z] -= l[0][z] * l[4][x];
  for (int m = from; m < to; m++) rhs[m][z] -= l[0][z] * rhs[m][x];
}

static inline void substitute(double* const* l, double* const* rhs, int from, int to, int at, size_t x,
                              size_t stride) {
  for (int m = from; m < to; m++) {
    rhs[m][x] -= l[3][x] * rhs[m][x + stride];
    if (at + 2 < g_n) rhs[m][x] -= l[4][x] * rhs[m][x + 2 * stride];
  }
}

// Plane after plane of the direction where that leaves the innermost loop to neighbours in memory, else line
// by line. The same thread has the same lines in every plane: static schedules of as many iterations.
static void solve(int d, double* const* rhs) {
  static const int components[3][2] = {{0, 3}, {3, 4}, {4, 5}};
  const struct direction k = direction(d);
  const int last = g_n - 1;
  for (int system = 0; system < 3; system++) {
    double* const* l = g_lhs + 5 * system;
    const int from = components[system][0], to = components[system][1];
    if (d == 2) {
#pragma omp parallel for schedule(static)
      for (int i = 0; i < g_n; i++)
        for (int j = 0; j < g_n; j++) {
          const size_t x = (size_t)i * k.a + (size_t)j * k.b;
          for (int s = 0; s <= last; s++) eliminate(l, rhs, from, to, s, x + (size_t)s, 1);
          for (int s = last - 1; s >= 0; s--) substitute(l, rhs, from, to, s, x + (size_t)s, 1);
        }
      continue;
    }
#pragma omp parallel
    for (int s = 0; s <= last; s++) {
#pragma omp for schedule(static) nowait
      for (int i = 0; i < g_n; i++)
        for (int j = 0; j < g_n; j++)
          eliminate(l, rhs, from, to, s, (size_t)s * k.s + (size_t)i * k.a + (size_t)j * k.b, k.s);
    }
#pragma omp parallel
    for (int s = last - 1; s >= 0; s--) {
#pragma omp for schedule(static) nowait
      for (int i = 0; i < g_n; i++)
        for (int j = 0; j < g_n; j++)
          substitute(l, rhs, from, to, s, (size_t)s * k.s + (size_t)i * k.a + (size_t)j * k.b, k.s);
    }
  }
}

static void step(int part, int repetition) {
  (void)part;
  primitive();
  for (int m = 0; m < 5; m++) {
#pragma omp parallel for schedule(static)
    for (size_t x = 0; x < cells(); x++) g_rhs[m][x] = solution(x, m, repetition);
  }
  multiply(2, g_rhs, g_forcing);
  multiply(1, g_forcing, g_rhs);
  multiply(0, g_rhs, g_forcing);
  for (int d = 0; d < 3; d++) {
    build(d);
    solve(d, g_forcing);
  }
}

static double bytes(int part) {
  (void)part;
  return (double)cells() * 8 * (10 + 5 + 3 * (15 + 10 + 15 + 3 * 2 * 20 + 2 * 15));
}
static double operations(int part) {
  (void)part;
  return (double)cells() * (8 + 3 * (5 * 15 + 3 * 12 + 3 * 11 + 5 * 5 + 5 * 4));
}

static bool check(int repetitions, char* failure, size_t size) {
  for (int m = 0; m < 5; m++)
    for (size_t x = 0; x < cells(); x++) {
      const double expected = solution(x, m, repetitions - 1);
      if (fabs(g_forcing[m][x] - expected) <= 1e-10) continue;
      snprintf(failure, size, "number %d of point %zu is %.15g, the solution is %.15g", m, x, g_forcing[m][x],
               expected);
      return false;
    }
  return true;
}

static int results(struct memory_result* r) {
  for (int m = 0; m < 5; m++) r[m] = (struct memory_result){g_forcing[m], cells() * sizeof(double)};
  return 5;
}

const struct memory_kernel kSp = {.name = "sp",
                                  .sizes = "NPB classes S, W, A, B, C, D",
                                  .size = "B",
                                  .setup = setup,
                                  .step = step,
                                  .bytes = bytes,
                                  .operations = operations,
                                  .check = check,
                                  .results = results};
