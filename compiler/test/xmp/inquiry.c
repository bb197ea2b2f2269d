// What the program can ask: who and how many, how things are distributed, which number an image has in another set.
// double: no
#include "check.h"
#define N 30
#define M 8
#pragma xmp nodes p(*)
#pragma xmp nodes grid(1,*)
#pragma xmp nodes first(1) = p(1)
#pragma xmp nodes odd(*) = p(::2)
#pragma xmp nodes line(1,*) = grid(1,::2)
#pragma xmp template t(-2:N+1)
#pragma xmp distribute t(cyclic(2)) onto p
#pragma xmp template plane[N][M]
#pragma xmp distribute plane[block][*] onto p
static double a[N];
#pragma xmp align a[i] with t(i-1)
static float b[N][M];
#pragma xmp align b[i][j] with plane[i][j]
#pragma xmp shadow b[1:2][0]
static int copies[M];
#pragma xmp align copies[j] with plane[*][j]

static void system_functions(int nodes) {
  const int me = xmp_all_node_num();
  CHECK(me >= 1 && me <= nodes && xmpc_all_node_num() == me - 1 && xmp_all_num_nodes() == nodes);
  CHECK(xmp_node_num() == me && xmpc_node_num() == me - 1 && xmpc_this_image() == me - 1 && xmp_this_image() == me);
  CHECK(xmp_num_nodes() == nodes && xmp_num_images() == nodes);
  const double start = xmp_wtime();
  CHECK(xmp_wtick() > 0 && xmp_wtick() < 1 && xmp_wtime() >= start);
#pragma xmp task on p(nodes)
  CHECK(xmp_node_num() == 1 && xmpc_this_image() == 0 && xmp_num_images() == 1 && xmp_all_node_num() == nodes && xmp_all_num_nodes() == nodes);
  int status = -1;
  xmp_sync_memory(&status);
  CHECK(status == XMP_STAT_SUCCESS);
  xmp_sync_memory(NULL);
  int n = 1;
#pragma xmp reduction(+:n) async(5)
  while (!xmp_test_async(5)) continue;
  CHECK(n == nodes && xmp_test_async(6) == 1);
}

static void node_arrays(int nodes) {
  const int me = xmp_node_num();
  int value = -9, lower[7], upper[7], step[7];
  xmp_desc_t d = NULL;
  CHECK(xmp_nodes_ndims(xmp_desc_of(grid), &value) == 0 && value == 2);
  CHECK(xmp_nodes_ndims(xmp_desc_of(t), &value) < 0);
  CHECK(xmp_nodes_size(xmp_desc_of(grid), 2, &value) == 0 && value == nodes);
  CHECK(xmp_nodes_size(xmp_desc_of(grid), 3, &value) < 0 && xmp_nodes_size(xmp_desc_of(grid), 0, &value) < 0);
  CHECK(xmp_nodes_index(xmp_desc_of(grid), 2, &value) == 0 && value == me);
  CHECK(xmpc_nodes_index(xmp_desc_of(grid), 1, &value) == 0 && value == 0);
  CHECK(xmpc_nodes_index(xmp_desc_of(first), 1, &value) == 0 && value == (me == 1 ? 0 : -1));
  CHECK(xmp_nodes_index(xmp_desc_of(first), 1, &value) == 0 && value == (me == 1 ? 1 : 0));
  CHECK(xmp_nodes_attr(xmp_desc_of(p), &value) == 0 && value == XMP_PRIMARY_NODES);
  CHECK(xmp_nodes_attr(xmp_desc_of(first), &value) == 0 && value == XMP_EQUIVALENCE_NODES);
  CHECK(xmp_nodes_equiv(xmp_desc_of(line), &d, lower, upper, step) == 0 && d == xmp_desc_of(grid));
  CHECK(lower[0] == 1 && upper[0] == 1 && lower[1] == 1 && step[1] == 2 && upper[1] == nodes);
  CHECK(xmp_nodes_equiv(xmp_desc_of(p), &d, lower, upper, step) < 0);
}

