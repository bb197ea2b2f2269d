// Symmetric successive over-relaxation: the access pattern of NPB's LU (RNR-94-007, section 3; arrays as in
// its version 2.3: 20 numbers a point, and the blocks of one plane). A sweep goes through the cube plane by
// plane: it makes the blocks of a plane and solves the plane. A step sweeps once in either direction.
//
// The equation A(u) = f describes a flow of gas by Euler's fluxes and diffusion; its solution is known. A
// step comes closer to the solution: it finds v of (D + w L) (1 + w D^-1 U) v = f - A(u), and adds
// v / (w (2 - w)) to u. D, L and U are the derivatives of A by the point itself, by the points before it and
// by those behind it; w is 1.2. A step begins with the right side, where NPB's ends with it: so v is left for
// the check.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/memory/memory.h"
#include "measure/memory/npb/blocks.h"

static int g_n;
static vector *g_u, *g_rsd, *g_frct, *g_flux;
static block *g_diagonal, *g_beside[3];  // of a plane; g_beside: of the neighbours along x, y, z

static const double kConvection = 0.04, kViscosity = 0.02, kDiffusion = 0.03, kDissipation = 0.002;
static const double kOmega = 1.2;

static size_t stride(int d) {
  return d == 0 ? 1 : d == 1 ? (size_t)g_n : (size_t)g_n * (size_t)g_n;
}
static size_t cells(void) {
  return stride(2) * (size_t)g_n;
}
static size_t point(int k, int j, int i) {
  return (size_t)k * stride(2) + (size_t)j * stride(1) + (size_t)i;
}

// Density, momentum and energy; the pressure is positive.
static void solution(size_t x, vector u) {
  for (int m = 0; m < 5; m++) u[m] = (m == 0 ? 1 : m == 4 ? 2 : -0.5) + unit(x * 5 + (size_t)m);
}

// ---- what the equation is made of
static inline double pressure(const double* u) {
  return 0.4 * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
}

// Of Euler's equations, along d.
static inline void flux(int d, const double* u, double* out) {
  const double speed = u[1 + d] / u[0], p = pressure(u);
  for (int m = 0; m < 5; m++) out[m] = speed * u[m];
  out[1 + d] += p;
  out[4] += speed * p;
}

// Of what viscosity and conduction of heat even out.
static inline void viscous(const double* u, double* out) {
  out[0] = 0;
  for (int m = 1; m < 5; m++) out[m] = u[m] / u[0];
}

// The derivative of A by the neighbour on one side (-1, 1) along d, times a factor.
static inline void neighbour_block(int d, int side, double factor, const double* u, block out) {
  const double inverse = 1 / u[0], speed = u[1 + d] * inverse, enthalpy = u[4] + pressure(u);
  vector speed_by = {0}, pressure_by = {0};
  speed_by[0] = -speed * inverse;
  speed_by[1 + d] = inverse;
  for (int m = 1; m < 4; m++) {
    pressure_by[m] = -0.4 * u[m] * inverse;
    pressure_by[0] -= 0.5 * pressure_by[m] * u[m] * inverse;
  }
  pressure_by[4] = 0.4;
  for (int m = 0; m < 5; m++)
    for (int l = 0; l < 5; l++) out[m][l] = (m < 4 ? u[m] : enthalpy) * speed_by[l] + (m == l) * speed;
  for (int l = 0; l < 5; l++) {
    out[1 + d][l] += pressure_by[l];
    out[4][l] += speed * pressure_by[l];
  }
  for (int m = 0; m < 5; m++)
    for (int l = 0; l < 5; l++) out[m][l] *= factor * side * kConvection;
  for (int m = 0; m < 5; m++) {
    out[m][m] -= factor * (kDiffusion + (m > 0) * kViscosity * inverse);
    if (m > 0) out[m][0] += factor * kViscosity * u[m] * inverse * inverse;
  }
}

// And by the point itself.
static inline void diagonal_block(const double* u, block out) {
  const double inverse = 1 / u[0];
  memset(out, 0, sizeof(block));
  for (int m = 0; m < 5; m++) {
    out[m][m] = 1 + 6 * (kDiffusion + 3 * kDissipation + (m > 0) * kViscosity * inverse);
    if (m > 0) out[m][0] = -6 * kViscosity * u[m] * inverse * inverse;
  }
}

