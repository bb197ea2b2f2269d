/* For programs that call the runtime of the global view themselves: records as tasukicc writes them. */
#ifndef TEST_GLOBAL_H
#define TEST_GLOBAL_H

#include <mpi.h>
#include <tasuki/compiler/global_view.h>

#include "coarray.h"

#define NODES(name_, ...)                                                                  \
  static struct tasuki_xmp_nodes name_ =                                                   \
      NODES_RECORD(#name_, __FILE__, __LINE__, sizeof((int[]){__VA_ARGS__}) / sizeof(int), \
                   XMP_PRIMARY_NODES, .size = {__VA_ARGS__})
#define DIMENSIONS(...)                                                         \
  .dimensions = sizeof((struct tasuki_xmp_template_dimension[]){__VA_ARGS__}) / \
                sizeof(struct tasuki_xmp_template_dimension),                   \
  .dimension = {__VA_ARGS__}
/* TEMPLATE(t, &p, {lower, upper, format, node dimension, width, mapping}, ..) */
#define TEMPLATE_RECORD(name_, nodes_, ...)                                                          \
  {                                                                                                  \
    .kind = TASUKI_XMP_KIND_TEMPLATE, .struct_size = sizeof(struct tasuki_xmp_template), .fixed = 1, \
    DIMENSIONS(__VA_ARGS__), .onto = nodes_, .name = name_, .file = __FILE__, .line = __LINE__       \
  }
#define TEMPLATE(name_, nodes_, ...) \
  static struct tasuki_xmp_template name_ = TEMPLATE_RECORD(#name_, nodes_, __VA_ARGS__)

/* ARRAY(a, type, &t, 2, .extent = {..}, .with = {..}, ..) */
#define ARRAY_RECORD(name_, type, t, rank, ...)                                                             \
  {                                                                                                         \
    .kind = TASUKI_XMP_KIND_ARRAY, .struct_size = sizeof(struct tasuki_xmp_array), .dimensions = rank,      \
    .element = sizeof(type), .template_ = t, .name = name_, .file = __FILE__, .line = __LINE__, __VA_ARGS__ \
  }
#define ARRAY(name_, type, t, rank, ...) \
  static struct tasuki_xmp_array name_ = ARRAY_RECORD(#name_, type, t, rank, __VA_ARGS__)

#define HERE __FILE__, __LINE__

/* The address of an element as the compiled code finds it. */
static inline void* element_of(const struct tasuki_xmp_array* a, const long long* x) {
  long long at = 0;
  for (int d = 0; d < a->dimensions; d++)
    at += (a->nodes[d] == 1 && a->first[d] == 0
               ? x[d]
               : tasuki_xmp_cyclic_index(x[d] - a->first[d], a->width[d], a->nodes[d])) *
          a->stride[d];
  return (char*)a->origin + at * (long long)a->element;
}
#define AT(type, a, ...) (*(type*)element_of(&(a), (const long long[]){__VA_ARGS__}))

/* Loops: FOR(i, &t, dimension, begin, count, step, offset) { .. } END. `of` may be a node array. */
#define FOR_EDGES(i, of, d, begin_, count_, step_, offset, below, above, flags)               \
  {                                                                                           \
    struct tasuki_xmp_iterations l_##i;                                                       \
    tasuki_xmp_loop(&l_##i, of, d, begin_, count_, step_, offset, below, above, flags, HERE); \
    for (long long r_##i = 0; r_##i < l_##i.runs; r_##i++) {                                  \
      tasuki_xmp_run(&l_##i, r_##i);                                                          \
      long long i = l_##i.begin;                                                              \
      for (long long n_##i = l_##i.count; n_##i > 0; n_##i--, i += l_##i.step)
#define FOR(i, of, d, begin_, count_, step_, offset) \
  FOR_EDGES(i, of, d, begin_, count_, step_, offset, 0, 0, 0)
#define END \
  }         \
  }

/* A number for each element and round, and never 0. */
static inline long long value_at(long long i, long long j, int round) {
  return 1 + i * 1009 + j * 13 + round * 100003LL;
}

/* Of all nodes. */
static inline long long sum_of(long long mine) {
  long long all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

#endif
