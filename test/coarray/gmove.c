/* gmove: random assignments between sections of arrays of all distributions, and of local memory, against the same assignments to
 * whole copies of the arrays. */
#include "global.h"

enum { N = 24, M = 17, K = 5, CELLS = N * M * K };

NODES(p, TASUKI_XMP_REST);
NODES(grid, 1, TASUKI_XMP_REST); /* its first size is set before the start */
static const struct tasuki_xmp_range first_half[1] = {{0, 1, 1}};
static struct tasuki_xmp_range half[1];
static struct tasuki_xmp_nodes part = NODES_RECORD("part", __FILE__, __LINE__, 1, XMP_EQUIVALENCE_NODES,
                                                   .size = {TASUKI_XMP_REST}, .whole = &p, .ranges = half);
static int sizes[64];

TEMPLATE(line, &p, {0, N - 1, TASUKI_XMP_BLOCK, 0, 0, NULL});
TEMPLATE(dealt, &p, {-2, N + 7, TASUKI_XMP_CYCLIC, 0, 1, NULL});
TEMPLATE(dealt3, &p, {1, N, TASUKI_XMP_CYCLIC, 0, 3, NULL});
TEMPLATE(uneven, &part, {0, N - 1, TASUKI_XMP_GBLOCK, 0, 0, sizes});
TEMPLATE(plane, &grid, {0, M - 1, TASUKI_XMP_CYCLIC, 0, 2, NULL}, {0, N - 1, TASUKI_XMP_BLOCK, 1, 0, NULL});
TEMPLATE(local, NULL, {0, N - 1, TASUKI_XMP_DUPLICATED, -1, 0, NULL});
static struct tasuki_xmp_template* const all_templates[] = {&line, &dealt, &dealt3, &uneven, &plane, &local};

#define SHAPE(...) .extent = {__VA_ARGS__}
ARRAY(v_block, int, &line, 1, SHAPE(N), .shadow = {{2, 1}});
ARRAY(v_cyclic, int, &dealt, 1, SHAPE(N), .offset = {3});
ARRAY(v_cyclic3, int, &dealt3, 1, SHAPE(N), .offset = {1});
ARRAY(v_full, int, &dealt3, 1, SHAPE(N), .offset = {1}, .shadow = {{-1, -1}});
ARRAY(v_uneven, int, &uneven, 1, SHAPE(N));
ARRAY(v_copies, int, &plane, 1, SHAPE(N), .with = {1});
ARRAY(v_one, int, &plane, 1, SHAPE(M), .with = {0}, .at_one = {0, 1}, .one = {0, N / 2});
ARRAY(v_local, int, &local, 1, SHAPE(N));
ARRAY(m_rows, int, &line, 2, SHAPE(N, M), .with = {0, -1}, .shadow = {{1, 1}, {1, 0}});
ARRAY(m_columns, int, &dealt3, 2, SHAPE(M, N), .with = {-1, 0}, .offset = {0, 1});
ARRAY(m_plane, int, &plane, 2, SHAPE(N, M), .with = {1, 0});
ARRAY(m_turned, int, &plane, 2, SHAPE(M, N), .with = {0, 1}, .shadow = {{0, 0}, {1, 1}});
ARRAY(c_space, int, &plane, 3, SHAPE(N, K, M), .with = {1, -1, 0});
ARRAY(c_blocks, int, &line, 3, SHAPE(K, M, N), .with = {-1, -1, 0});
static struct tasuki_xmp_array* const all_arrays[] = {&v_block,  &v_cyclic, &v_cyclic3, &v_full,  &v_uneven,
                                                      &v_copies, &v_one,    &v_local,   &m_rows,  &m_columns,
                                                      &m_plane,  &m_turned, &c_space,   &c_blocks};
enum { ARRAYS = sizeof all_arrays / sizeof all_arrays[0] };

/* What each array holds as a whole; and memory that every node has for itself, the same everywhere, of 12 x 10. */
static int copy[ARRAYS][CELLS];
static int mine[12][10], mine_copy[12][10];

static int me, n;
static unsigned state = 4711;
static int pick(int most) {
  state = state * 1103515245u + 12345u;
  return (int)(state >> 12 & 0xffff) % (most + 1);
}

