// Himeno's benchmark for one type of number: included by himeno.c with REAL and NAME(x) defined. Poisson's
// equation by Jacobi iterations with a 19-point stencil, 34 operations a point, 14 numbers a point.
//
// The arrays have the sizes of the original (a row, a column and a plane more than are computed).

static REAL *NAME(g_p), *NAME(g_a), *NAME(g_b), *NAME(g_c), *NAME(g_bnd), *NAME(g_wrk1), *NAME(g_wrk2);
static double* NAME(g_gosa);  // of each plane

static REAL NAME(start)(int i) {
  return (REAL)(i * i) / (REAL)((g_imax - 1) * (g_imax - 1));
}

static bool NAME(setup)(const char* size) {
  if (!choose_size(size)) return false;
  const size_t n = (size_t)g_planes * g_rows * g_columns;
  REAL** const arrays[] = {&NAME(g_p), &NAME(g_bnd), &NAME(g_wrk1), &NAME(g_wrk2)};
  for (int i = 0; i < 4; i++) *arrays[i] = memory_get(n * sizeof(REAL));
  NAME(g_a) = memory_get(4 * n * sizeof(REAL));
  NAME(g_b) = memory_get(3 * n * sizeof(REAL));
  NAME(g_c) = memory_get(3 * n * sizeof(REAL));
  NAME(g_gosa) = malloc((size_t)g_planes * sizeof(double));
#pragma omp parallel for schedule(static)
  for (int i = 0; i < g_planes; i++)
    for (size_t at = (size_t)i * g_rows * g_columns, end = at + (size_t)g_rows * g_columns; at < end; at++) {
      NAME(g_p)[at] = i < g_imax ? NAME(start)(i) : 0;
      NAME(g_bnd)[at] = 1;
      NAME(g_wrk1)[at] = NAME(g_wrk2)[at] = 0;
      for (size_t m = 0; m < 3; m++)
        NAME(g_a)[m * n + at] = 1, NAME(g_b)[m * n + at] = 0, NAME(g_c)[m * n + at] = 1;
      NAME(g_a)[3 * n + at] = (REAL)(1.0 / 6.0);
    }
  return true;
}

static void NAME(step)(int part, int repetition) {
  (void)part;
  (void)repetition;
  const size_t column = 1, row = g_columns, plane = (size_t)g_rows * g_columns, n = plane * g_planes;
  const REAL omega = (REAL)0.8;
  REAL* restrict p = NAME(g_p), * restrict wrk2 = NAME(g_wrk2);
  const REAL* restrict a = NAME(g_a), * restrict b = NAME(g_b), * restrict c = NAME(g_c);
  const REAL* restrict bnd = NAME(g_bnd), * restrict wrk1 = NAME(g_wrk1);
#pragma omp parallel for schedule(static)
  for (int i = 1; i < g_imax - 1; i++) {
    double gosa = 0;
    for (int j = 1; j < g_jmax - 1; j++) {
      const size_t at = (size_t)i * plane + (size_t)j * row;
      REAL line = 0;
      for (size_t x = at + 1; x < at + (size_t)g_kmax - 1; x++) {
        const REAL s0 =
            a[x] * p[x + plane] + a[n + x] * p[x + row] + a[2 * n + x] * p[x + column] +
            b[x] * (p[x + plane + row] - p[x + plane - row] - p[x - plane + row] + p[x - plane - row]) +
            b[n + x] *
                (p[x + row + column] - p[x - row + column] - p[x + row - column] + p[x - row - column]) +
            b[2 * n + x] * (p[x + plane + column] - p[x - plane + column] - p[x + plane - column] +
                            p[x - plane - column]) +
            c[x] * p[x - plane] + c[n + x] * p[x - row] + c[2 * n + x] * p[x - column] + wrk1[x];
        const REAL ss = (s0 * a[3 * n + x] - p[x]) * bnd[x];
        line += ss * ss;
        wrk2[x] = p[x] + omega * ss;
      }
      gosa += (double)line;
    }
    NAME(g_gosa)[i] = gosa;
  }
#pragma omp parallel for schedule(static)
  for (int i = 1; i < g_imax - 1; i++)
    for (int j = 1; j < g_jmax - 1; j++) {
      const size_t at = (size_t)i * plane + (size_t)j * row;
      for (size_t x = at + 1; x < at + (size_t)g_kmax - 1; x++) p[x] = wrk2[x];
    }
}

