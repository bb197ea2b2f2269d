/* What tasukicc emits calls of for the global view of XcalableMP C (specification 1.4, chapter 4) and
 * XcalableACC: templates, distributed arrays, loops, tasks, and the communication directives. Node arrays are
 * those of local_view.h.
 *
 * All records are in one order: dimension 0 of node arrays and templates is the one that varies fastest, the
 * *first* of `t(i, j)` and the *last* of `t[j][i]`; dimensions of arrays are as C declares them. Subscripts
 * of templates are the user's own numbers. The compiler turns both ways to write them into this.
 *
 * Records of file scope are static and are registered by a constructor; all of them exist before main. Those
 * inside functions are automatic and are defined where they stand. Types are plain C, so that no macro is
 * needed to emit them. Which structures can grow, and how, is said in local_view.h.
 *
 * Every call is collective over the nodes that execute it, unless it says "local". What the user did wrong is
 * a message with file and line, and the job ends with exit code 1. `file` lives as long as the program.
 */
#ifndef TASUKI_COMPILER_GLOBAL_VIEW_H
#define TASUKI_COMPILER_GLOBAL_VIEW_H

#include "local_view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TASUKI_XMP_KIND_TEMPLATE = 3, TASUKI_XMP_KIND_ARRAY = 4 };
enum { TASUKI_XMP_DIMENSIONS = 7 };

/* ---- templates */

enum tasuki_xmp_format {
  TASUKI_XMP_DUPLICATED, /* `*`: not distributed */
  TASUKI_XMP_BLOCK,
  TASUKI_XMP_CYCLIC,
  TASUKI_XMP_GBLOCK
};

struct tasuki_xmp_template_dimension {
  long long lower, upper; /* upper = lower - 1: empty */
  int format;
  int nodes;       /* dimension of the node array; -1: not distributed */
  long long width; /* of block and cyclic; block 0: ceiling(size / nodes) */
  const int*
      mapping; /* gblock: a size for each node of the dimension; NULL: gblock(*), comes with template_fix */
};

struct tasuki_xmp_template {
  int kind;             /* TASUKI_XMP_KIND_TEMPLATE */
  unsigned struct_size; /* sizeof(struct tasuki_xmp_template) */
  int dimensions;
  int fixed; /* 0: template t(:) or gblock(*), until tasuki_xmp_template_fix */
  struct tasuki_xmp_template_dimension dimension[TASUKI_XMP_DIMENSIONS];
  const struct tasuki_xmp_nodes* onto; /* NULL: not distributed: every node has all of it */
  const char* name;
  const char* file;
  int line;
  void* state[2]; /* the library's; zero at first */
};

/* Of file scope: in the constructor, after the node arrays. In a function: where the distribute directive
 * stands (the node array's record was defined before). Local. */
void tasuki_xmp_register_templates(struct tasuki_xmp_template* const* begin,
                                   struct tasuki_xmp_template* const* end);
void tasuki_xmp_template_define(struct tasuki_xmp_template* t, const char* file, int line);
/* #pragma xmp template_fix: what was left open, in `shape` (lower, upper, width, mapping of each dimension;
 * format as declared). Arrays that are aligned with it have no memory before xmp_malloc. */
void tasuki_xmp_template_fix(struct tasuki_xmp_template* t, const struct tasuki_xmp_template_dimension* shape,
                             const char* file, int line);

/* ---- distributed arrays */

/* Element x[0], x[1], .. of the array is on the nodes that own template elements x[d] + offset[d] of
 * dimension `with[d]`. In the dimensions of the template that no array dimension is aligned with, it is on
 * all nodes (`*`), or on the owner of one element. */
