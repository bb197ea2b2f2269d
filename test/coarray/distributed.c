/* Templates, distributed arrays, loops and tasks of the global view. */
#include "global.h"

enum { N = 61, M = 23 };

NODES(p, TASUKI_XMP_REST);
NODES(grid, 1, TASUKI_XMP_REST); /* its first size is set before the start */

TEMPLATE(block, &p, {0, N - 1, TASUKI_XMP_BLOCK, 0, 0, NULL});
TEMPLATE(wide, &p, {1, N, TASUKI_XMP_BLOCK, 0, N, NULL});
TEMPLATE(cyclic, &p, {-3, N - 4, TASUKI_XMP_CYCLIC, 0, 1, NULL});
TEMPLATE(cyclic3, &p, {5, N + 4, TASUKI_XMP_CYCLIC, 0, 3, NULL});
TEMPLATE(plane, &grid, {0, M - 1, TASUKI_XMP_BLOCK, 0, 0, NULL}, {0, N - 1, TASUKI_XMP_CYCLIC, 1, 2, NULL});
TEMPLATE(bars, &p, {0, M - 1, TASUKI_XMP_DUPLICATED, -1, 0, NULL}, {0, N - 1, TASUKI_XMP_BLOCK, 0, 0, NULL});
TEMPLATE(local, NULL, {0, N - 1, TASUKI_XMP_DUPLICATED, -1, 0, NULL});
static struct tasuki_xmp_template later = {TASUKI_XMP_KIND_TEMPLATE,
                                           sizeof(struct tasuki_xmp_template),
                                           1,
                                           0,
                                           {{0, -1, TASUKI_XMP_GBLOCK, 0, 0, NULL}},
                                           &p,
                                           "later",
                                           __FILE__,
                                           __LINE__,
                                           {NULL, NULL}};
static struct tasuki_xmp_template* const all_templates[] = {&block, &wide, &cyclic, NULL,  &cyclic3,
                                                            &plane, &bars, &local,  &later};

#define VECTOR(name_, t, offset_, below, above) \
  ARRAY(name_, long long, &t, 1, .extent = {N}, .offset = {offset_}, .shadow = {{below, above}})
VECTOR(a_block, block, 0, 2, 3);
VECTOR(a_wide, wide, 1, 0, 0);
VECTOR(a_cyclic, cyclic, -3, 0, 0);
VECTOR(a_cyclic3, cyclic3, 5, 0, 0);
VECTOR(a_full, cyclic3, 5, -1, -1);
VECTOR(a_local, local, 0, 0, 0);
/* a[i][j] with t(j + 2, i + 13), of a part of the template, and rows and columns of it. */
ARRAY(a_plane, long long, &plane, 2, .extent = {40, M - 2}, .with = {1, 0}, .offset = {13, 2},
      .shadow = {{0}, {1, 2}});
ARRAY(rows, long long, &plane, 1, .extent = {N}, .with = {1});
ARRAY(edge, long long, &plane, 1, .extent = {N}, .with = {1}, .at_one = {1, 0}, .one = {M - 1, 0});
ARRAY(a_bars, long long, &bars, 2, .extent = {N, M}, .with = {1, 0}, .shadow = {{1, 1}, {0, 0}});
ARRAY(pointer, long long, &later, 1, .shadow = {{1, 1}});
static struct tasuki_xmp_array* const all_arrays[] = {&a_block, &a_wide,  &a_cyclic, &a_cyclic3,
                                                      &a_full,  &a_local, &a_plane,  &rows,
                                                      &edge,    NULL,     &a_bars,   &pointer};

static int me, n, first_size;

/* The file scope's records, registered as a constructor of an object does. */
static void register_all(void) {
  struct tasuki_xmp_nodes* nodes[] = {&p, &grid};
  grid.size[0] = first_size;
  tasuki_xmp_register_nodes(nodes, nodes + 2);
  tasuki_xmp_register_templates(all_templates,
                                all_templates + sizeof all_templates / sizeof all_templates[0]);
  tasuki_xmp_register_arrays(all_arrays, all_arrays + sizeof all_arrays / sizeof all_arrays[0]);
}

/* All elements of a vector: each is set by one node (or all, if not distributed), holds what it got, and lies within the memory. */
static void vector_on(struct tasuki_xmp_array* a, int dimension, int copies) {
  const long long extent = a->extent[0];
  long long times[N] = {0}, sum[N];
  FOR(i, a->template_, dimension, 0, extent, 1, a->offset[0]) {
    AT(long long, *a, i) = value_at(i, 0, 0);
    times[i]++;
    CHECK(i >= a->lower[0] && i <= a->upper[0]);
    const long long place = (long long*)element_of(a, &i) - (long long*)a->memory;
    CHECK(place >= 0 && place < a->allocated[0]);
    CHECK(tasuki_xmp_owned(a, 0, i, HERE) == i);
  }
  END;
  long long count = 0;
  FOR(i, a->template_, dimension, 0, extent, 1, a->offset[0]) {
    CHECK(AT(long long, *a, i) == value_at(i, 0, 0));
    count++;
  }
  END;
  if (count == 0) CHECK(a->upper[0] < a->lower[0]);
  MPI_Allreduce(times, sum, N, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < extent; i++) CHECK(sum[i] == copies);
}

