// By coarrays: the calls are those that tasukicc makes of
//
//   double source[N0][N1][N2]:[*], target[N0][N1][N2]:[*];
//   target[l0:c0][l1:c1][l2:c2]:[2] = source[l0:c0][l1:c1][l2:c2];
//   xmp_sync_memory(NULL);
//   #pragma xmp post(p(2), 0)
//   #pragma xmp wait(p(2), 0)
//
// A section in one piece is written as one of one dimension, target[l:n]:[2] = source[l:n].
#include <mpi.h>
#include <tasuki/compiler/local_view.h>

#include "measure/coarray/coarray.h"
#include "measure/common/rank.h"

static struct tasuki_xmp_nodes g_nodes = {.kind = TASUKI_XMP_KIND_NODES,
                                          .struct_size = sizeof g_nodes,
                                          .dimensions = 1,
                                          .size = {TASUKI_XMP_REST},
                                          .origin = XMP_PRIMARY_NODES,
                                          .name = "p",
                                          .file = __FILE__,
                                          .line = __LINE__};
static double* g_memory;
static int g_started;

double* coarray_memory(size_t elements) {
  xmp_init(MPI_COMM_WORLD);
  g_started = 1;
  struct tasuki_xmp_nodes* const nodes = &g_nodes;
  tasuki_xmp_register_nodes(&nodes, &nodes + 1);
  g_memory = xmp_comalloc(elements * sizeof(double));
  return g_memory;
}

void coarray_end(void) {
  if (!g_started) return;
  xmp_cofree(g_memory);
  xmp_finalize();
}

void coarray_meet(void) {
  xmp_sync_all(NULL);
}

static void assign(double* to, unsigned to_flags, double* from, unsigned from_flags) {
  const struct section* s = &g_section;
  const size_t row = s->extent[2], plane = s->extent[1] * row, element = sizeof(double);
  const int other = 2 - g_rank;
  if (is_dense()) {
    const ptrdiff_t first = (ptrdiff_t)(s->lower[0] * plane + s->lower[1] * row + s->lower[2]),
                    n = (ptrdiff_t)section_elements();
    tasuki_xmp_copy(
        &(struct tasuki_xmp_section){
            to, element, (const struct tasuki_xmp_dimension[]){{first, n, 1, array_elements(), element}}, 1,
            other, to_flags, "target"},
        &(struct tasuki_xmp_section){
            from, element, (const struct tasuki_xmp_dimension[]){{first, n, 1, array_elements(), element}}, 1,
            other, from_flags, "source"},
        0, __FILE__, __LINE__);
    return;
  }
#define BRACKETS                                                                           \
  (const struct tasuki_xmp_dimension[]){                                                   \
      {(ptrdiff_t)s->lower[0], (ptrdiff_t)s->length[0], 1, s->extent[0], plane * element}, \
      {(ptrdiff_t)s->lower[1], (ptrdiff_t)s->length[1], 1, s->extent[1], row * element},   \
      {(ptrdiff_t)s->lower[2], (ptrdiff_t)s->length[2], 1, s->extent[2], element},         \
  }
  tasuki_xmp_copy(&(struct tasuki_xmp_section){to, element, BRACKETS, 3, other, to_flags, "target"},
                  &(struct tasuki_xmp_section){from, element, BRACKETS, 3, other, from_flags, "source"}, 0,
                  __FILE__, __LINE__);
}

static void put(double* from) {
  assign(g_target, TASUKI_XMP_REMOTE, from, 0);
  xmp_sync_memory(NULL);
}
static void get(double* from) {
  assign(g_target, 0, from, TASUKI_XMP_REMOTE);
}
static void post(void) {
  tasuki_xmp_post(tasuki_xmp_node(&g_nodes, (const int[]){1 - g_rank}, __FILE__, __LINE__), 0, __FILE__,
                  __LINE__);
}
static void wait(void) {
  tasuki_xmp_wait(tasuki_xmp_node(&g_nodes, (const int[]){1 - g_rank}, __FILE__, __LINE__), 0, __FILE__,
                  __LINE__);
}

void coarray_put_round(void) {
  if (g_rank == 0) {
    put(g_source);
    post();
  }
  wait();
  if (g_rank == 1) {
    put(g_target);
    post();
  }
}

void coarray_get_round(void) {
  if (g_rank == 0) post();
  wait();
  get(g_rank == 0 ? g_target : g_source);
  if (g_rank == 1) post();
}

void coarray_put_alone(void) {
  put(g_source);
}
void coarray_get_alone(void) {
  get(g_source);
  xmp_sync_memory(NULL);
}