struct tasuki_xmp_array {
  int kind;             /* TASUKI_XMP_KIND_ARRAY */
  unsigned struct_size; /* sizeof(struct tasuki_xmp_array) */
  int dimensions;
  size_t element;                          /* bytes */
  long long extent[TASUKI_XMP_DIMENSIONS]; /* as declared; 0: with xmp_malloc */
  struct tasuki_xmp_template* template_;
  int with[TASUKI_XMP_DIMENSIONS]; /* -1: the dimension is not distributed */
  long long offset[TASUKI_XMP_DIMENSIONS];
  int at_one[TASUKI_XMP_DIMENSIONS]; /* by template dimension: 1: at `one` only */
  long long one[TASUKI_XMP_DIMENSIONS];
  int shadow[TASUKI_XMP_DIMENSIONS][2]; /* below and above; -1, -1: full shadow, `*` */
  unsigned flags;                       /* TASUKI_XMP_DEVICE: in device memory too */
  const char* name;
  const char* file;
  int line;
  int type; /* 1 + enum tasuki_xmp_type of the elements; 0: another type */

  /* Set by the library; the compiled code reads it.
   *
   *     address of a[i][j] = origin + (index(i) * stride[0] + index(j) * stride[1]) * element
   *
   * with index(i) = i where the dimension is not cyclic (so `origin` may lie outside of the memory), and
   * tasuki_xmp_cyclic_index(i - first[0], width[0], nodes[0]) where it is. stride of the last dimension is 1.
   * A cyclic dimension of one node or with full shadow has first 0, width 1, nodes 1: the same formula holds.
   * Cyclic dimensions have no other shadow. */
  void* origin;
  long long stride[TASUKI_XMP_DIMENSIONS]; /* elements */
  long long first[TASUKI_XMP_DIMENSIONS];  /* the array subscript that the template's lower bound has */
  long long width[TASUKI_XMP_DIMENSIONS];  /* of the cyclic distribution */
  int nodes[TASUKI_XMP_DIMENSIONS];        /* of the dimension, for the formula; 1: index(i) = i - first */
  /* Subscripts that this node owns: lower .. upper, upper < lower: none. With cyclic: the first and last of
     them. */
  long long lower[TASUKI_XMP_DIMENSIONS], upper[TASUKI_XMP_DIMENSIONS];
  void* memory; /* this node's elements, with shadow, dense; NULL: before xmp_malloc */
  long long
      allocated[TASUKI_XMP_DIMENSIONS]; /* elements in each dimension of `memory`: the same on all nodes */
  void* state[4];                       /* zero at first */
};

static inline long long tasuki_xmp_cyclic_index(long long x, long long width, int nodes) {
  return width == 1 ? x / nodes : x / (width * nodes) * width + x % width;
}

/* Of file scope: their memory is there before main. */
void tasuki_xmp_register_arrays(struct tasuki_xmp_array* const* begin, struct tasuki_xmp_array* const* end);
/* Automatic arrays: memory, zeroed; and its end, on all ways out of the block. Pointers, which get memory
 * with xmp_malloc (extent[0] 0): define as well, of file scope by the registration; release does nothing to
 * memory that xmp_malloc gave. */
void tasuki_xmp_array_define(struct tasuki_xmp_array* a, const char* file, int line);
void tasuki_xmp_array_release(struct tasuki_xmp_array* a);
/* A parameter `a` with an align directive in the function: `memory` is what the caller passed, the local
 * memory (`memory` of the record) of an array of the same shape, distribution and shadow. Local; nothing is
 * to be released. */
void tasuki_xmp_array_parameter(struct tasuki_xmp_array* a, void* memory, const char* file, int line);
/* xmp_malloc(xmp_desc_of(a), n0, n1, ..) of xmp.h works on these records too. */

/* a[x[0]]..[x[subscripts - 1]] as a pointer, with fewer subscripts than dimensions: where this node's memory
 * of that part begins, shadow included; what tasuki_xmp_array_parameter takes. Local. */
void* tasuki_xmp_row(const struct tasuki_xmp_array* a, int subscripts, const long long* x);

/* Checked builds: `x`, if this node has this element of dimension `d` (in its shadow, at least); else a
   message. Local. */
long long tasuki_xmp_owned(const struct tasuki_xmp_array* a, int d, long long x, const char* file, int line);

/* ---- on clauses */

/* One subscript, of a template or (from 0) of a node array. */
struct tasuki_xmp_triplet {
  long long begin; /* TASUKI_XMP_OPEN: from the first */
  long long count; /* TASUKI_XMP_OPEN: to the last */
  long long step;  /* 0: `*`, what the executing node has itself */
};
#define TASUKI_XMP_OPEN (-0x7fffffffffffffffLL - 1)

