// y = A x, the program of DLM-MPI's figures 1 and 3. Its numbers are whole and small enough for the sums to
// be exact, so the result has a closed form: a(i,j) = i + j and x(j) = j + r, r the repetition.
#include <stdlib.h>

#include "measure/memory/memory.h"

static double *g_a, *g_x, *g_y;
static size_t g_n;

static bool setup(const char* size) {
  uint64_t n;
  if (!parse_size(size, &n) || n < 16 || n > 60000) return false;
  g_n = n;
  g_a = memory_get(n * n * sizeof *g_a);
  g_x = memory_get(n * sizeof *g_x);
  g_y = memory_get(n * sizeof *g_y);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < g_n; i++)
    for (size_t j = 0; j < g_n; j++) g_a[i * g_n + j] = (double)(i + j);
  return true;
}

static void step(int part, int repetition) {
  (void)part;
  for (size_t j = 0; j < g_n; j++) g_x[j] = (double)(j + (size_t)repetition);
  const double *a = g_a, *x = g_x;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < g_n; i++) {
    double sums[4] = {0};  // whole numbers: the order does not matter
    size_t j = 0;
    for (; j + 4 <= g_n; j += 4)
      for (size_t k = 0; k < 4; k++) sums[k] += a[i * g_n + j + k] * x[j + k];
    for (; j < g_n; j++) sums[0] += a[i * g_n + j] * x[j];
    g_y[i] = sums[0] + sums[1] + sums[2] + sums[3];
  }
}

static double bytes(int part) {
  (void)part;
  return (double)g_n * (double)g_n * sizeof(double);
}
static double operations(int part) {
  (void)part;
  return 2.0 * (double)g_n * (double)g_n;
}

static bool check(int repetitions, char* failure, size_t size) {
  // The sum over j of (i + j)(j + r).
  const double n = (double)g_n, r = repetitions - 1, ones = n, js = n * (n - 1) / 2,
               squares = n * (n - 1) * (2 * n - 1) / 6;
  for (size_t i = 0; i < g_n; i++) {
    const double expected = (double)i * js + (double)i * r * ones + squares + r * js;
    if (g_y[i] == expected) continue;
    snprintf(failure, size, "y[%zu] is %.17g, expected %.17g", i, g_y[i], expected);
    return false;
  }
  return true;
}

static int results(struct memory_result* r) {
  r[0] = (struct memory_result){g_y, g_n * sizeof *g_y};
  return 1;
}

const struct memory_kernel kMatvec = {.name = "matvec",
                                      .sizes = "rows and columns",
                                      .size = "6000",
                                      .setup = setup,
                                      .step = step,
                                      .bytes = bytes,
                                      .operations = operations,
                                      .check = check,
                                      .results = results};