// rsd = f - A(u), direction after direction, as NPB does it: the fluxes of the whole cube, then what they
// change.
static void residual(void) {
  const int last = g_n - 1;
#pragma omp parallel for schedule(static)
  for (int k = 1; k < last; k++)
    for (int j = 1; j < last; j++)
      for (int i = 1; i < last; i++)
        for (int m = 0; m < 5; m++)
          g_rsd[point(k, j, i)][m] = g_frct[point(k, j, i)][m] - g_u[point(k, j, i)][m];
  for (int d = 0; d < 3; d++) {
    const size_t s = stride(d);
#pragma omp parallel for schedule(static)
    for (size_t x = 0; x < cells(); x++) flux(d, g_u[x], g_flux[x]);
#pragma omp parallel for schedule(static)
    for (int k = 1; k < last; k++)
      for (int j = 1; j < last; j++)
        for (int i = 1; i < last; i++) {
          const size_t x = point(k, j, i);
          for (int m = 0; m < 5; m++) g_rsd[x][m] -= kConvection * (g_flux[x + s][m] - g_flux[x - s][m]);
        }
#pragma omp parallel for schedule(static)
    for (size_t x = s; x < cells(); x++) {  // between a point and the one before it
      vector here, before;
      viscous(g_u[x], here);
      viscous(g_u[x - s], before);
      for (int m = 0; m < 5; m++)
        g_flux[x][m] = kViscosity * (here[m] - before[m]) + kDiffusion * (g_u[x][m] - g_u[x - s][m]);
    }
#pragma omp parallel for schedule(static)
    for (int k = 1; k < last; k++)
      for (int j = 1; j < last; j++)
        for (int i = 1; i < last; i++) {
          const size_t x = point(k, j, i);
          const int at = d == 0 ? i : d == 1 ? j : k;
          for (int m = 0; m < 5; m++) {
            double sum = 6 * g_u[x][m] - 4 * (g_u[x - s][m] + g_u[x + s][m]);
            if (at > 1) sum += g_u[x - 2 * s][m];
            if (at < last - 1) sum += g_u[x + 2 * s][m];
            g_rsd[x][m] += g_flux[x + s][m] - g_flux[x][m] - kDissipation * sum;
          }
        }
  }
}

// ---- the sweeps
// rsd := (D + w L)^-1 rsd with side -1, (1 + w D^-1 U)^-1 rsd with side 1. A point needs its neighbours on
// that side. Those of its own plane lie on the diagonal before, so the points of a diagonal do not need each
// other: the same numbers come out with any threads.
static void sweep(int side) {
  const int inner = g_n - 2;
#pragma omp parallel
  for (int plane = 1; plane <= inner; plane++) {
    const int k = side < 0 ? plane : g_n - 1 - plane;
#pragma omp for schedule(static)
    for (int j = 1; j <= inner; j++)
      for (int i = 1; i <= inner; i++) {
        const size_t x = point(k, j, i), p = point(0, j, i);
        diagonal_block(g_u[x], g_diagonal[p]);
        for (int d = 0; d < 3; d++)
          neighbour_block(d, side, kOmega, g_u[side < 0 ? x - stride(d) : x + stride(d)], g_beside[d][p]);
      }
    for (int wave = 2; wave <= 2 * inner; wave++) {
      const int sum = side < 0 ? wave : 2 * (g_n - 1) - wave;  // of j and i
      const int first = sum > inner ? sum - inner : 1, end = sum > inner ? inner : sum - 1;
#pragma omp for schedule(static)
      for (int j = first; j <= end; j++) {
        const size_t x = point(k, j, sum - j), p = point(0, j, sum - j);
        vector v = {0};
        if (side < 0) memcpy(v, g_rsd[x], sizeof v);
        for (int d = 2; d >= 0; d--)
          subtract_product(g_beside[d][p], g_rsd[side < 0 ? x - stride(d) : x + stride(d)], v);
        solve_block(g_diagonal[p], NULL, v);
        for (int m = 0; m < 5; m++) g_rsd[x][m] = side < 0 ? v[m] : g_rsd[x][m] + v[m];
      }
    }
  }
}