/* `of`: a struct tasuki_xmp_nodes or tasuki_xmp_template (told apart by `kind`). */
struct tasuki_xmp_on {
  const void* of;
  const struct tasuki_xmp_triplet* subscript; /* NULL: all of it */
};

/* #pragma xmp task on ..: as tasuki_xmp_task_begin, with tasuki_xmp_task_end afterwards. */
int tasuki_xmp_task_begin_on(const struct tasuki_xmp_on* on, const char* file, int line);
/* Without entering: `nocomm`. Local. */
int tasuki_xmp_executes(const struct tasuki_xmp_on* on, const char* file, int line);
void tasuki_xmp_barrier_on(const struct tasuki_xmp_on* on, const char* file, int line);

/* ---- XcalableACC: memory on a device. Clauses of OpenACC bring variables and distributed arrays there, or
 * TASUKI_XMP_DEVICE in an array's record: then it is there as long as the array. */

/* In the constructor: the program uses device memory for more than coarrays of file scope. Local. */
void tasuki_xmp_use_device(void);
/* barrier acc: all that OpenACC has begun on this node's device is done. Local. */
void tasuki_xmp_device_wait(void);
/* The bytes' copy on the device, if there is one, becomes what the host has (to_device 1), or the other way
   round. Local. */
void tasuki_xmp_device_update(void* data, size_t bytes, int to_device);

/* ---- loops */

/* The part of `for (i = begin, count times, step)` that this node executes, where iteration i is on t(i +
 * offset) of a template's dimension (or p(i + offset), from 0, of a node array's). The values of i come in
 * `runs` runs of equal steps; most distributions have one:
 *
 *     struct tasuki_xmp_iterations l;
 *     tasuki_xmp_loop(&l, &t, 0, lo, count, step, offset, 0, 0, file, line);
 *     for (long long r = 0; r < l.runs; r++) {
 *       tasuki_xmp_run(&l, r);
 *       for (i = l.begin, n = l.count; n > 0; n--, i += l.step) ..         the order is that of the user's loop within a run
 *
 * expand(below : above): as many more at the ends of each node's part (fewer where negative), within the
 * user's loop unless `flags` has TASUKI_XMP_UNBOUND. `part` 0: that. margin(below : above) is what is in the
 * expanded nest or in the original one, but not in both: a union of boxes. The nest of n distributed loops
 * stands inside of a loop `for (p = 0; p < 2 * n; p++)`, and its loop k (from 0) is
 *
 *     tasuki_xmp_loop(&l, .., below, above, tasuki_xmp_margin(p, k, n) | flags, file, line)
 *
 * Not for cyclic dimensions, unless both are 0. Local. */
struct tasuki_xmp_iterations {
  long long runs;
  long long begin, count, step;
  long long state[8];
};
enum {
  TASUKI_XMP_EXPANDED, /* flags: which part of the iterations; the first is the usual one */
  TASUKI_XMP_ORIGINAL,
  TASUKI_XMP_INNER, /* in both */
  TASUKI_XMP_MORE,  /* expanded, not original */
  TASUKI_XMP_LESS,  /* original, not expanded */
  TASUKI_XMP_PART = 7,
  TASUKI_XMP_UNBOUND = 8
};
void tasuki_xmp_loop(struct tasuki_xmp_iterations* l, const void* of, int dimension, long long begin,
                     long long count, long long step, long long offset, int below, int above, unsigned flags,
                     const char* file, int line);
void tasuki_xmp_run(struct tasuki_xmp_iterations* l, long long run);
/* E \ O and then O \ E, each as n disjoint boxes: the first k dimensions in both, dimension k in one only,
   the others in that one. */
static inline unsigned tasuki_xmp_margin(int part, int loop, int loops) {
  const int first = part < loops, at = first ? part : part - loops;
  return loop < at    ? TASUKI_XMP_INNER
         : loop == at ? (first ? TASUKI_XMP_MORE : TASUKI_XMP_LESS)
                      : (first ? TASUKI_XMP_EXPANDED : TASUKI_XMP_ORIGINAL);
}

