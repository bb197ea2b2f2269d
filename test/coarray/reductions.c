/* reduction, of loops too, bcast, barrier: on all nodes and on parts of them, at once and behind the directive. */
#include <complex.h>

#include "global.h"

enum { N = 24 };

NODES(p, TASUKI_XMP_REST);
NODES(grid, 1, TASUKI_XMP_REST); /* its first size is set before the start */
TEMPLATE(line, &p, {0, N - 1, TASUKI_XMP_BLOCK, 0, 0, NULL});
TEMPLATE(dealt, &p, {0, N - 1, TASUKI_XMP_CYCLIC, 0, 1, NULL});
TEMPLATE(plane, &grid, {0, N - 1, TASUKI_XMP_BLOCK, 0, 0, NULL}, {0, N - 1, TASUKI_XMP_BLOCK, 1, 0, NULL});
ARRAY(column, double, &plane, 1, .extent = {N}, .with = {0},
      .shadow = {{1, 1}}); /* on all nodes of a column of nodes */
static struct tasuki_xmp_template* const all_templates[] = {&line, &dealt, &plane};
static struct tasuki_xmp_array* const all_arrays[] = {&column};

static int me, n, first_size;

#define VARIABLE(x, type_) ((struct tasuki_xmp_variable){&(x), 1, sizeof(x), type_, NULL})
#define REDUCE(operation, x, type_)                                  \
  do {                                                               \
    const struct tasuki_xmp_variable v_ = VARIABLE(x, type_);        \
    tasuki_xmp_reduction(operation, &v_, 0, NULL, NULL, 0, 0, HERE); \
  } while (0)

/* Every operation on a type: me on each node. */
#define INTEGERS(T, type_)                                                                            \
  do {                                                                                                \
    T sum = (T)me, product = (T)(me % 2 + 1), difference = (T)me, most = (T)me, least = (T)me;        \
    T both = (T)(me | 64), either = (T)me, one = (T)(1 << (me % 7)), all = (T)1, some = (T)(me == 1); \
    REDUCE(TASUKI_XMP_SUM, sum, type_);                                                               \
    REDUCE(TASUKI_XMP_PRODUCT, product, type_);                                                       \
    REDUCE(TASUKI_XMP_DIFFERENCE, difference, type_);                                                 \
    REDUCE(TASUKI_XMP_MAX, most, type_);                                                              \
    REDUCE(TASUKI_XMP_MIN, least, type_);                                                             \
    REDUCE(TASUKI_XMP_BIT_AND, both, type_);                                                          \
    REDUCE(TASUKI_XMP_BIT_OR, either, type_);                                                         \
    REDUCE(TASUKI_XMP_BIT_XOR, one, type_);                                                           \
    REDUCE(TASUKI_XMP_AND, all, type_);                                                               \
    REDUCE(TASUKI_XMP_OR, some, type_);                                                               \
    int and = 127, or = 0, xor = 0;                                                                   \
    for (int i = 1; i <= n; i++) and &= i | 64, or |= i, xor ^= 1 << (i % 7);                         \
    CHECK(sum == (T)(n * (n + 1) / 2) && difference == sum);                                          \
    CHECK(product == (T)(1 << ((n + 1) / 2)) && most == (T)n && least == (T)1);                       \
    CHECK(both == (T) and &&either == (T) or &&one == (T) xor);                                       \
    CHECK(all == 1 && some == 1);                                                                     \
  } while (0)

#define FLOATS(T, type_)                                                       \
  do {                                                                         \
    T sum = me, product = 2, all = me - 0.5, none = me == 1 ? 0 : 1, some = 0; \
    REDUCE(TASUKI_XMP_SUM, sum, type_);                                        \
    REDUCE(TASUKI_XMP_PRODUCT, product, type_);                                \
    REDUCE(TASUKI_XMP_AND, all, type_);                                        \
    REDUCE(TASUKI_XMP_AND, none, type_);                                       \
    REDUCE(TASUKI_XMP_OR, some, type_);                                        \
    CHECK(sum == (T)(n * (n + 1) / 2) && product == (T)(1 << n));              \
    CHECK(n == 1 || (all == 1 && none == 0 && some == 0));                     \
  } while (0)

