// Conjugate gradients: the access pattern of NPB's CG (RNR-94-007, section 2.3.2): a sparse symmetric matrix
// with its numbers at random columns, so that a product reads the vector through an array of indices. The
// sizes are those of the classes; the matrix is one of our own, with a solution that is known:
//
// row i has numbers w(i, k) at column P_k(i) and, for symmetry, w(j, k) at each j with P_k(j) = i, where
// every P_k is a permutation that can be computed both ways; and more than their sum on its diagonal.
#include <math.h>
#include <stdlib.h>

#include "measure/memory/memory.h"

enum { kInner = 25 };  // iterations of a step, as in CG

static int64_t g_n;
static int g_pairs;  // permutations
static int g_half;   // bits of half a number that is permuted
static double *g_value, *g_x, *g_z, *g_p, *g_q, *g_r;
static int32_t* g_column;
static int64_t* g_begin;

// A Feistel network over 2 * g_half bits, walked until the number is below n.
static uint64_t round_of(uint64_t half, int k, int round) {
  return mix(half ^ ((uint64_t)(k * 4 + round) << 40)) & ((UINT64_C(1) << g_half) - 1);
}
static int64_t permuted(int64_t i, int k, bool back) {
  uint64_t x = (uint64_t)i;
  const uint64_t mask = (UINT64_C(1) << g_half) - 1;
  do {
    uint64_t left = x >> g_half, right = x & mask;
    for (int r = 0; r < 4; r++) {
      if (back) {
        const uint64_t old = right ^ round_of(left, k, 3 - r);
        right = left, left = old;
      } else {
        const uint64_t new = left ^ round_of(right, k, r);
        left = right, right = new;
      }
    }
    x = left << g_half | right;
  } while (x >= (uint64_t)g_n);
  return (int64_t)x;
}
static double weight(int64_t i, int k) {
  return 0.1 + unit((uint64_t)i * 1024 + (uint64_t)k);
}
static double solution(int64_t i, int repetition) {
  return (0.5 + unit(~(uint64_t)i)) * (1 + repetition);
}

static bool setup(const char* size) {
  static const int sizes[][2] = {{1400, 7}, {7000, 8}, {14000, 11}, {75000, 13}, {150000, 15}, {1500000, 21}};
  const int c = npb_class(size);
  if (c < 0) return false;
  g_n = sizes[c][0];
  g_pairs = (sizes[c][1] + 1) * (sizes[c][1] + 1) / 2;
  for (g_half = 1; (INT64_C(1) << 2 * g_half) < g_n;) g_half++;
  const size_t n = (size_t)g_n, row = 2 * (size_t)g_pairs + 1;
  g_value = memory_get(n * row * sizeof *g_value);
  g_column = memory_get(n * row * sizeof *g_column);
  g_begin = memory_get((n + 1) * sizeof *g_begin);
  double** const vectors[] = {&g_x, &g_z, &g_p, &g_q, &g_r};
  for (int i = 0; i < 5; i++) *vectors[i] = memory_get(n * sizeof(double));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g_n; i++) {
    double sum = 0;
    int64_t at = i * (int64_t)row;
    g_begin[i] = at;
    for (int k = 0; k < g_pairs; k++)
      for (int back = 0; back < 2; back++) {
        const int64_t j = permuted(i, k, back != 0);
        const double w = weight(back != 0 ? j : i, k);
        g_value[at] = w, g_column[at++] = (int32_t)j;
        sum += w;
      }
    g_value[at] = sum + 0.01, g_column[at] = (int32_t)i;
  }
  g_begin[n] = (int64_t)(n * row);
  return true;
}

static void multiply(const double* restrict in, double* restrict out) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g_n; i++) {
    double sum = 0;
    for (int64_t at = g_begin[i]; at < g_begin[i + 1]; at++) sum += g_value[at] * in[g_column[at]];
    out[i] = sum;
  }
}

// In blocks whose sums are added in order: the same for any number of threads.
static double dot(const double* restrict a, const double* restrict b) {
  enum { kBlocks = 64 };
  double sums[kBlocks];
#pragma omp parallel for schedule(static)
  for (int block = 0; block < kBlocks; block++) {
    double sum = 0;
    for (int64_t i = g_n * block / kBlocks; i < g_n * (block + 1) / kBlocks; i++) sum += a[i] * b[i];
    sums[block] = sum;
  }
  double all = 0;
  for (int block = 0; block < kBlocks; block++) all += sums[block];
  return all;
}

static void step(int part, int repetition) {
  (void)part;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g_n; i++) g_z[i] = solution(i, repetition);
  multiply(g_z, g_x);  // the right side
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g_n; i++) g_z[i] = 0, g_r[i] = g_p[i] = g_x[i];
  double rho = dot(g_r, g_r);
  for (int k = 0; k < kInner && rho > 0; k++) {
    multiply(g_p, g_q);
    const double alpha = rho / dot(g_p, g_q), before = rho;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < g_n; i++) g_z[i] += alpha * g_p[i], g_r[i] -= alpha * g_q[i];
    rho = dot(g_r, g_r);
    const double beta = rho / before;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < g_n; i++) g_p[i] = g_r[i] + beta * g_p[i];
  }
}

static double bytes(int part) {
  (void)part;
  const double n = (double)g_n, numbers = n * (2 * g_pairs + 1);
  return (kInner + 1) * (numbers * (8 + 4 + 8) + 2 * 8 * n) + kInner * 12.0 * 8 * n;
}
static double operations(int part) {
  (void)part;
  const double n = (double)g_n;
  return (kInner + 1) * 2 * n * (2 * g_pairs + 1) + kInner * 10 * n;
}

static bool check(int repetitions, char* failure, size_t size) {
  for (int64_t i = 0; i < g_n; i++) {
    const double expected = solution(i, repetitions - 1);
    if (fabs(g_z[i] - expected) <= 1e-8 * expected) continue;
    snprintf(failure, size, "z[%lld] is %.12g, the solution is %.12g", (long long)i, g_z[i], expected);
    return false;
  }
  return true;
}

static int results(struct memory_result* r) {
  r[0] = (struct memory_result){g_z, (size_t)g_n * sizeof *g_z};
  r[1] = (struct memory_result){g_r, (size_t)g_n * sizeof *g_r};
  return 2;
}

const struct memory_kernel kCg = {.name = "cg",
                                  .sizes = "NPB classes S, W, A, B, C, D",
                                  .size = "B",
                                  .setup = setup,
                                  .step = step,
                                  .bytes = bytes,
                                  .operations = operations,
                                  .check = check,
                                  .results = results};
