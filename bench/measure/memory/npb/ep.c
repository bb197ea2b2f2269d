// Gaussian pairs: NPB's EP (RNR-94-007, section 2.3.1) from its definition. The generator's numbers are
// points of a square; a point within the circle makes two numbers of a normal distribution. These are added
// up, and counted by the square ring around the origin that they lie in. The sums are published with the
// benchmark; they must come out.
//
// The arrays are a block of 2^17 numbers for each thread, whatever the class is: this program shows what a
// kind of memory costs a program that needs hardly any.
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "measure/memory/memory.h"

// Blocks make groups, as many in every class. One thread computes a group, and groups are added up in order,
// so that sums do not depend on the threads.
enum { kPairs = 1 << 16, kGroups = 256, kRings = 10, kEpSeed = 271828183 };

struct tally {
  double x, y;
  uint64_t rings[kRings];
};

static int g_class, g_threads;
static double* g_numbers;  // 2 kPairs of each thread
static struct tally *g_groups, *g_total;

static const struct {
  int log_pairs;
  double x, y;
} kClasses[] = {
    {24, -3.247834652034740e3, -6.958407078382297e3}, {25, -2.863319731645753e3, -6.320053679109499e3},
    {28, -4.295875165629892e3, -1.580732573678431e4}, {30, 4.033815542441498e4, -2.660669192809235e4},
    {32, 4.764367927995374e4, -8.084072988043731e4},  {36, 1.982481200946593e5, -1.020596636361769e5}};

static uint64_t blocks_of_a_group(void) {
  return (UINT64_C(1) << kClasses[g_class].log_pairs) / kPairs / kGroups;
}

// The generator's state before number n (from 0): the seed times 5^13n. Products of 64 bits are right modulo
// 2^46 although they overflow.
static uint64_t state_before(uint64_t n) {
  uint64_t x = kEpSeed;
  for (uint64_t power = 1220703125; n != 0; n /= 2, power *= power)
    if (n % 2 == 1) x *= power;
  return x & ((UINT64_C(1) << 46) - 1);
}

static bool setup(const char* size) {
  g_class = npb_class(size);
  if (g_class < 0) return false;
#ifdef _OPENMP
  g_threads = omp_get_max_threads();
#else
  g_threads = 1;
#endif
  g_numbers = memory_get((size_t)g_threads * 2 * kPairs * sizeof *g_numbers);
  g_groups = memory_get(kGroups * sizeof *g_groups);
  g_total = memory_get(sizeof *g_total);
  return true;
}

// What is no number, because the memory does not keep what is written to it, must not end the program.
static int ring(double x, double y) {
  const double distance = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
  return distance < kRings ? (int)distance : kRings - 1;
}

static void add_block(uint64_t block, double* numbers, struct tally* sum) {
  uint64_t state = state_before(block * 2 * kPairs);
  for (int i = 0; i < 2 * kPairs; i++) numbers[i] = npb_random(&state);
  for (int i = 0; i < kPairs; i++) {
    const double x = 2 * numbers[2 * i] - 1, y = 2 * numbers[2 * i + 1] - 1, t = x * x + y * y;
    if (t > 1) continue;
    const double scale = sqrt(-2 * log(t) / t), gauss_x = x * scale, gauss_y = y * scale;
    sum->x += gauss_x;
    sum->y += gauss_y;
    sum->rings[ring(gauss_x, gauss_y)]++;
  }
}

static struct tally total(void) {
  struct tally sum = {0};
  for (int g = 0; g < kGroups; g++) {
    sum.x += g_groups[g].x;
    sum.y += g_groups[g].y;
    for (int r = 0; r < kRings; r++) sum.rings[r] += g_groups[g].rings[r];
  }
  return sum;
}