/* Every cell that this node owns, by its number in the whole array. */
static void cells(int which, void (*visit)(int* cell, int* reference)) {
  const struct tasuki_xmp_array* a = all_arrays[which];
  static int subscripts[3][N], count[3];
  for (int d = 0; d < 3; d++) {
    count[d] = 0;
    if (d >= a->dimensions || a->with[d] < 0) {
      for (; count[d] < (d < a->dimensions ? a->extent[d] : 1); count[d]++)
        subscripts[d][count[d]] = count[d];
    } else if (a->upper[d] >= a->lower[d]) {
      FOR(i, a->template_, a->with[d], 0, a->extent[d], 1, a->offset[d]) subscripts[d][count[d]++] = (int)i;
      END;
    }
  }
  for (int i = 0; i < count[0]; i++)
    for (int j = 0; j < count[1]; j++)
      for (int k = 0; k < count[2]; k++) {
        const long long x[3] = {subscripts[0][i], subscripts[1][j], subscripts[2][k]};
        long long number = 0;
        for (int d = 0; d < a->dimensions; d++) number = number * a->extent[d] + x[d];
        visit(element_of(a, x), &copy[which][number]);
      }
}
static void set(int* cell, int* reference) {
  *cell = *reference;
}
static int wrong;
static void compare(int* cell, int* reference) {
  wrong += *cell != *reference;
}

/* One operand: an array (number) or local memory (-1), and a subscript for each dimension. */
struct operand {
  int which, dimensions;
  struct tasuki_xmp_triplet t[3];
  struct tasuki_xmp_dimension d[3];
  struct tasuki_xmp_section section;
  struct tasuki_xmp_global_section g;
};

static long long extent_of(const struct operand* o, int d) {
  return o->which >= 0 ? all_arrays[o->which]->extent[d] : d == 0 ? 12 : 10;
}

/* A section with these numbers of elements in `pairs` dimensions, and single subscripts elsewhere. */
static void choose(struct operand* o, int which, int pairs, const int* count) {
  o->which = which;
  o->dimensions = which >= 0 ? all_arrays[which]->dimensions : 2;
  int left = pairs;
  for (int d = 0; d < o->dimensions; d++) {
    const long long extent = extent_of(o, d);
    long long elements = 1;
    if (left > 0 && (o->dimensions - d == left || pick(1))) elements = count[pairs - left--];
    const int most = elements > 1 ? (int)((extent - 1) / (elements - 1)) : 1;
    long long step = elements > 1 ? 1 + pick(most - 1) : 1;
    long long begin = pick((int)(extent - 1 - (elements - 1) * step));
    if (pick(2) == 0) {
      begin += (elements - 1) * step;
      step = -step;
    }
    o->t[d] = (struct tasuki_xmp_triplet){begin, elements, step};
    o->d[d] = (struct tasuki_xmp_dimension){begin, elements, step, (size_t)extent,
                                            d == 0 ? 10 * sizeof(int) : sizeof(int)};
  }
  o->section = (struct tasuki_xmp_section){mine, sizeof(int), o->d, o->dimensions, 0, 0, "mine"};
  o->g = (struct tasuki_xmp_global_section){which >= 0 ? all_arrays[which] : NULL, &o->section, o->dimensions,
                                            o->t, 0};
}

/* The elements in their order, in the whole copies. */
static int elements(const struct operand* o, int** all) {
  int count = 1;
  all[0] = o->which >= 0 ? copy[o->which] : &mine_copy[0][0];
  for (int d = 0; d < o->dimensions; d++) {
    const long long extent = extent_of(o, d), times = o->t[d].count;
    for (int i = count; i-- > 0;) {
      int* const base = o->which >= 0 ? copy[o->which] : &mine_copy[0][0];
      const long long before = (all[i] - base) * extent;
      for (long long k = times; k-- > 0;)
        all[i * times + k] = base + before + o->t[d].begin + k * o->t[d].step;
    }
    count *= (int)times;
  }
  return count;
}

static void assign(const struct operand* to, const struct operand* from) {
  static int *left[CELLS], *right[CELLS], values[CELLS];
  const int count = elements(to, left), others = elements(from, right);
  for (int i = 0; i < count; i++) values[i] = *right[others == 1 ? 0 : i];
  for (int i = 0; i < count; i++) *left[i] = values[i];
}

static int dimensions_of(int which) {
  return which >= 0 ? all_arrays[which]->dimensions : 2;
}