static void templates(int nodes) {
  int value = -9;
  xmp_desc_t d = NULL;
#pragma xmp template late(:)
#pragma xmp distribute late(gblock(*)) onto p
  CHECK(xmp_template_fixed(xmp_desc_of(t), &value) == 0 && value == 1);
  CHECK(xmp_template_fixed(xmp_desc_of(late), &value) == 0 && value == 0);
  CHECK(xmp_template_lbound(xmp_desc_of(late), 1, &value) < 0);
  int sizes[nodes], map[nodes], total = 0;
  for (int i = 0; i < nodes; i++) total += sizes[i] = 3 * i + 1;
#pragma xmp template_fix(gblock(sizes)) late(1:total)
  CHECK(xmp_template_fixed(xmp_desc_of(late), &value) == 0 && value == 1);
  CHECK(xmp_template_lbound(xmp_desc_of(late), 1, &value) == 0 && value == 1);
  CHECK(xmp_template_ubound(xmp_desc_of(late), 1, &value) == 0 && value == total);
  CHECK(xmp_dist_gblockmap(xmp_desc_of(late), 1, map) == 0 && memcmp(map, sizes, sizeof map) == 0);
  CHECK(xmp_dist_gblockmap(xmp_desc_of(t), 1, map) < 0);
  CHECK(xmp_template_ndims(xmp_desc_of(plane), &value) == 0 && value == 2);
  CHECK(xmp_template_lbound(xmp_desc_of(t), 1, &value) == 0 && value == -2);
  CHECK(xmp_template_ubound(xmp_desc_of(plane), 1, &value) == 0 && value == M - 1);
  CHECK(xmp_template_ubound(xmp_desc_of(plane), 2, &value) == 0 && value == N - 1);
  CHECK(xmp_dist_format(xmp_desc_of(t), 1, &value) == 0 && value == XMP_CYCLIC);
  CHECK(xmp_dist_format(xmp_desc_of(plane), 1, &value) == 0 && value == XMP_NOT_DISTRIBUTED);
  CHECK(xmp_dist_format(xmp_desc_of(plane), 2, &value) == 0 && value == XMP_BLOCK);
  CHECK(xmp_dist_format(xmp_desc_of(late), 1, &value) == 0 && value == XMP_GBLOCK);
  CHECK(xmp_dist_blocksize(xmp_desc_of(t), 1, &value) == 0 && value == 2);
  CHECK(xmp_dist_blocksize(xmp_desc_of(plane), 2, &value) == 0 && value == (N + nodes - 1) / nodes);
  CHECK(xmp_dist_blocksize(xmp_desc_of(late), 1, &value) < 0);
  CHECK(xmp_dist_nodes(xmp_desc_of(t), &d) == 0 && d == xmp_desc_of(p));
  CHECK(xmp_dist_axis(xmp_desc_of(plane), 2, &value) == 0 && value == 1);
  CHECK(xmp_dist_axis(xmp_desc_of(plane), 1, &value) < 0);
}

static void distributed_arrays(void) {
  int value = -9;
  xmp_desc_t d = NULL;
  CHECK(xmp_array_ndims(xmp_desc_of(b), &value) == 0 && value == 2 && xmp_array_ndims(xmp_desc_of(t), &value) < 0);
  CHECK(xmp_array_lbound(xmp_desc_of(b), 2, &value) == 0 && value == 0);
  CHECK(xmp_array_ubound(xmp_desc_of(b), 1, &value) == 0 && value == N - 1);
  CHECK(xmp_array_ubound(xmp_desc_of(b), 3, &value) < 0);
  CHECK(xmp_array_lshadow(xmp_desc_of(b), 1, &value) == 0 && value == 1);
  CHECK(xmp_array_ushadow(xmp_desc_of(b), 1, &value) == 0 && value == 2);
  CHECK(xmp_align_axis(xmp_desc_of(b), 1, &value) == 0 && value == 2);
  CHECK(xmp_align_axis(xmp_desc_of(copies), 1, &value) == 0 && value == 1);
  CHECK(xmp_align_offset(xmp_desc_of(a), 1, &value) == 0 && value == -1);
  CHECK(xmp_align_replicated(xmp_desc_of(copies), 2, &value) == 0 && value == 1);
  CHECK(xmp_align_replicated(xmp_desc_of(copies), 1, &value) == 0 && value == 0);
  CHECK(xmp_align_template(xmp_desc_of(copies), &d) == 0 && d == xmp_desc_of(plane));
}

static void image_numbers(int nodes) {
  const int half = (nodes + 1) / 2, rest = nodes - half;
  int numbers[nodes], found[nodes];
  for (int i = 0; i < nodes; i++) numbers[i] = i + 1;
  xmp_get_primary_image_index(nodes, numbers, found, xmp_desc_of(grid));
  for (int i = 0; i < nodes; i++) CHECK(found[i] == i + 1);
  xmp_get_primary_image_index((nodes + 1) / 2, numbers, found, xmp_desc_of(odd));
  for (int i = 0; i < (nodes + 1) / 2; i++) CHECK(found[i] == 2 * i + 1);
#pragma xmp task on p(half:nodes)
  {
    xmp_get_image_index(nodes, numbers, found, xmp_desc_of(p));
    for (int i = 0; i < nodes; i++) CHECK(found[i] == (i + 1 < half ? 0 : i + 2 - half));
    xmp_get_primary_image_index(rest + 1, numbers, found, NULL);
    for (int i = 0; i <= rest; i++) CHECK(found[i] == half + i);
  }
}

int main(void) {
  const int nodes = xmp_num_nodes();
  system_functions(nodes);
  node_arrays(nodes);
  templates(nodes);
  distributed_arrays();
  image_numbers(nodes);
  return 0;
}
