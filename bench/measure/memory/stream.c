// STREAM's four kernels (McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance
// Computers", 1995): a(i) = b(i) and so on over three arrays of doubles, counted as the benchmark counts
// bytes.
//
// Unlike there, elements differ (a page of equal words would be no page for a system that compresses), and
// the factor depends on the repetition: a write that is lost then shows.
#include <math.h>

#include "measure/memory/memory.h"

enum { kCopy, kScale, kAdd, kTriad };

static double *g_a, *g_b, *g_c;
static size_t g_n;
static double g_expected[3];  // of a, b, c in units of start(i): all operations are linear

static double start(size_t i) {
  return 1 + unit(i);
}
static double factor(int repetition) {
  return 0.5 + 0.125 * (repetition % 8);
}

static bool setup(const char* size) {
  uint64_t bytes;
  if (!parse_size(size, &bytes) || bytes < 24 * 64) return false;
  g_n = bytes / 24;
  g_a = memory_get(g_n * sizeof *g_a);
  g_b = memory_get(g_n * sizeof *g_b);
  g_c = memory_get(g_n * sizeof *g_c);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < g_n; i++) g_a[i] = start(i), g_b[i] = 2 * start(i), g_c[i] = 0.5 * start(i);
  g_expected[0] = 1, g_expected[1] = 2, g_expected[2] = 0.5;
  return true;
}

static void step(int part, int repetition) {
  double* restrict a = g_a, * restrict b = g_b, * restrict c = g_c;
  const double q = factor(repetition);
  double* e = g_expected;
  switch (part) {
    case kCopy:
#pragma omp parallel for schedule(static)
      for (size_t i = 0; i < g_n; i++) c[i] = a[i];
      e[2] = e[0];
      break;
    case kScale:
#pragma omp parallel for schedule(static)
      for (size_t i = 0; i < g_n; i++) b[i] = q * c[i];
      e[1] = q * e[2];
      break;
    case kAdd:
#pragma omp parallel for schedule(static)
      for (size_t i = 0; i < g_n; i++) c[i] = a[i] + b[i];
      e[2] = e[0] + e[1];
      break;
    default:
#pragma omp parallel for schedule(static)
      for (size_t i = 0; i < g_n; i++) a[i] = b[i] + q * c[i];
      e[0] = e[1] + q * e[2];
  }
}

static double bytes(int part) {
  return (double)g_n * sizeof(double) * (part == kCopy || part == kScale ? 2 : 3);
}
static double operations(int part) {
  static const int per_element[] = {0, 1, 1, 2};
  return (double)g_n * per_element[part];
}

static bool check(int repetitions, char* failure, size_t size) {
  (void)repetitions;
  const double* const arrays[] = {g_a, g_b, g_c};
  size_t wrong = 0;
  for (size_t i = 0; i < g_n; i++)
    for (int k = 0; k < 3; k++) {
      const double expected = g_expected[k] * start(i);
      if (fabs(arrays[k][i] - expected) <= 1e-12 * fabs(expected)) continue;
      if (wrong++ == 0)
        snprintf(failure, size, "%c[%zu] is %.17g, expected %.17g", "abc"[k], i, arrays[k][i], expected);
    }
  return wrong == 0;
}

static int results(struct memory_result* r) {
  r[0] = (struct memory_result){g_a, g_n * sizeof *g_a};
  r[1] = (struct memory_result){g_b, g_n * sizeof *g_b};
  r[2] = (struct memory_result){g_c, g_n * sizeof *g_c};
  return 3;
}

const struct memory_kernel kStream = {.name = "stream",
                                      .sizes = "bytes of the three arrays",
                                      .size = "768MiB",
                                      .parts = {"copy", "scale", "add", "triad"},
                                      .setup = setup,
                                      .step = step,
                                      .bytes = bytes,
                                      .operations = operations,
                                      .check = check,
                                      .results = results};