static void test(int round, unsigned mode) {
  struct operand to, from;
  const int a = pick(ARRAYS) - 1, b = pick(5) == 0 ? a : pick(ARRAYS) - 1;
  const int most = dimensions_of(a) < dimensions_of(b) ? dimensions_of(a) : dimensions_of(b);
  const int pairs = pick(most), single = pick(4) == 0;
  int count[3];
  for (int i = 0; i < 3; i++) count[i] = 2 + pick(K - 2);
  choose(&to, a, pairs, count);
  choose(&from, b, single ? 0 : pairs, count);
  /* Long ones, too, where both are vectors. */
  if (dimensions_of(a) == 1 && dimensions_of(b) == 1 && pick(1)) {
    count[0] = 2 + pick(M - 2);
    choose(&to, a, 1, count);
    choose(&from, b, 1, count);
  }
  assign(&to, &from);
  if (mode != 0) xmp_sync_all(NULL);
  tasuki_xmp_gmove(&to.g, &from.g, mode, 0, HERE);
  wrong = 0;
  for (int i = 0; i < ARRAYS; i++) cells(i, compare);
  wrong += memcmp(mine, mine_copy, sizeof mine) != 0;
  if (wrong != 0) {
    fprintf(stderr, "node %d, round %d, mode %u: %s[", me, round, mode,
            a >= 0 ? all_arrays[a]->name : "mine");
    for (int d = 0; d < to.dimensions; d++)
      fprintf(stderr, " %lld:%lld:%lld", to.t[d].begin, to.t[d].count, to.t[d].step);
    fprintf(stderr, "] = %s[", b >= 0 ? all_arrays[b]->name : "mine");
    for (int d = 0; d < from.dimensions; d++)
      fprintf(stderr, " %lld:%lld:%lld", from.t[d].begin, from.t[d].count, from.t[d].step);
    fprintf(stderr, "]: %d wrong\n", wrong);
    exit(1);
  }
  if (mode != 0) xmp_sync_all(NULL);
}

/* In a task of some nodes, from and to elements of others. */
static void in_a_task(void) {
  const struct tasuki_xmp_on on = {&part, NULL};
  struct operand to, from;
  const int whole[1] = {N};
  xmp_sync_all(NULL);
  for (int mode = 0; mode < 2; mode++) {
    choose(&to, mode == 0 ? 4 : 0, 1, whole); /* v_uneven, which only `part` has, and v_block */
    choose(&from, mode == 0 ? 0 : 4, 1, whole);
    assign(&to, &from);
    if (tasuki_xmp_task_begin_on(&on, HERE)) {
      tasuki_xmp_gmove(&to.g, &from.g, mode == 0 ? TASUKI_XMP_IN : TASUKI_XMP_OUT, 0, HERE);
      tasuki_xmp_task_end();
    }
    xmp_sync_all(NULL);
    wrong = 0;
    for (int i = 0; i < ARRAYS; i++) cells(i, compare);
    CHECK(wrong == 0);
    for (int i = 0; i < N; i++) copy[0][i] += 1 + i;
    cells(0, set);
    xmp_sync_all(NULL);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  const int rounds = argc > 1 ? atoi(argv[1]) : 2000;
  grid.size[0] = n % 2 == 0 ? 2 : 1;
  half[0] = first_half[0];
  half[0].count = (n + 1) / 2;
  for (int i = 0, left = N; i < half[0].count; i++) {
    sizes[i] = i == half[0].count - 1 ? left : left / 3 + i % 2;
    left -= sizes[i];
  }
  struct tasuki_xmp_nodes* nodes[] = {&p, &grid, &part};
  tasuki_xmp_register_nodes(nodes, nodes + 3);
  tasuki_xmp_register_templates(all_templates,
                                all_templates + sizeof all_templates / sizeof all_templates[0]);
  tasuki_xmp_register_arrays(all_arrays, all_arrays + ARRAYS);
  xmp_init(MPI_COMM_WORLD);
  me = xmp_node_num();
  for (int i = 0; i < ARRAYS; i++) {
    for (int k = 0; k < CELLS; k++) copy[i][k] = i * 10000 + k;
    cells(i, set);
  }
  for (int i = 0; i < 120; i++) mine[i / 10][i % 10] = mine_copy[i / 10][i % 10] = -i;
  xmp_sync_all(NULL);
  for (int round = 0; round < rounds; round++)
    test(round, round % 5 == 3 ? TASUKI_XMP_IN : round % 5 == 4 ? TASUKI_XMP_OUT : 0);
  in_a_task();
  xmp_finalize();
  MPI_Finalize();
  return 0;
}