static void step(int part, int repetition) {
  (void)part;
  (void)repetition;
  const uint64_t blocks = blocks_of_a_group();
#pragma omp parallel num_threads(g_threads)
  {
#ifdef _OPENMP
    double* numbers = g_numbers + (size_t)omp_get_thread_num() * 2 * kPairs;
#else
    double* numbers = g_numbers;
#endif
#pragma omp for schedule(static)
    for (int g = 0; g < kGroups; g++) {
      struct tally sum = {0};
      for (uint64_t b = 0; b < blocks; b++) add_block((uint64_t)g * blocks + b, numbers, &sum);
      g_groups[g] = sum;
    }
  }
  *g_total = total();
}

static double pairs(void) {
  return ldexp(1, kClasses[g_class].log_pairs);
}
static double bytes(int part) {
  (void)part;
  return pairs() * 2 * 16;
}
static double operations(int part) {  // random numbers, as the benchmark counts them
  (void)part;
  return pairs() * 2;
}

// Once more without an array, by length and direction. The logarithm's last bits may differ, counts may not.
static bool check_group(int g, char* failure, size_t size) {
  const uint64_t count = blocks_of_a_group() * kPairs;
  uint64_t state = state_before((uint64_t)g * count * 2), rings[kRings] = {0};
  double sum_x = 0, sum_y = 0;
  for (uint64_t i = 0; i < count; i++) {
    const double x = 2 * npb_random(&state) - 1, y = 2 * npb_random(&state) - 1, length = sqrt(x * x + y * y);
    if (x * x + y * y > 1) continue;
    const double gauss = 2 * sqrt(-log(length)), gauss_x = gauss * (x / length),
                 gauss_y = gauss * (y / length);
    sum_x += gauss_x;
    sum_y += gauss_y;
    rings[ring(gauss_x, gauss_y)]++;
  }
  const struct tally* stored = &g_groups[g];
  const double most = 1e-14 * (double)count;
  if (!(fabs(stored->x - sum_x) <= most && fabs(stored->y - sum_y) <= most)) {
    snprintf(failure, size, "the sums of group %d are %.15e and %.15e, computed again %.15e and %.15e", g,
             stored->x, stored->y, sum_x, sum_y);
    return false;
  }
  for (int r = 0; r < kRings; r++) {
    if (stored->rings[r] == rings[r]) continue;
    snprintf(failure, size, "ring %d of group %d has %llu pairs, counted again %llu", r, g,
             (unsigned long long)stored->rings[r], (unsigned long long)rings[r]);
    return false;
  }
  return true;
}

static bool check(int repetitions, char* failure, size_t size) {
  (void)repetitions;
  const double x = kClasses[g_class].x, y = kClasses[g_class].y;
  if (!(fabs(g_total->x - x) <= 1e-8 * fabs(x) && fabs(g_total->y - y) <= 1e-8 * fabs(y))) {
    snprintf(failure, size, "the sums are %.15e and %.15e, published are %.15e and %.15e", g_total->x,
             g_total->y, x, y);
    return false;
  }
  const struct tally again = total();
  for (int r = 0; r < kRings; r++) {
    if (g_total->rings[r] == again.rings[r]) continue;
    snprintf(failure, size, "ring %d has %llu pairs, its groups have %llu", r,
             (unsigned long long)g_total->rings[r], (unsigned long long)again.rings[r]);
    return false;
  }
  return check_group(0, failure, size) && check_group(kGroups / 2, failure, size) &&
         check_group(kGroups - 1, failure, size);
}

static int results(struct memory_result* r) {
  r[0] = (struct memory_result){g_total, sizeof *g_total};
  r[1] = (struct memory_result){g_groups, kGroups * sizeof *g_groups};
  return 2;
}

const struct memory_kernel kEp = {.name = "ep",
                                  .sizes = "NPB classes S, W, A, B, C, D",
                                  .size = "S",
                                  .setup = setup,
                                  .step = step,
                                  .bytes = bytes,
                                  .operations = operations,
                                  .check = check,
                                  .results = results};