/* ---- array assignments that are divided */

/* #pragma xmp array: each section of the left side is a loop over q = 0 .. count - 1. A divided one has the
 * iterations of the template's dimension that tasuki_xmp_divide finds, where q is on element begin + q *
 * step; of another (`part` NULL) each node executes all. */
struct tasuki_xmp_array_loop {
  const struct tasuki_xmp_iterations* part;
  long long begin, step, count;
};
/* What a variable's dimension is read or written at: lower + q * step of a loop, for `count` values of q
 * (TASUKI_XMP_OPEN: not known), or at `lower` alone (loop -1). */
struct tasuki_xmp_array_access {
  const struct tasuki_xmp_array* array; /* NULL: not distributed */
  int dimension, loop;
  long long lower, step, count;
  int written;
  const char* name;
};
/* The part of the range begin, begin + step, .. (count of them) that this node executes. It is an error if
 * the section, which has `elements`, is not as long, or the range is not within the template. Local. */
void tasuki_xmp_divide(struct tasuki_xmp_iterations* l, const void* of, int dimension, long long begin,
                       long long count, long long step, long long elements, const char* file, int line);
/* Has this node anything to do: is it in `on` (NULL: the loops alone say), and is there an iteration? Then
 * all that is read must be in its memory, and all that is written its own: else a message. Sections of
 * another length than the left side's are an error on all nodes. Local. */
int tasuki_xmp_array_begin(const struct tasuki_xmp_on* on, int loops,
                           const struct tasuki_xmp_array_loop* loop, int accesses,
                           const struct tasuki_xmp_array_access* access, const char* file, int line);

/* ---- communication */

enum tasuki_xmp_operation {
  TASUKI_XMP_SUM,
  TASUKI_XMP_PRODUCT,
  TASUKI_XMP_DIFFERENCE, /* `-`: as + */
  TASUKI_XMP_BIT_AND,
  TASUKI_XMP_BIT_OR,
  TASUKI_XMP_BIT_XOR,
  TASUKI_XMP_AND,
  TASUKI_XMP_OR,
  TASUKI_XMP_MAX,
  TASUKI_XMP_MIN,
  TASUKI_XMP_FIRST_MAX,
  TASUKI_XMP_FIRST_MIN,
  TASUKI_XMP_LAST_MAX,
  TASUKI_XMP_LAST_MIN
};
enum tasuki_xmp_type {
  TASUKI_XMP_BOOL,
  TASUKI_XMP_CHAR,
  TASUKI_XMP_UNSIGNED_CHAR,
  TASUKI_XMP_SHORT,
  TASUKI_XMP_UNSIGNED_SHORT,
  TASUKI_XMP_INT,
  TASUKI_XMP_UNSIGNED,
  TASUKI_XMP_LONG,
  TASUKI_XMP_UNSIGNED_LONG,
  TASUKI_XMP_LONG_LONG,
  TASUKI_XMP_UNSIGNED_LONG_LONG,
  TASUKI_XMP_FLOAT,
  TASUKI_XMP_DOUBLE,
  TASUKI_XMP_LONG_DOUBLE,
  TASUKI_XMP_COMPLEX_FLOAT,
  TASUKI_XMP_COMPLEX_DOUBLE,
  TASUKI_XMP_COMPLEX_LONG_DOUBLE
};

/* Flags of what follows: TASUKI_XMP_DEVICE (acc: the memory on the device; it is an error if it is not
   there), and: */
enum {
  TASUKI_XMP_ASYNC = 256,       /* async(id): goes on behind the call until tasuki_xmp_wait_async(id) */
  TASUKI_XMP_IN = 512,          /* gmove in: the nodes that have the left side fetch */
  TASUKI_XMP_OUT = 1024,        /* gmove out: the nodes that have the right side store */
  TASUKI_XMP_ORTHOGONAL = 2048, /* reflect, reduce_shadow: not at the corners */
  TASUKI_XMP_TRANSPOSED = 4096  /* gmove: the dimensions of the right side are paired in the reverse order */
};

