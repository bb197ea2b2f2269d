// Integer sort: the access pattern of NPB's IS (RNR-94-007, section 2.3.6; with buckets). Keys are scattered
// into 1024 buckets, and counted bucket by bucket; what comes out is the rank of each key's value.
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "measure/memory/memory.h"

enum { kBuckets = 1024, kSamples = 257 };

static int32_t *g_keys, *g_sorted,
    *g_ranks;  // as made; by bucket; of each value: how many keys are not above it
static size_t g_n;
static int g_log_values;
static size_t (*g_counts)[kBuckets];  // of each thread: keys of each bucket, then where the next one goes
static int g_threads;

static bool setup(const char* size) {
  static const int logs[][2] = {{16, 11}, {20, 16}, {23, 19}, {25, 21}, {27, 23}, {30, 27}};
  const int c = npb_class(size);
  if (c < 0) return false;
  g_n = (size_t)1 << logs[c][0];
  g_log_values = logs[c][1];
  g_keys = memory_get(g_n * sizeof *g_keys);
  g_sorted = memory_get(g_n * sizeof *g_sorted);
  g_ranks = memory_get(((size_t)1 << g_log_values) * sizeof *g_ranks);
#ifdef _OPENMP
  g_threads = omp_get_max_threads();
#else
  g_threads = 1;
#endif
  g_counts = malloc((size_t)g_threads * sizeof *g_counts);
  uint64_t x = kNpbSeed;
  const double quarter = (double)(1 << g_log_values) / 4;
  for (size_t i = 0; i < g_n; i++) {
    double sum = 0;
    for (int k = 0; k < 4; k++) sum += npb_random(&x);
    g_keys[i] = (int32_t)(quarter * sum);
  }
  return true;
}

static void step(int part, int repetition) {
  (void)part;
  const int shift = g_log_values - 10;
  const size_t per_bucket = (size_t)1 << shift;
  g_keys[repetition] = repetition;  // as IS does, so that repetitions differ
  g_keys[repetition + 1000] = (1 << g_log_values) - 1 - repetition;
#pragma omp parallel num_threads(g_threads)
  {
#ifdef _OPENMP
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
#else
    const int thread = 0, threads = 1;
#endif
    size_t* mine = g_counts[thread];
    const size_t from = g_n * (size_t)thread / (size_t)threads,
                 to = g_n * ((size_t)thread + 1) / (size_t)threads;
    for (int b = 0; b < kBuckets; b++) mine[b] = 0;
    for (size_t i = from; i < to; i++) mine[g_keys[i] >> shift]++;
#pragma omp barrier
#pragma omp single
    for (size_t at = 0, b = 0; b < kBuckets; b++)
      for (int t = 0; t < threads; t++) {
        const size_t count = g_counts[t][b];
        g_counts[t][b] = at;
        at += count;
      }
    for (size_t i = from; i < to; i++) g_sorted[mine[g_keys[i] >> shift]++] = g_keys[i];
#pragma omp barrier
#pragma omp for schedule(static)
    for (int b = 0; b < kBuckets; b++) {  // the last thread's place is the end of its bucket now
      const size_t begin = b == 0 ? 0 : g_counts[threads - 1][b - 1], end = g_counts[threads - 1][b];
      int32_t* ranks = g_ranks + (size_t)b * per_bucket;
      for (size_t v = 0; v < per_bucket; v++) ranks[v] = 0;
      for (size_t i = begin; i < end; i++) ranks[(size_t)g_sorted[i] & (per_bucket - 1)]++;
      int32_t sum = (int32_t)begin;
      for (size_t v = 0; v < per_bucket; v++) sum += ranks[v], ranks[v] = sum;
    }
  }
}

static double bytes(int part) {
  (void)part;
  return (double)g_n * 4 * 4 + (double)((size_t)1 << g_log_values) * 4 * 3;
}
static double operations(int part) {
  (void)part;
  return (double)g_n;
}

// Ranks of a sample of values, by looking at every key once; and that ranks never fall.
static bool check(int repetitions, char* failure, size_t size) {
  (void)repetitions;
  const size_t values = (size_t)1 << g_log_values;
  int32_t samples[kSamples];
  size_t not_above[kSamples + 1] = {0};
  for (size_t s = 0; s < kSamples; s++) samples[s] = (int32_t)((values - 1) * s / (kSamples - 1));
  for (size_t i = 0; i < g_n; i++) {  // the first sample that is not below the key
    size_t low = 0, high = kSamples;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (samples[middle] < g_keys[i])
        low = middle + 1;
      else
        high = middle;
    }
    not_above[low]++;
  }
  for (size_t s = 0, sum = 0; s < kSamples; s++) {
    sum += not_above[s];
    if ((size_t)g_ranks[samples[s]] == sum) continue;
    snprintf(failure, size, "the rank of key %d is %d, expected %zu", samples[s], g_ranks[samples[s]], sum);
    return false;
  }
  for (size_t v = 1; v < values; v++)
    if (g_ranks[v] < g_ranks[v - 1]) {
      snprintf(failure, size, "the rank of key %zu is %d, that of the key before %d", v, g_ranks[v],
               g_ranks[v - 1]);
      return false;
    }
  return true;
}

static int results(struct memory_result* r) {
  r[0] = (struct memory_result){g_ranks, ((size_t)1 << g_log_values) * sizeof *g_ranks};
  return 1;
}

const struct memory_kernel kIs = {.name = "is",
                                  .sizes = "NPB classes S, W, A, B, C, D",
                                  .size = "B",
                                  .setup = setup,
                                  .step = step,
                                  .bytes = bytes,
                                  .operations = operations,
                                  .check = check,
                                  .results = results};