static void vector(struct tasuki_xmp_array* a, int copies) {
  vector_on(a, 0, copies);
}

static void loops(void) {
  /* Steps, upwards and downwards, on all formats: every iteration once, in order within a node's run. */
  const struct tasuki_xmp_template* of[] = {&block, &wide, &cyclic, &cyclic3};
  for (int t = 0; t < 4; t++) {
    const long long lower = of[t]->dimension[0].lower;
    for (int step = -5; step <= 5; step++) {
      if (step == 0) continue;
      long long mine = 0, count = 0;
      const long long trips = (N - 1) / (step < 0 ? -step : step) + 1, begin = step > 0 ? 0 : N - 1;
      FOR(i, of[t], 0, begin, trips, step, lower) {
        mine += value_at(i, 0, 0);
        count++;
        CHECK((i - begin) % step == 0);
      }
      END;
      long long expected = 0;
      for (long long k = 0; k < trips; k++) expected += value_at(begin + k * step, 0, 0);
      CHECK(sum_of(count) == trips && sum_of(mine) == expected);
    }
  }
  /* On a node array. */
  long long mine = 0;
  FOR(i, &p, 0, 1, n, 1, -1) {
    CHECK(i == me);
    mine++;
  }
  END;
  CHECK(mine == 1);
  /* expand and margin: the inner part and the edge of a loop are the loop. */
  static char seen[N][M];
  memset(seen, 0, sizeof seen);
  FOR_EDGES(i, &bars, 1, 0, N, 1, 0, -1, -1, 0){FOR_EDGES(j, &bars, 0, 0, M, 1, 0, -2, -1, 0){seen[i][j]++;
}
END
}
END;
for (int part = 0; part < 4; part++) {
  FOR_EDGES(i, &bars, 1, 0, N, 1, 0, -1, -1, tasuki_xmp_margin(part, 0, 2)){
      FOR_EDGES(j, &bars, 0, 0, M, 1, 0, -2, -1, tasuki_xmp_margin(part, 1, 2)){seen[i][j] += 2;
}
END
}
END;
}
long long owned = 0;
for (int i = 0; i < N; i++)
  for (int j = 0; j < M; j++) {
    const int mine_too = i >= a_bars.lower[0] && i <= a_bars.upper[0];
    const int inner = i > a_bars.lower[0] && i < a_bars.upper[0] && j >= 2 && j < M - 1;
    CHECK(seen[i][j] == (inner ? 1 : mine_too ? 2 : 0));
    owned += mine_too;
  }
CHECK(sum_of(owned) == N * M);
long long beyond = 0;
FOR_EDGES(i, &block, 0, 0, N, 1, 0, 1, 1, TASUKI_XMP_UNBOUND) beyond += i < 0 || i >= N;
END;
CHECK(sum_of(beyond) == 2);
}

static void plane_of_nodes(void) {
  long long count = 0;
  FOR(i, &plane, 1, 0, 40, 1,
      13){FOR(j, &plane, 0, 0, M - 2, 1, 2){AT(long long, a_plane, i, j) = value_at(i, j, 1);
  count++;
}
END
}
END;
CHECK(sum_of(count) == 40 * (M - 2));
FOR(i, &plane, 1, 0, 40, 1,
    13){FOR(j, &plane, 0, 0, M - 2, 1, 2){CHECK(AT(long long, a_plane, i, j) == value_at(i, j, 1));
}
END
}
END;
vector_on(&rows, 1, first_size);
/* `edge` is where t's last column is. */
const int has = edge.upper[0] >= edge.lower[0];
int index = 0;
CHECK(xmpc_nodes_index(&grid, 1, &index) == 0);
const int column_owner = (M - 1) / ((M + first_size - 1) / first_size);
CHECK(has == (index == column_owner && rows.upper[0] >= rows.lower[0]));
}

static void use_parameter(void* memory) {
  struct tasuki_xmp_array x = ARRAY_RECORD("x", long long, &block, 1, .extent = {N}, .shadow = {{2, 3}});
  tasuki_xmp_array_parameter(&x, memory, HERE);
  FOR(i, &block, 0, 0, N, 1, 0) {
    CHECK(AT(long long, x, i) == value_at(i, 0, 0));
    AT(long long, x, i)++;
  }
  END;
}