/* A variable, or the local memory of a distributed array (`array`, then data is not used). */
struct tasuki_xmp_variable {
  void* data;
  size_t count; /* elements */
  size_t element;
  int type; /* of a reduction */
  const struct tasuki_xmp_array* array;
};

/* data = data of all nodes of `on` (NULL: the executing ones), reduced. FIRST_MAX and kin: `locations` come
 * from the node that has the result; of several the first or last in the order of nodes. */
void tasuki_xmp_reduction(int operation, const struct tasuki_xmp_variable* variable, int locations,
                          const struct tasuki_xmp_variable* location, const struct tasuki_xmp_on* on,
                          unsigned flags, int async, const char* file, int line);
/* Of a loop: over the nodes among which the loop's iterations were divided, so that what is replicated counts
 * once. `distributed`: the template (or node array) and the dimensions of it that loop variables subscript,
 * as bits. The variable holds this node's part, begun with the identity of the operation; the caller joins
 * the result with what the user's variable was before. `position`, of FIRST_MAX and kin: where in the order
 * of the user's loops the iteration is that set the locations, as numbers of which the first counts most, as
 * many on all nodes; none: the order of the nodes. */
void tasuki_xmp_loop_reduction(int operation, const struct tasuki_xmp_variable* variable, int locations,
                               const struct tasuki_xmp_variable* location, int positions,
                               const long long* position, const void* of, unsigned dimensions, unsigned flags,
                               const char* file, int line);

/* `from` NULL: the first node of `on`. */
void tasuki_xmp_bcast(int variables, const struct tasuki_xmp_variable* variable,
                      const struct tasuki_xmp_on* from, const struct tasuki_xmp_on* on, unsigned flags,
                      int async, const char* file, int line);

/* Shadows get the values of their owners. `width` NULL: all of the shadow. */
struct tasuki_xmp_width {
  int below, above, periodic;
};
void tasuki_xmp_reflect(const struct tasuki_xmp_array* a, const struct tasuki_xmp_width* width,
                        unsigned flags, int async, const char* file, int line);
/* XcalableACC: reflect_do is a reflect as the array's last reflect_init says it, which finds out what it
 * needs. The flags and the number of async are those of reflect_do. */
void tasuki_xmp_reflect_init(const struct tasuki_xmp_array* a, const struct tasuki_xmp_width* width,
                             unsigned flags, int async, const char* file, int line);
void tasuki_xmp_reflect_do(const struct tasuki_xmp_array* a, unsigned flags, int async, const char* file,
                           int line);
/* reduce_shadow: owners add up what the shadows of others hold. `type` (enum tasuki_xmp_type) is that of the
   elements. */
void tasuki_xmp_reduce_shadow(const struct tasuki_xmp_array* a, int type,
                              const struct tasuki_xmp_width* width, unsigned flags, int async,
                              const char* file, int line);

/* #pragma xmp gmove: to = from; a distributed array's section, or one of local memory (array NULL; of all
 * nodes alike), or a scalar (dimensions 0). Subscripts of distributed arrays are global. Equal numbers of
 * elements; dimensions of more than one element are paired in their order; a single element goes to all.
 * Element types are equal (the caller converts). */
struct tasuki_xmp_global_section {
  const struct tasuki_xmp_array* array;
  const struct tasuki_xmp_section* local; /* where array is NULL */
  int dimensions;
  const struct tasuki_xmp_triplet* subscript; /* of each dimension of `array` */
  unsigned flags; /* TASUKI_XMP_DEVICE: its memory on the device; `local` is the host's all the same */
};
/* Done on return with async, too. */
void tasuki_xmp_gmove(const struct tasuki_xmp_global_section* to,
                      const struct tasuki_xmp_global_section* from, unsigned flags, int async,
                      const char* file, int line);

/* #pragma xmp wait_async(id, ..) [on ..] */
void tasuki_xmp_wait_async(int count, const int* ids, const struct tasuki_xmp_on* on, const char* file,
                           int line);

#ifdef __cplusplus
}
#endif
#endif