static void step(int part, int repetition) {
  (void)part;
  (void)repetition;
  residual();
  sweep(-1);
  sweep(1);
#pragma omp parallel for schedule(static)
  for (int k = 1; k < g_n - 1; k++)
    for (int j = 1; j < g_n - 1; j++)
      for (int i = 1; i < g_n - 1; i++)
        for (int m = 0; m < 5; m++)
          g_u[point(k, j, i)][m] += g_rsd[point(k, j, i)][m] / (kOmega * (2 - kOmega));
}

static bool on_boundary(int k, int j, int i) {
  const int last = g_n - 1;
  return k == 0 || k == last || j == 0 || j == last || i == 0 || i == last;
}

static bool setup(const char* size) {
  static const int sizes[] = {12, 33, 64, 102, 162, 408};
  const int c = npb_class(size);
  if (c < 0) return false;
  g_n = sizes[c];
  vector** const cubes[] = {&g_u, &g_rsd, &g_frct, &g_flux};
  for (int i = 0; i < 4; i++) *cubes[i] = memory_get(cells() * sizeof(vector));
  g_diagonal = memory_get(stride(2) * sizeof(block));
  for (int d = 0; d < 3; d++) g_beside[d] = memory_get(stride(2) * sizeof(block));
#pragma omp parallel for schedule(static)
  for (size_t x = 0; x < cells(); x++) {
    solution(x, g_u[x]);
    for (int m = 0; m < 5; m++) g_frct[x][m] = g_rsd[x][m] = 0;
  }
  residual();
  // The iteration begins with a gas at rest within the boundary of the solution.
#pragma omp parallel for schedule(static)
  for (int k = 0; k < g_n; k++)
    for (int j = 0; j < g_n; j++)
      for (int i = 0; i < g_n; i++) {
        const size_t x = point(k, j, i);
        for (int m = 0; m < 5; m++) {
          g_frct[x][m] = -g_rsd[x][m];
          if (!on_boundary(k, j, i)) g_u[x][m] = m == 0 ? 1.5 : m == 4 ? 2.5 : 0;
        }
      }
  return true;
}

static double inner_cells(void) {
  return pow(g_n - 2, 3);
}
// The right side: f, u and rsd; then in each direction the fluxes from u and rsd from them, for convection as
// for diffusion. Each sweep: u, the blocks written and read, rsd. In the end u from rsd.
static double bytes(int part) {
  (void)part;
  return inner_cells() * 8 * (15 + 3 * (10 + 15 + 10 + 20) + 2 * (5 + 200 + 10) + 15);
}
static double operations(int part) {
  (void)part;
  return inner_cells() * (5 + 3 * (17 + 15 + 33 + 50) + 2 * (20 + 3 * 150 + 150 + 185 + 5) + 10);
}

// ---- the check
static void before_the_step(size_t x, vector u) {
  for (int m = 0; m < 5; m++) u[m] = g_u[x][m] - g_rsd[x][m] / (kOmega * (2 - kOmega));
}

// A(u) at an inner point, of which `at` are the coordinates along x, y, z.
static void left_side(void (*state)(size_t x, vector u), const int* at, vector out) {
  const size_t x = point(at[2], at[1], at[0]);
  vector u;
  state(x, u);
  for (int m = 0; m < 5; m++) out[m] = u[m];
  for (int d = 0; d < 3; d++) {
    vector sides[2], fluxes[2], rates[3], far[2] = {{0}};
    viscous(u, rates[2]);
    for (int side = 0; side < 2; side++) {
      state(side == 0 ? x - stride(d) : x + stride(d), sides[side]);
      flux(d, sides[side], fluxes[side]);
      viscous(sides[side], rates[side]);
      if (side == 0 && at[d] > 1) state(x - 2 * stride(d), far[side]);
      if (side == 1 && at[d] < g_n - 2) state(x + 2 * stride(d), far[side]);
    }
    for (int m = 0; m < 5; m++)
      out[m] += kConvection * (fluxes[1][m] - fluxes[0][m]) -
                kViscosity * (rates[0][m] - 2 * rates[2][m] + rates[1][m]) -
                kDiffusion * (sides[0][m] - 2 * u[m] + sides[1][m]) +
                kDissipation * (far[0][m] - 4 * sides[0][m] + 6 * u[m] - 4 * sides[1][m] + far[1][m]);
  }
}