static void automatic(int size) {
  struct tasuki_xmp_template t = TEMPLATE_RECORD("t", &p, {0, size - 1, TASUKI_XMP_BLOCK, 0, 0, NULL});
  tasuki_xmp_template_define(&t, HERE);
  struct tasuki_xmp_array x = ARRAY_RECORD("x", long long, &t, 1, .extent = {size}, .shadow = {{1, 1}});
  tasuki_xmp_array_define(&x, HERE);
  FOR(i, &t, 0, 0, size, 1, 0) CHECK(AT(long long, x, i) == 0);
  END;
  vector(&x, 1);
  tasuki_xmp_array_release(&x);
}

static void fixed_later(void) {
  int mapping[64], sum = 0, fixed = -1;
  CHECK(xmp_template_fixed(&later, &fixed) == 0 && fixed == 0);
  for (int i = 0; i < n; i++) sum += mapping[i] = i % 3 == 1 ? 0 : i + 2;
  const struct tasuki_xmp_template_dimension shape = {10, 10 + sum - 1, TASUKI_XMP_GBLOCK, 0, 0, mapping};
  tasuki_xmp_template_fix(&later, &shape, HERE);
  CHECK(xmp_template_fixed(&later, &fixed) == 0 && fixed != 0);
  pointer.offset[0] = 10;
  int map[64];
  CHECK(xmp_dist_gblockmap(&later, 1, map) == 0 && memcmp(map, mapping, (size_t)n * sizeof(int)) == 0);
  for (int round = 0; round < 3; round++) {
    pointer.extent[0] = 0;
    void* memory = xmp_malloc(&pointer, (size_t)sum);
    CHECK(memory == pointer.memory);
    CHECK(pointer.upper[0] - pointer.lower[0] + 1 == mapping[me - 1]);
    vector(&pointer, 1);
    xmp_free(memory);
    CHECK(pointer.memory == NULL);
  }
}

static void tasks(void) {
  for (int i = 0; i < N; i += 7) {
    const struct tasuki_xmp_triplet at = {i, 1, 1};
    const struct tasuki_xmp_on on = {&block, &at};
    const int mine = i >= a_block.lower[0] && i <= a_block.upper[0];
    CHECK(tasuki_xmp_executes(&on, HERE) == mine);
    if (tasuki_xmp_task_begin_on(&on, HERE)) {
      CHECK(mine && xmp_num_nodes() == 1);
      tasuki_xmp_task_end();
    }
  }
  /* A row of the grid of nodes: t(*, i). */
  const struct tasuki_xmp_triplet row[2] = {{TASUKI_XMP_OPEN, TASUKI_XMP_OPEN, 1}, {0, 0, 0}};
  const struct tasuki_xmp_on on = {&plane, row};
  CHECK(tasuki_xmp_task_begin_on(&on, HERE) == 1);
  CHECK(xmp_num_nodes() == first_size && xmp_node_num() == (me - 1) % first_size + 1);
  tasuki_xmp_barrier_on(&on, HERE);
  tasuki_xmp_task_end();
  /* The odd ones. */
  const struct tasuki_xmp_triplet odd = {0, TASUKI_XMP_OPEN, 2};
  const struct tasuki_xmp_on some = {&p, &odd};
  const int begun = tasuki_xmp_task_begin_on(&some, HERE);
  CHECK(begun == me % 2);
  if (begun) {
    CHECK(xmp_num_nodes() == (n + 1) / 2);
    /* On these only. */
    struct tasuki_xmp_nodes q =
        NODES_RECORD("q", __FILE__, __LINE__, 1, XMP_EXECUTING_NODES, .size = {TASUKI_XMP_REST});
    struct tasuki_xmp_template t = TEMPLATE_RECORD("t", &q, {0, 9, TASUKI_XMP_CYCLIC, 0, 1, NULL});
    tasuki_xmp_template_define(&t, HERE);
    struct tasuki_xmp_array x = ARRAY_RECORD("x", long long, &t, 1, .extent = {10}, .shadow = {{0, 0}});
    tasuki_xmp_array_define(&x, HERE);
    FOR(i, &t, 0, 0, 10, 1, 0) AT(long long, x, i) = i;
    END;
    FOR(i, &t, 0, 9, 10, -1, 0) CHECK(AT(long long, x, i) == i && i % xmp_num_nodes() == xmpc_node_num());
    END;
    tasuki_xmp_array_release(&x);
    tasuki_xmp_task_end();
  }
}