static void types(void) {
  INTEGERS(char, TASUKI_XMP_CHAR);
  INTEGERS(unsigned char, TASUKI_XMP_UNSIGNED_CHAR);
  INTEGERS(short, TASUKI_XMP_SHORT);
  INTEGERS(unsigned short, TASUKI_XMP_UNSIGNED_SHORT);
  INTEGERS(int, TASUKI_XMP_INT);
  INTEGERS(unsigned, TASUKI_XMP_UNSIGNED);
  INTEGERS(long, TASUKI_XMP_LONG);
  INTEGERS(unsigned long, TASUKI_XMP_UNSIGNED_LONG);
  INTEGERS(long long, TASUKI_XMP_LONG_LONG);
  INTEGERS(unsigned long long, TASUKI_XMP_UNSIGNED_LONG_LONG);
  FLOATS(float, TASUKI_XMP_FLOAT);
  FLOATS(double, TASUKI_XMP_DOUBLE);
  FLOATS(long double, TASUKI_XMP_LONG_DOUBLE);
  FLOATS(float complex, TASUKI_XMP_COMPLEX_FLOAT);
  FLOATS(double complex, TASUKI_XMP_COMPLEX_DOUBLE);
  FLOATS(long double complex, TASUKI_XMP_COMPLEX_LONG_DOUBLE);
  _Bool all = 1, some = me == n, sum = me == 2, odd = 1;
  REDUCE(TASUKI_XMP_AND, all, TASUKI_XMP_BOOL);
  REDUCE(TASUKI_XMP_OR, some, TASUKI_XMP_BOOL);
  REDUCE(TASUKI_XMP_SUM, sum, TASUKI_XMP_BOOL);
  REDUCE(TASUKI_XMP_BIT_XOR, odd, TASUKI_XMP_BOOL);
  CHECK(all && some && sum == (n >= 2) && odd == n % 2);
}

static void parts(void) {
  /* On a row of the grid of nodes, of which there are several. */
  const struct tasuki_xmp_triplet row[2] = {{TASUKI_XMP_OPEN, TASUKI_XMP_OPEN, 1}, {0, 0, 0}};
  const struct tasuki_xmp_on on_row = {&plane, row};
  int sum = 1;
  const struct tasuki_xmp_variable v = VARIABLE(sum, TASUKI_XMP_INT);
  tasuki_xmp_reduction(TASUKI_XMP_SUM, &v, 0, NULL, &on_row, 0, 0, HERE);
  CHECK(sum == first_size);
  tasuki_xmp_barrier_on(&on_row, HERE);
  /* On odd nodes: the others keep what they have. */
  const struct tasuki_xmp_triplet odd = {0, TASUKI_XMP_OPEN, 2};
  const struct tasuki_xmp_on on_odd = {&p, &odd};
  sum = me;
  tasuki_xmp_reduction(TASUKI_XMP_MAX, &v, 0, NULL, &on_odd, 0, 0, HERE);
  CHECK(sum == (me % 2 == 0 ? me : (n - 1) / 2 * 2 + 1));
  /* An array that a column of nodes has alike; its shadow goes along. */
  FOR(i, &plane, 0, 0, N, 1, 0) AT(double, column, i) = (double)(i * me);
  END;
  const struct tasuki_xmp_triplet mine[2] = {{0, 0, 0}, {TASUKI_XMP_OPEN, TASUKI_XMP_OPEN, 1}};
  const struct tasuki_xmp_on on_column = {&plane, mine};
  const struct tasuki_xmp_variable a = {NULL, 0, 0, TASUKI_XMP_DOUBLE, &column};
  tasuki_xmp_reduction(TASUKI_XMP_SUM, &a, 0, NULL, &on_column, 0, 0, HERE);
  int all = 0;
  for (int node = (me - 1) % first_size + 1; node <= n; node += first_size) all += node;
  FOR(i, &plane, 0, 0, N, 1, 0) CHECK(AT(double, column, i) == (double)(i * all));
  END;
}

static void loop_reductions(void) {
  long long sum = 0;
  const struct tasuki_xmp_variable v = VARIABLE(sum, TASUKI_XMP_LONG_LONG);
  /* Both dimensions; then one, which is replicated along the other: each counts once. */
  FOR(i, &plane, 0, 0, N, 1, 0) {
    FOR(j, &plane, 1, 0, N, 1, 0) sum += i * N + j;
    END;
  }
  END;
  tasuki_xmp_loop_reduction(TASUKI_XMP_SUM, &v, 0, NULL, 0, NULL, &plane, 3, 0, HERE);
  CHECK(sum == (long long)N * N * (N * N - 1) / 2);
  for (int d = 0; d < 2; d++) {
    sum = 0;
    FOR(i, &plane, d, 0, N, 1, 0) sum += i;
    END;
    tasuki_xmp_loop_reduction(TASUKI_XMP_SUM, &v, 0, NULL, 0, NULL, &plane, 1u << d, 0, HERE);
    CHECK(sum == N * (N - 1) / 2);
  }
  sum = 0;
  FOR(i, &p, 0, 0, n, 1, 0) sum += i + 1;
  END;
  tasuki_xmp_loop_reduction(TASUKI_XMP_SUM, &v, 0, NULL, 0, NULL, &p, 1, 0, HERE);
  CHECK(sum == n * (n + 1) / 2);
}