static bool check_boundary(size_t x, char* failure, size_t size) {
  vector u;
  solution(x, u);
  for (int m = 0; m < 5; m++) {
    if (g_u[x][m] == u[m] && g_rsd[x][m] == 0) continue;
    snprintf(failure, size, "number %d of point %zu, on the boundary, is %.17g and changed by %g, was %.17g",
             m, x, g_u[x][m], g_rsd[x][m], u[m]);
    return false;
  }
  return true;
}

// The last step must solve its equation: its factors are multiplied here, where the sweeps divided by them.
// `y` is (1 + w D^-1 U) v, of this plane and of the one before. What a step before the last did wrong shows
// in the distance to the solution, or, if later steps made it good, in the checksum alone.
static bool check_point(const int* at, vector* y, vector* y_before, double most_error, char* failure,
                        size_t size) {
  const size_t x = point(at[2], at[1], at[0]), p = point(0, at[1], at[0]);
  vector u, minus_left = {0}, right[2];
  block diagonal, beside;
  before_the_step(x, u);
  diagonal_block(u, diagonal);
  subtract_product(diagonal, g_rsd[x], minus_left);
  for (int d = 0; d < 3; d++) {
    before_the_step(x + stride(d), u);
    neighbour_block(d, 1, kOmega, u, beside);
    subtract_product(beside, g_rsd[x + stride(d)], minus_left);
  }
  for (int m = 0; m < 5; m++) y[p][m] = -minus_left[m];
  solve_block(diagonal, NULL, y[p]);
  for (int d = 0; d < 3; d++) {
    before_the_step(x - stride(d), u);
    neighbour_block(d, -1, kOmega, u, beside);
    subtract_product(beside, d == 2 ? y_before[p] : y[p - stride(d)], minus_left);
  }
  left_side(solution, at, right[0]);
  left_side(before_the_step, at, right[1]);
  solution(x, u);
  for (int m = 0; m < 5; m++) {
    const double expected = right[0][m] - right[1][m];
    if (!(fabs(-minus_left[m] - expected) <= 1e-13)) {
      snprintf(failure, size, "equation %d of point %zu: the last step adds %.15g, the right side is %.15g",
               m, x, -minus_left[m], expected);
      return false;
    }
    if (!(fabs(g_u[x][m] - u[m]) <= most_error)) {
      snprintf(failure, size,
               "number %d of point %zu is %.15g, the solution is %.15g, they may differ by %.1e", m, x,
               g_u[x][m], u[m], most_error);
      return false;
    }
  }
  return true;
}

static bool check(int repetitions, char* failure, size_t size) {
  // The distance to the solution is 0.5 at most in the beginning. Every step but the first makes it a tenth
  // or less, until it is all of rounding.
  const double most_error = fmax(2 * pow(10, -repetitions), 1e-13);
  vector* planes = calloc(2 * stride(2), sizeof *planes);
  if (planes == NULL) {
    snprintf(failure, size, "there is no memory for two planes of the check");
    return false;
  }
  bool right = true;
  for (int k = 0; right && k < g_n; k++)
    for (int j = 0; right && j < g_n; j++)
      for (int i = 0; right && i < g_n; i++) {
        vector *y = planes + (size_t)(k % 2) * stride(2),
               *y_before = planes + (size_t)((k + 1) % 2) * stride(2);
        right = on_boundary(k, j, i)
                    ? check_boundary(point(k, j, i), failure, size)
                    : check_point((const int[]){i, j, k}, y, y_before, most_error, failure, size);
      }
  free(planes);
  return right;
}

static int results(struct memory_result* r) {
  r[0] = (struct memory_result){g_u, cells() * sizeof *g_u};
  r[1] = (struct memory_result){g_rsd, cells() * sizeof *g_rsd};
  return 2;
}

const struct memory_kernel kLu = {.name = "lu",
                                  .sizes = "NPB classes S, W, A, B, C, D",
                                  .size = "A",
                                  .setup = setup,
                                  .step = step,
                                  .bytes = bytes,
                                  .operations = operations,
                                  .check = check,
                                  .results = results};