// What one point is after `repetitions` steps, from the start and the points that it depends on: a cube,
// computed here with the coefficients' values in place of their arrays.
static REAL NAME(point)(const int at[3], int repetitions) {
  const int limits[3] = {g_imax, g_jmax, g_kmax}, width = 2 * repetitions + 1;
  REAL* old = malloc((size_t)width * width * width * sizeof(REAL));
  REAL* new = malloc((size_t)width * width * width * sizeof(REAL));
#define CUBE(array, i, j, k) array[((size_t)(i)*width + (j)) * width + (k)]
  for (int i = 0; i < width; i++)
    for (int j = 0; j < width; j++)
      for (int k = 0; k < width; k++) {
        const int x = at[0] - repetitions + i;
        CUBE(old, i, j, k) = CUBE(new, i, j, k) = x >= 0 && x < limits[0] ? NAME(start)(x) : 0;
      }
  for (int t = 1; t <= repetitions; t++) {
    for (int i = t; i < width - t; i++)
      for (int j = t; j < width - t; j++)
        for (int k = t; k < width - t; k++) {
          const int x[3] = {at[0] - repetitions + i, at[1] - repetitions + j, at[2] - repetitions + k};
          bool inside = true;
          for (int d = 0; d < 3; d++) inside = inside && x[d] > 0 && x[d] < limits[d] - 1;
          if (!inside) continue;
          const REAL s0 = CUBE(old, i + 1, j, k) + CUBE(old, i, j + 1, k) + CUBE(old, i, j, k + 1) +
                          CUBE(old, i - 1, j, k) + CUBE(old, i, j - 1, k) + CUBE(old, i, j, k - 1);
          CUBE(new, i, j, k) = CUBE(old, i, j, k) + (REAL)0.8 * (s0 * (REAL)(1.0 / 6.0) - CUBE(old, i, j, k));
        }
    REAL* swap = old;
    old = new, new = swap;  // what no step computes is the boundary, the same in both
  }
  const REAL value = CUBE(old, repetitions, repetitions, repetitions);
#undef CUBE
  free(old);
  free(new);
  return value;
}

static bool NAME(check)(int repetitions, char* failure, size_t size) {
  const REAL* p = NAME(g_p);
  const double tolerance = sizeof(REAL) == 4 ? 2e-5 : 1e-12;
#define POINT(i, j, k) p[((size_t)(i)*g_rows + (j)) * g_columns + (k)]
  for (int sample = 0; sample < 24 && repetitions <= 24; sample++) {
    const int at[3] = {1 + (int)(mix(3 * (uint64_t)sample) % (uint64_t)(g_imax - 2)),
                       1 + (int)(mix(3 * (uint64_t)sample + 1) % (uint64_t)(g_jmax - 2)),
                       1 + (int)(mix(3 * (uint64_t)sample + 2) % (uint64_t)(g_kmax - 2))};
    const REAL expected = NAME(point)(at, repetitions), found = POINT(at[0], at[1], at[2]);
    if (fabs((double)(found - expected)) <= tolerance) continue;
    snprintf(failure, size, "p[%d][%d][%d] is %.9g, expected %.9g", at[0], at[1], at[2], (double)found,
             (double)expected);
    return false;
  }
  // All of them: the problem is its own mirror image along the rows, and a point is a mean of others.
  for (int i = 0; i < g_imax; i++)
    for (int j = 0; j < g_jmax; j++)
      for (int k = 0; k < g_kmax; k++) {
        const REAL here = POINT(i, j, k), there = POINT(i, g_jmax - 1 - j, k);
        if (fabs((double)(here - there)) <= tolerance && here >= 0 && here <= 1) continue;
        snprintf(failure, size, "p[%d][%d][%d] is %.9g, its mirror image %.9g", i, j, k, (double)here,
                 (double)there);
        return false;
      }
#undef POINT
  return true;
}

static double NAME(bytes)(int part) {
  (void)part;  // 14 numbers of each point are read and written, and the copy
  return (double)(g_imax - 2) * (g_jmax - 2) * (g_kmax - 2) * 16 * sizeof(REAL);
}
static double NAME(operations)(int part) {
  (void)part;
  return (double)(g_imax - 2) * (g_jmax - 2) * (g_kmax - 2) * 34;
}
static int NAME(results)(struct memory_result* r) {
  const size_t bytes = (size_t)g_planes * g_rows * g_columns * sizeof(REAL);
  r[0] = (struct memory_result){NAME(g_p), bytes};
  r[1] = (struct memory_result){NAME(g_gosa) + 1, (size_t)(g_imax - 2) * sizeof(double)};
  return 2;
}
