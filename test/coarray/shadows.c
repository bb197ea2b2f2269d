/* reflect and reduce_shadow, on every cell of every node's memory, against what the specification says it holds. */
#include "global.h"

enum { N = 37, M = 19, K = 7 };

NODES(p, TASUKI_XMP_REST);
NODES(grid, 1, TASUKI_XMP_REST); /* its first size is set before the start */
static int sizes[64];

TEMPLATE(line, &p, {0, N - 1, TASUKI_XMP_BLOCK, 0, 0, NULL});
TEMPLATE(dealt, &p, {0, N - 1, TASUKI_XMP_CYCLIC, 0, 3, NULL});
TEMPLATE(uneven, &p, {1, N, TASUKI_XMP_GBLOCK, 0, 0, sizes});
TEMPLATE(plane, &grid, {0, M + 1, TASUKI_XMP_BLOCK, 0, 0, NULL}, {0, N - 1, TASUKI_XMP_BLOCK, 1, 0, NULL});
static struct tasuki_xmp_template* const all_templates[] = {&line, &dealt, &uneven, &plane};

#define TYPE double
ARRAY(a_line, TYPE, &line, 1, .extent = {N}, .shadow = {{2, 3}});
ARRAY(a_long, TYPE, &line, 1, .extent = {N}, .shadow = {{N, 12}}); /* wider than a block, and all around */
ARRAY(a_full, TYPE, &dealt, 1, .extent = {N}, .shadow = {{-1, -1}});
ARRAY(a_uneven, TYPE, &uneven, 1, .extent = {N}, .offset = {1}, .shadow = {{1, 2}});
ARRAY(a_plane, TYPE, &plane, 2, .extent = {N, M}, .with = {1, 0}, .offset = {0, 1},
      .shadow = {{1, 2}, {2, 1}});
ARRAY(a_space, TYPE, &plane, 3, .extent = {N, M, K}, .with = {1, 0, -1}, .shadow = {{1, 1}, {1, 1}, {1, 2}});
ARRAY(a_cube, TYPE, &plane, 3, .extent = {K, M, N}, .with = {-1, 0, 1}, .shadow = {{0, 0}, {1, 1}, {1, 1}});
ARRAY(a_copies, TYPE, &plane, 1, .extent = {N}, .with = {1}, .shadow = {{1, 1}});
static struct tasuki_xmp_array* const all_arrays[] = {&a_line,  &a_long,  &a_full, &a_uneven,
                                                      &a_plane, &a_space, &a_cube, &a_copies};
enum { ARRAYS = sizeof all_arrays / sizeof all_arrays[0] };

static int me, n;

/* What a local index of a dimension is. */
struct cell {
  long long x;  /* the subscript */
  int owned;    /* by this node; else shadow, .. */
  int reflects; /* .. and the widths ask for it */
};
static struct cell cells[3][3 * N + 20];

static void describe(const struct tasuki_xmp_array* a, int d, const struct tasuki_xmp_width* width) {
  const int full = a->shadow[d][0] < 0;
  static char own[N + 2];
  memset(own, 0, sizeof own);
  if (a->with[d] < 0) memset(own, 1, sizeof own);
  if (a->with[d] >= 0) {
    FOR(i, a->template_, a->with[d], 0, a->extent[d], 1, a->offset[d]) own[i] = 1;
    END;
  }
  const long long first = full ? 0 : a->lower[d] - a->shadow[d][0];
  const int below = width ? width[d].below : full ? N : a->shadow[d][0];
  const int above = width ? width[d].above : full ? N : a->shadow[d][1];
  for (int l = 0; l < a->allocated[d]; l++) {
    struct cell* c = &cells[d][l];
    c->x = first + l;
    const int inside = c->x >= 0 && c->x < a->extent[d];
    c->owned = inside && own[c->x];
    c->reflects = full || ((inside || (width && width[d].periodic)) && c->x >= a->lower[d] - below &&
                           c->x <= a->upper[d] + above);
  }
}

static TYPE value(const long long* x, const long long* extent, int dimensions, int round) {
  long long number = round;
  for (int d = 0; d < dimensions; d++) number = number * 97 + (x[d] % extent[d] + extent[d]) % extent[d];
  return (TYPE)(number % 1000003) + 1;
}

