// Accesses at random places of a table of 8-byte words, the worst that a pager can meet: updates as in HPC
// Challenge's RandomAccess (but sums, so that they commute and none may be lost), and reads.
#include <stdatomic.h>

#include "measure/memory/memory.h"

enum { kBlocks = 64 };  // parts of a repetition, computed by any thread: the same numbers with any of them
static const uint64_t kAccesses = 65536;

static _Atomic uint64_t* g_table;
static uint64_t g_words;
static uint64_t g_sum;  // of all words, each times weight(its place): known without reading the table

static uint64_t weight(uint64_t place) {
  return mix(place) | 1;
}
static uint64_t place_of(int repetition, uint64_t access) {
  return mix(mix((uint64_t)repetition) + 2 * access) % g_words;
}
static uint64_t value_of(int repetition, uint64_t access) {
  return mix(mix((uint64_t)repetition) + 2 * access + 1);
}

static bool setup(const char* size) {
  uint64_t bytes;
  if (!parse_size(size, &bytes) || bytes < 4096) return false;
  g_words = bytes / 8;
  g_table = memory_get(g_words * 8);
  g_sum = 0;
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (uint64_t i = 0; i < g_words; i++) {
    atomic_store_explicit(&g_table[i], mix(~i), memory_order_relaxed);
    sum += mix(~i) * weight(i);
  }
  g_sum = sum;
  return true;
}

static void update(int part, int repetition) {
  (void)part;
  uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
  for (int block = 0; block < kBlocks; block++)
    for (uint64_t i = 0; i < kAccesses / kBlocks; i++) {
      const uint64_t access = (uint64_t)block * (kAccesses / kBlocks) + i,
                     place = place_of(repetition, access), value = value_of(repetition, access);
      atomic_fetch_add_explicit(&g_table[place], value, memory_order_relaxed);
      sum += value * weight(place);
    }
  g_sum += sum;
}

static uint64_t g_read, g_expected;

static void read_words(int part, int repetition) {
  (void)part;
  uint64_t sum = 0, expected = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum, expected)
  for (int block = 0; block < kBlocks; block++)
    for (uint64_t i = 0; i < kAccesses / kBlocks; i++) {
      const uint64_t place = place_of(repetition, (uint64_t)block * (kAccesses / kBlocks) + i);
      sum += atomic_load_explicit(&g_table[place], memory_order_relaxed);
      expected += mix(~place);
    }
  g_read += sum;
  g_expected += expected;
}

static double bytes(int part) {
  (void)part;
  return (double)kAccesses * 8;
}
static double operations(int part) {
  (void)part;
  return (double)kAccesses;
}

static bool check(int repetitions, char* failure, size_t size) {
  (void)repetitions;
  if (g_read != g_expected) {
    snprintf(failure, size, "the words read add up to %016llx, expected %016llx", (unsigned long long)g_read,
             (unsigned long long)g_expected);
    return false;
  }
  uint64_t sum = 0;
  for (uint64_t i = 0; i < g_words; i++)
    sum += atomic_load_explicit(&g_table[i], memory_order_relaxed) * weight(i);
  if (sum == g_sum) return true;
  snprintf(failure, size,
           "the table adds up to %016llx, expected %016llx: an update is lost, or a word is wrong",
           (unsigned long long)sum, (unsigned long long)g_sum);
  return false;
}

static int results(struct memory_result* r) {
  r[0] = (struct memory_result){(void*)g_table, g_words * 8};
  return 1;
}

const struct memory_kernel kRandomUpdate = {.name = "random-update",
                                            .sizes = "bytes of the table",
                                            .size = "256MiB",
                                            .setup = setup,
                                            .step = update,
                                            .bytes = bytes,
                                            .operations = operations,
                                            .check = check,
                                            .results = results};
const struct memory_kernel kRandomRead = {.name = "random-read",
                                          .sizes = "bytes of the table",
                                          .size = "256MiB",
                                          .setup = setup,
                                          .step = read_words,
                                          .bytes = bytes,
                                          .operations = operations,
                                          .check = check,
                                          .results = results};
