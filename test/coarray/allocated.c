/* Allocated coarrays, node arrays, tasks; a program whose own main starts the runtime, with MPI of its own in between. */
#include <mpi.h> /* before xmp.h, which then has xmp_get_mpi_comm */

#include "coarray.h"

static struct tasuki_xmp_nodes p =
    NODES_RECORD("p", __FILE__, __LINE__, 1, XMP_PRIMARY_NODES, .size = {TASUKI_XMP_REST});
static const struct tasuki_xmp_range odd[1] = {{0, TASUKI_XMP_REST, 2}};
static struct tasuki_xmp_nodes q = NODES_RECORD("q", __FILE__, __LINE__, 1, XMP_EQUIVALENCE_NODES,
                                                .size = {TASUKI_XMP_REST}, .whole = &p, .ranges = odd);
static struct tasuki_xmp_nodes grid =
    NODES_RECORD("grid", __FILE__, __LINE__, 2, XMP_PRIMARY_NODES, .size = {2, TASUKI_XMP_REST});

static int me, n;

static void memory(void) {
  double* first = xmp_comalloc(1000 * sizeof *first);
  int* second = xmp_comalloc(n * sizeof *second);
  CHECK((size_t)first % 64 == 0 && (size_t)second % 64 == 0);
  for (int i = 0; i < 1000; i++) CHECK(first[i] == 0);
  for (int image = 1; image <= n; image++) PUT(second[me - 1], me, image, 0);
  for (int i = 0; i < 1000; i++) first[i] = me * 1000 + i;
  xmp_sync_all(NULL);
  for (int image = 1; image <= n; image++) CHECK(second[image - 1] == image);
  const int next = me % n + 1;
  double got[1000];
  tasuki_xmp_get(got, first, sizeof got, next, 0, __FILE__, __LINE__);
  for (int i = 0; i < 1000; i++) CHECK(got[i] == next * 1000 + i);
  xmp_cofree(first);
  CHECK(second[0] == 1);
  const struct tasuki_xmp_descriptor d = {.kind = TASUKI_XMP_KIND_COARRAY,
                                          .struct_size = sizeof d,
                                          .dimensions = 2,
                                          .element = sizeof(int),
                                          .size = {0, 20},
                                          .name = "x",
                                          .file = __FILE__,
                                          .line = __LINE__};
  int(*x)[20] = xmp_malloc(&d, (size_t)30, (size_t)20);
  PUT(x[29][19], me, next, 0);
  xmp_sync_all(NULL);
  CHECK(x[29][19] == (me == 1 ? n : me - 1));
  xmp_free(x);
  xmp_cofree(second);
  xmp_cofree(NULL);
  int dims = 0, bound = -1;
  CHECK(xmp_array_ndims(&d, &dims) == 0 && dims == 2);
  CHECK(xmp_array_ubound(&d, 2, &bound) == 0 && bound == 19 && xmp_array_ubound(&d, 1, &bound) == -1);
  CHECK(xmp_array_lbound(&d, 1, &bound) == 0 && bound == 0 && xmp_array_lbound(&d, 3, &bound) == -1);
  CHECK(xmp_array_ndims(&p, &dims) == -1);
  for (int i = 0; i < 8; i++) xmp_cofree(xmp_comalloc(1 + (size_t)i * 1000));
}

static void nodes(void) {
  int value = 0;
  CHECK(xmp_nodes_ndims(&p, &value) == 0 && value == 1);
  CHECK(xmp_nodes_size(&p, 1, &value) == 0 && value == n);
  CHECK(xmp_nodes_size(&p, 2, &value) == -1);
  CHECK(xmp_nodes_index(&p, 1, &value) == 0 && value == me);
  CHECK(xmp_nodes_size(&q, 1, &value) == 0 && value == (n + 1) / 2);
  CHECK(xmpc_nodes_index(&q, 1, &value) == 0 && value == (me % 2 == 1 ? me / 2 : -1));
  CHECK(xmp_nodes_attr(&q, &value) == 0 && value == XMP_EQUIVALENCE_NODES);
  const int last = n - 1;
  CHECK(tasuki_xmp_node(&p, &last, __FILE__, __LINE__) == n);
  if (n % 2 != 0) return;
  CHECK(xmp_nodes_index(&grid, 1, &value) == 0 && value == (me - 1) % 2 + 1);
  CHECK(xmp_nodes_index(&grid, 2, &value) == 0 && value == (me - 1) / 2 + 1);
  const int at[2] = {1, (me - 1) / 2};
  CHECK(tasuki_xmp_node(&grid, at, __FILE__, __LINE__) == (me - 1) / 2 * 2 + 2);
  /* My row: grid(*, :) */
  const struct tasuki_xmp_range row[2] = {{0, 1, TASUKI_XMP_OWN}, {0, TASUKI_XMP_REST, 1}};
  CHECK(tasuki_xmp_task_begin(&grid, row, __FILE__, __LINE__) == 1);
  CHECK(xmp_num_nodes() == n / 2 && xmp_node_num() == (me - 1) / 2 + 1);
  xmp_sync_all(NULL);
  tasuki_xmp_task_end();
}

static void tasks(int* everywhere) {
  for (int round = 1; round <= 5; round++) {
    if (tasuki_xmp_task_begin(&q, NULL, __FILE__, __LINE__)) {
      CHECK(me % 2 == 1 && xmp_node_num() == me / 2 + 1 && xmp_num_images() == (n + 1) / 2);
      CHECK(xmp_all_node_num() == me && xmp_all_num_nodes() == n);
      int* here = xmp_comalloc(sizeof *here);
      const int next = xmp_node_num() % xmp_num_nodes() + 1, mine = xmp_node_num();
      PUT(*here, mine, next, 0);
      /* Images are numbered among those of the task for every coarray. */
      PUT(everywhere[0], mine, next, 0);
      xmp_sync_all(NULL);
      CHECK(*here == (mine == 1 ? xmp_num_nodes() : mine - 1) && everywhere[0] == *here);
      int index[1] = {next}, all = 0;
      xmp_get_primary_image_index(1, index, &all, NULL);
      CHECK(all == 2 * next - 1);
      xmp_get_image_index(1, &all, index, &p);
      CHECK(index[0] == next);
      int both[2] = {next, mine == 1 ? xmp_num_nodes() : mine - 1};
      xmp_sync_images(xmp_num_nodes() > 2 ? 2 : 1, both, NULL);
      MPI_Comm comm = xmp_get_mpi_comm();
      int size = 0;
      MPI_Comm_size(comm, &size);
      CHECK(size == xmp_num_nodes());
      xmp_cofree(here);
      tasuki_xmp_task_end();
    } else {
      CHECK(me % 2 == 0);
    }
    CHECK(xmp_node_num() == me);
  }
}

int main(int argc, char** argv) {
  xmp_init_mpi(&argc, &argv);
  me = xmp_this_image();
  n = xmp_num_images();
  int sum = 0;
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == n * (n + 1) / 2);
  memory();
  nodes();
  int* everywhere = xmp_comalloc(sizeof *everywhere);
  tasks(everywhere);
  xmp_sync_all(NULL);
  int result = 0;
  MPI_Comm_compare(xmp_get_mpi_comm(), MPI_COMM_WORLD, &result);
  CHECK(result == MPI_CONGRUENT);
  xmp_finalize_mpi();
  MPI_Finalized(&result);
  if (!result) return 1;
  return 0;
}