/* firstmax and its kin: the locations of the first or last largest or smallest, in the order of the loop. */
static void locations(void) {
  static const int operations[] = {TASUKI_XMP_FIRST_MAX, TASUKI_XMP_LAST_MAX, TASUKI_XMP_FIRST_MIN,
                                   TASUKI_XMP_LAST_MIN};
  for (int kind = 0; kind < 4; kind++)
    for (int down = 0; down < 2; down++) {
      const int first = kind % 2 == 0, max = kind < 2;
      double best = max ? -1e30 : 1e30;
      int where = -1;
      short copy[3] = {-1, -1, -1};
      long long position = first ? N : -1, trip = 0;
      FOR(i, &dealt, 0, down ? N - 1 : 0, N, down ? -1 : 1, 0) {
        trip = down ? N - 1 - i : i;
        const double x = (double)((i * 7) % 4);
        if (max ? (first ? x > best : x >= best) : (first ? x < best : x <= best)) {
          best = x;
          where = (int)i;
          position = trip;
          for (int k = 0; k < 3; k++) copy[k] = (short)(i * 10 + k);
        }
      }
      END;
      const struct tasuki_xmp_variable v = VARIABLE(best, TASUKI_XMP_DOUBLE);
      const struct tasuki_xmp_variable l[2] = {VARIABLE(where, TASUKI_XMP_INT),
                                               {copy, 3, sizeof(short), TASUKI_XMP_SHORT, NULL}};
      tasuki_xmp_loop_reduction(operations[kind], &v, 2, l, 1, &position, &dealt, 1, 0, HERE);
      int expected = -1;
      for (int k = 0; k < N; k++) {
        const int i = down ? N - 1 - k : k;
        if (i * 7 % 4 == (max ? 3 : 0) && (expected < 0 || !first)) expected = i;
      }
      CHECK(best == (max ? 3 : 0) && where == expected);
      for (int k = 0; k < 3; k++) CHECK(copy[k] == expected * 10 + k);
    }
  /* Without positions: in the order of nodes. */
  int value = me % 3 == 2, node = me;
  const struct tasuki_xmp_variable v = VARIABLE(value, TASUKI_XMP_INT), l = VARIABLE(node, TASUKI_XMP_INT);
  tasuki_xmp_reduction(TASUKI_XMP_FIRST_MAX, &v, 1, &l, NULL, 0, 0, HERE);
  CHECK(n == 1 ? node == 1 : node == 2);
  value = me % 3 == 2;
  node = me;
  tasuki_xmp_reduction(TASUKI_XMP_LAST_MAX, &v, 1, &l, NULL, 0, 0, HERE);
  CHECK(node == (n < 2 ? 1 : (n - 2) / 3 * 3 + 2));
}

static void broadcasts(void) {
  for (int round = 0; round < 3; round++) {
    double some[5];
    int one = me * 100 + round;
    for (int i = 0; i < 5; i++) some[i] = me * 10 + i;
    const struct tasuki_xmp_variable v[2] = {{some, 5, sizeof(double), TASUKI_XMP_DOUBLE, NULL},
                                             VARIABLE(one, TASUKI_XMP_INT)};
    const struct tasuki_xmp_triplet last = {N - 1, 1, 1}, node = {n - 1, 1, 1};
    const struct tasuki_xmp_on on_template = {&line, &last}, on_node = {&p, &node};
    const struct tasuki_xmp_on* from = round == 0 ? NULL : round == 1 ? &on_node : &on_template;
    tasuki_xmp_bcast(2, v, from, NULL, round == 1 ? TASUKI_XMP_ASYNC : 0, 5, HERE);
    const int id = 5;
    if (round == 1) tasuki_xmp_wait_async(1, &id, NULL, HERE);
    const int root = round == 0 ? 1 : round == 1 ? n : (N - 1) / ((N + n - 1) / n) + 1;
    CHECK(one == root * 100 + round);
    for (int i = 0; i < 5; i++) CHECK(some[i] == root * 10 + i);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  first_size = n % 2 == 0 ? 2 : 1;
  grid.size[0] = first_size;
  struct tasuki_xmp_nodes* nodes[] = {&p, &grid};
  tasuki_xmp_register_nodes(nodes, nodes + 2);
  tasuki_xmp_register_templates(all_templates, all_templates + 3);
  tasuki_xmp_register_arrays(all_arrays, all_arrays + 1);
  xmp_init(MPI_COMM_WORLD);
  me = xmp_node_num();
  types();
  parts();
  loop_reductions();
  locations();
  broadcasts();
  /* Several under way. */
  int numbers[4] = {me, me, me, me};
  const int ids[4] = {3, 4, 3, 9};
  for (int i = 0; i < 4; i++) {
    const struct tasuki_xmp_variable v = VARIABLE(numbers[i], TASUKI_XMP_INT);
    tasuki_xmp_reduction(i % 2 ? TASUKI_XMP_MAX : TASUKI_XMP_SUM, &v, 0, NULL, NULL, TASUKI_XMP_ASYNC, ids[i],
                         HERE);
  }
  tasuki_xmp_wait_async(2, ids, NULL, HERE); /* 3, which are two, and 4 */
  CHECK(numbers[0] == n * (n + 1) / 2 && numbers[1] == n && numbers[2] == numbers[0]);
  while (!xmp_test_async(9)) continue;
  CHECK(numbers[3] == n && xmp_test_async(77) == 1);
  xmp_finalize();
  MPI_Finalize();
  return 0;
}