/* What chapter 7 tells of all this. */
static void inquiry(void) {
  int value = -9, map[64];
  xmp_desc_t d = NULL;
  CHECK(xmp_template_ndims(&plane, &value) == 0 && value == 2 && xmp_template_ndims(&p, &value) == -1);
  CHECK(xmp_template_lbound(&cyclic, 1, &value) == 0 && value == -3);
  CHECK(xmp_template_ubound(&cyclic, 1, &value) == 0 && value == N - 4);
  CHECK(xmp_template_ubound(&cyclic, 2, &value) == -1 && xmp_template_lbound(&later, 1, &value) == -1);
  CHECK(xmp_dist_format(&plane, 1, &value) == 0 && value == XMP_BLOCK);
  CHECK(xmp_dist_format(&plane, 2, &value) == 0 && value == XMP_CYCLIC);
  CHECK(xmp_dist_format(&bars, 1, &value) == 0 && value == XMP_NOT_DISTRIBUTED);
  CHECK(xmp_dist_format(&later, 1, &value) == 0 && value == XMP_GBLOCK);
  CHECK(xmp_dist_blocksize(&block, 1, &value) == 0 && value == (N + n - 1) / n);
  CHECK(xmp_dist_blocksize(&plane, 2, &value) == 0 && value == 2 &&
        xmp_dist_blocksize(&bars, 1, &value) == -1);
  CHECK(xmp_dist_gblockmap(&later, 1, map) == -1 && xmp_dist_gblockmap(&block, 1, map) == -1);
  CHECK(xmp_dist_nodes(&plane, &d) == 0 && d == &grid && xmp_dist_nodes(&local, &d) == -1);
  CHECK(xmp_dist_axis(&plane, 2, &value) == 0 && value == 2 && xmp_dist_axis(&bars, 2, &value) == 0 &&
        value == 1);
  CHECK(xmp_dist_axis(&bars, 1, &value) == -1 && xmp_dist_axis(&bars, 3, &value) == -1);
  CHECK(xmp_array_ndims(&a_plane, &value) == 0 && value == 2);
  CHECK(xmp_array_lbound(&a_plane, 2, &value) == 0 && value == 0 &&
        xmp_array_lbound(&a_plane, 3, &value) == -1);
  CHECK(xmp_array_ubound(&a_plane, 2, &value) == 0 && value == M - 3);
  CHECK(xmp_array_ubound(&pointer, 1, &value) == -1);
  CHECK(xmp_array_lshadow(&a_plane, 2, &value) == 0 && value == 1);
  CHECK(xmp_array_ushadow(&a_plane, 2, &value) == 0 && value == 2);
  CHECK(xmp_align_axis(&a_plane, 1, &value) == 0 && value == 2 && xmp_align_axis(&block, 1, &value) == -1);
  CHECK(xmp_align_offset(&a_plane, 1, &value) == 0 && value == 13);
  CHECK(xmp_align_replicated(&rows, 1, &value) == 0 && value == 1);
  CHECK(xmp_align_replicated(&rows, 2, &value) == 0 && value == 0);
  CHECK(xmp_align_replicated(&edge, 1, &value) == 0 && value == 0);
  CHECK(xmp_align_template(&rows, &d) == 0 && d == &plane && xmp_align_template(&plane, &d) == -1);
  /* Node arrays that are parts of others. */
  const struct tasuki_xmp_range every[1] = {{0, TASUKI_XMP_REST, 2}};
  const struct tasuki_xmp_nodes some = NODES_RECORD("some", __FILE__, __LINE__, 1, XMP_EQUIVALENCE_NODES,
                                                    .size = {TASUKI_XMP_REST}, .whole = &p, .ranges = every);
  int lower[7], upper[7], step[7];
  CHECK(xmp_nodes_equiv(&some, &d, lower, upper, step) == 0 && d == &p);
  CHECK(lower[0] == 1 && upper[0] == n && step[0] == 2);
  CHECK(xmp_nodes_equiv(&p, &d, lower, upper, step) == -1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  first_size = n % 2 == 0 ? 2 : 1;
  register_all();
  xmp_init(MPI_COMM_WORLD);
  me = xmp_node_num();
  CHECK(a_block.memory != NULL && (size_t)a_block.memory % 64 == 0 && pointer.memory == NULL);
  vector(&a_block, 1);
  vector(&a_wide, 1);
  vector(&a_cyclic, 1);
  vector(&a_cyclic3, 1);
  vector(&a_full, 1);
  vector(&a_local, n);
  CHECK(a_full.allocated[0] == N && a_full.nodes[0] == 1);
  inquiry();
  loops();
  plane_of_nodes();
  use_parameter(a_block.memory);
  FOR(i, &block, 0, 0, N, 1, 0) CHECK(AT(long long, a_block, i) == value_at(i, 0, 0) + 1);
  END;
  for (int size = 1; size < 40; size += 6) automatic(size);
  fixed_later();
  tasks();
  xmp_sync_all(NULL);
  xmp_finalize();
  MPI_Finalize();
  return 0;
}