/* Visits every cell of this node's memory: kind 0: own, 1: to be reflected, 2: neither. */
typedef void visitor(TYPE* cell, int kind, TYPE value);
static void visit(const struct tasuki_xmp_array* a, const struct tasuki_xmp_width* width, int orthogonal,
                  int round, visitor* function) {
  long long count[3] = {1, 1, 1};
  for (int d = 0; d < a->dimensions; d++) {
    describe(a, d, width);
    if (a->upper[d] < a->lower[d]) return;
    count[d] = a->allocated[d];
  }
  for (long long i = 0; i < count[0]; i++)
    for (long long j = 0; j < count[1]; j++)
      for (long long k = 0; k < count[2]; k++) {
        const long long at[3] = {i, j, k};
        long long x[3], place = 0;
        int shadows = 0, reflects = 1;
        for (int d = 0; d < a->dimensions; d++) {
          const struct cell* c = &cells[d][at[d]];
          x[d] = c->x;
          place += at[d] * a->stride[d];
          shadows += !c->owned;
          reflects = reflects && (c->owned || c->reflects);
        }
        reflects = reflects && !(orthogonal && shadows > 1);
        function((TYPE*)a->memory + place,
                 shadows == 0 ? 0
                 : reflects   ? 1
                              : 2,
                 value(x, a->extent, a->dimensions, round));
      }
}

static void set(TYPE* cell, int kind, TYPE v) {
  *cell = kind == 0 ? v : -1;
}
static void check(TYPE* cell, int kind, TYPE v) {
  CHECK(*cell == (kind == 2 ? -1 : v));
}
static void clear(TYPE* cell, int kind, TYPE v) {
  (void)v;
  *cell = kind == 0 ? 0 : -7;
}
static void check_twice(TYPE* cell, int kind, TYPE v) {
  CHECK(*cell == (kind == 2 ? -1 : kind == 1 ? v : 2 * v));
}
static void double_it(TYPE* cell, int kind, TYPE v) {
  (void)v;
  if (kind == 0) *cell *= 2;
}
static long long shadow_cells;
static void set_shadow(TYPE* cell, int kind, TYPE v) {
  *cell = kind == 0 ? 0 : v;
  shadow_cells += kind == 1;
}
/* Owners got the sum of some shadows of the same element. */
static long long copies;
static void count_copies(TYPE* cell, int kind, TYPE v) {
  if (kind != 0) return;
  const long long times = (long long)(*cell / v);
  CHECK(*cell == (TYPE)times * v);
  copies += times;
}

static unsigned state = 12345;
static int pick(int most) {
  state = state * 1103515245u + 12345u;
  return (int)(state >> 16) % (most + 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  const int rounds = argc > 1 ? atoi(argv[1]) : 12;
  grid.size[0] = n % 2 == 0 ? 2 : 1;
  for (int i = 0, left = N; i < n; i++) {
    sizes[i] = i == n - 1 ? left : i % 3 == 1 ? 0 : left / 2;
    left -= sizes[i];
  }
  struct tasuki_xmp_nodes* nodes[] = {&p, &grid};
  tasuki_xmp_register_nodes(nodes, nodes + 2);
  tasuki_xmp_register_templates(all_templates, all_templates + 4);
  tasuki_xmp_register_arrays(all_arrays, all_arrays + ARRAYS);
  xmp_init(MPI_COMM_WORLD);
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < ARRAYS; i++) {
      const struct tasuki_xmp_array* a = all_arrays[i];
      struct tasuki_xmp_width some[3], *width = round == 0 ? NULL : some;
      for (int d = 0; d < a->dimensions; d++) {
        const int full = a->shadow[d][0] < 0;
        const struct tasuki_xmp_width w = {full ? 0 : pick(a->shadow[d][0]), full ? 0 : pick(a->shadow[d][1]),
                                           pick(1)};
        some[d] = w;
      }
      const int orthogonal = pick(2) == 0, asynchronous = pick(2) == 0;
      const unsigned flags =
          (orthogonal ? TASUKI_XMP_ORTHOGONAL : 0u) | (asynchronous ? (unsigned)TASUKI_XMP_ASYNC : 0u);
      visit(a, width, orthogonal, round, set);
      tasuki_xmp_reflect(a, width, flags, i, HERE);
      if (asynchronous) tasuki_xmp_wait_async(1, &i, NULL, HERE);
      visit(a, width, orthogonal, round, check);
      /* What was read may be changed at once. */
      visit(a, width, orthogonal, round, clear);
      visit(a, width, orthogonal, round + 1, set);
      tasuki_xmp_reflect(a, width, flags, i, HERE);
      visit(a, width, orthogonal, round + 1, double_it);
      if (asynchronous) {
        while (!xmp_test_async(i)) continue;
      } else {
        visit(a, width, orthogonal, round + 1, check_twice);
      }
      /* The other way: each shadow's value arrives at its owner. */
      shadow_cells = 0;
      copies = 0;
      visit(a, width, orthogonal, 0, set_shadow);
      tasuki_xmp_reduce_shadow(a, TASUKI_XMP_DOUBLE, width, flags, i, HERE);
      if (asynchronous) tasuki_xmp_wait_async(1, &i, NULL, HERE);
      visit(a, width, orthogonal, 0, count_copies);
      CHECK(sum_of(shadow_cells) == sum_of(copies));
    }
  }
  xmp_finalize();
  MPI_Finalize();
  return 0;
}
