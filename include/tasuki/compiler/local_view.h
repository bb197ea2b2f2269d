/* What tasukicc emits calls of: coarrays of file scope, remote references, directives of the local view.
 * Programs use xmp.h.
 *
 * A coarray is named by its *address in the calling image*: at the same offset in its coarray every other
 * image has the same object. So remote references need no handle, and pointers to coarrays, parameters,
 * extern declarations and xmp_comalloc's memory are all referred to in one way.
 *
 * Types are plain C, and no macro is needed to emit a call: the text is preprocessed already. Images are as
 * the user writes them. `file` and `line` are the user's, for messages; file must live as long as the
 * program.
 *
 * Records can grow: those of coarrays, node arrays and descriptors, and those of templates and distributed
 * arrays (global_view.h). The library keeps their addresses and fills them in. Each record says its size in
 * `struct_size`. New members are appended; a record without them is as one with 0 in them, and the library
 * does then what it did before. The library takes a larger record, and reads and writes the members that it
 * knows. It refuses a record that is smaller than those of the first version, or whose size no version has:
 * the job ends with a message and exit code 1. Compiled code reads members of the first version only, or
 * looks at the size first.
 *
 * All other structures are operands of calls, or parts of operands and records. They have no size: their
 * layout belongs to the version of the function's symbol (TASUKI_XMP_1). A new layout needs a new structure,
 * and a function with a new name or a new version.
 */
#ifndef TASUKI_COMPILER_LOCAL_VIEW_H
#define TASUKI_COMPILER_LOCAL_VIEW_H

#include <stddef.h>

#include "../xmp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- coarrays and node arrays of a translation unit */

/* tasukicc makes each coarray of file scope a pointer, as with dlm arrays: T a[N]:[*] becomes T
 * (*__xmp_a)[N]; with uses (*__xmp_a). One record for each definition; `extern` declarations have none. */
struct tasuki_xmp_coarray {
  size_t struct_size; /* sizeof(struct tasuki_xmp_coarray) */
  void* pointer;      /* the address of the pointer to set: T (**)[N]. NULL: only `compute` */
  /* Of the coarray in one image; records with the same pointer are one coarray, the largest counts. */
  size_t bytes;
  size_t alignment;   /* a power of two */
  const void* image;  /* what it begins with, the rest is zero. NULL: nothing */
  size_t image_bytes; /* at most `bytes` */
  /* Stores initial values that hold addresses of coarrays; called when all have memory. NULL: nothing. */
  void (*compute)(void);
  /* 0; TASUKI_XMP_DEVICE: in device memory too, which begins with the same values. One record of several is
     enough. */
  unsigned flags;
  const char* name; /* for messages: the coarray, and where its declaration is */
  const char* file;
  int line;
  void* state[2]; /* the library's; zero at first */
};

/* A node array, and the part of one that `p(1:2, *)` and the like name: a range of each dimension, from 0.
 * The first dimension varies fastest, as in the specification. */
struct tasuki_xmp_range {
  int begin; /* from 0 */
  int count; /* TASUKI_XMP_REST: to the end */
  int step;  /* TASUKI_XMP_OWN: instead of the range, the executing node's own index ("*") */
};
enum { TASUKI_XMP_REST = -1, TASUKI_XMP_OWN = 0 };
struct tasuki_xmp_nodes {
  int kind;             /* TASUKI_XMP_KIND_NODES */
  unsigned struct_size; /* sizeof(struct tasuki_xmp_nodes) */
  int dimensions;
  int size[7]; /* TASUKI_XMP_REST in the last: as many as there are */
  /* XMP_PRIMARY_NODES (plain), XMP_ENTIRE_NODES (=**), XMP_EXECUTING_NODES (=*), XMP_EQUIVALENCE_NODES */
  int origin;
  /* XMP_EQUIVALENCE_NODES: of which node array it is a part, and which part: a range for each dimension of
     `whole`. */
  const struct tasuki_xmp_nodes* whole;
  const struct tasuki_xmp_range* ranges;
  const char* name;
  const char* file;
  int line;
  void* state[2]; /* the library's; zero at first */
};

/* What xmp_desc_of(name) is for a coarray or a pointer to one; for a node array it is the address of its
   record. */
struct tasuki_xmp_descriptor {
  int kind;             /* TASUKI_XMP_KIND_COARRAY */
  unsigned struct_size; /* sizeof(struct tasuki_xmp_descriptor) */
  int dimensions;
  size_t element; /* bytes of an element */
  size_t size[7]; /* of each dimension; 0: not known (xmp_malloc gets it) */
  const char* name;
  const char* file;
  int line;
  unsigned flags; /* TASUKI_XMP_DEVICE: what xmp_malloc gives it is in device memory, too */
};
enum { TASUKI_XMP_KIND_NODES = 1, TASUKI_XMP_KIND_COARRAY = 2 };

/* Called by a constructor of each object. NULL pointers and what is known already are passed over. Records of
 * libraries that are loaded after the start are refused with a message and exit code 1 (their memory would
 * need all images at once). */
void tasuki_xmp_register(struct tasuki_xmp_coarray* const* begin, struct tasuki_xmp_coarray* const* end);
void tasuki_xmp_register_nodes(struct tasuki_xmp_nodes* const* begin, struct tasuki_xmp_nodes* const* end);
/* A node array of a function, where its declaration stands: which nodes it has follows from what executes
   then. Local. */
void tasuki_xmp_nodes_define(const struct tasuki_xmp_nodes* nodes);
/* Optional, in the same constructor: the number of the first image, 1 (default, as in the paper and
 * XcalableMP 1.2) or 0 (XcalableMP 1.4 for C). All objects of a program must agree, else a message and exit
 * code 1 at start. It holds for `a:[n]` and the sync functions. */
void tasuki_xmp_first_image(int first, const char* file);

/* Called once, before main (in a wrapped main, as with dlm arrays), when anything of the program is XMP:
 * starts MPI, allocates all registered coarrays, and sees to the end: after return from main or exit() all is
 * completed and MPI ended. 0, or the exit code that main is to return; the message is out then. */
int tasuki_xmp_main_begin(int* argc, char*** argv);

/* What the program's own MPI_Init, MPI_Init_thread and MPI_Finalize become (linked with --wrap): MPI runs
 * already before main, and ends after the last coarray. They return 0, MPI_SUCCESS. init_thread: `provided`
 * is what there is, whatever is asked for. */
int tasuki_xmp_mpi_init(void);
int tasuki_xmp_mpi_init_thread(int* provided);
int tasuki_xmp_mpi_finalize(void);

/* ---- remote references to one object */

enum {
  /* Of a transfer: it is written in `nonblock` (complete neither here nor at the target on return) or
   * `nonblock (remote)` (complete here, not at the target), ... */
  TASUKI_XMP_NONBLOCK = 1,
  TASUKI_XMP_NONBLOCK_REMOTE = 2,
  TASUKI_XMP_TEMPORARY = 4, /* ... the local source of a put is gone or changed right after the call */
  /* Of an operand (struct tasuki_xmp_section): in image `image`, else here; compare with the extents
     (-fcheck=bounds). */
  TASUKI_XMP_REMOTE = 16,
  TASUKI_XMP_CHECK = 32,
  /* The operand's memory on the device; in put and get the coarray's, and the local operand's. Addresses of
   * coarrays stay those of the host: a coarray without device memory is an error at the line. Other addresses
   * are the device's own. */
  TASUKI_XMP_DEVICE = 64,
  TASUKI_XMP_DEVICE_LOCAL = 128
};

/* Copies `bytes` bytes from here to there. `to` is the object's address in this image's coarray. An image
 * that is not there, or an address that is in no coarray: a message with file and line, and the job ends with
 * exit code 1. Without NONBLOCK flags `from` may be changed on return. */
void tasuki_xmp_put(void* to, const void* from, size_t bytes, int image, unsigned flags, const char* file,
                    int line);

/* Copies `bytes` bytes from there to here; `from` is the object's address in this image's coarray. Complete
 * on return unless TASUKI_XMP_NONBLOCK is given, so never give that where the value is used at once. Returns
 * `to`. */
void* tasuki_xmp_get(void* to, const void* from, size_t bytes, int image, unsigned flags, const char* file,
                     int line);

/* Where this image has on the device what lies at `p` of a coarray; an address of no coarray is returned as
 * it is. Without a device it is the host's. A coarray without device memory: a message, and the end of the
 * job. */
void* tasuki_xmp_device_address(const void* p);

/* The image number of `:[i0][i1]..` with the codimensions [e0][e1]..[*]: the first varies fastest. `extents`
 * has count - 1 numbers. Each cosubscript is compared with its extent, and the image with the number of
 * images; a message and the end of the job if they do not fit. Not needed for a single codimension. */
int tasuki_xmp_image(const char* name, int count, const int* extents, const int* subscripts, const char* file,
                     int line);

/* Checked builds: `index` if 0 <= index < extent, else a message and the end of the job. a[i]:[2] becomes
 * &(*__xmp_a)[tasuki_xmp_index(i, N, 0, "a", file, line)]. `dimension` counts from 0. */
ptrdiff_t tasuki_xmp_index(ptrdiff_t index, size_t extent, int dimension, const char* name, const char* file,
                           int line);

/* ---- sections */

/* One bracket, from left to right as written. A plain index [i] is {i, 1, 1, ..}. Omitted parts: lower 0,
 * stride 1, length PTRDIFF_MIN: what is left from lower to the end, in the direction of stride. */
struct tasuki_xmp_dimension {
  ptrdiff_t lower;
  ptrdiff_t length; /* 0: nothing is copied */
  ptrdiff_t stride; /* not 0; negative: downwards from lower */
  size_t extent;    /* elements: sizeof(a)/sizeof(a[0]), sizeof(a[0])/sizeof(a[0][0]), ..; 0: unknown */
  size_t bytes;     /* from one element to the next: sizeof(a[0]), sizeof(a[0][0]), .. */
};

/* An operand: `dimensions` 0 is a single object at `base`. Sections may have any number of dimensions up to
   15. */
struct tasuki_xmp_section {
  void* base;     /* address of element [0][0].. in this image: of its coarray, or of local memory */
  size_t element; /* bytes of an element that is copied: sizeof(a[0][0]) */
  const struct tasuki_xmp_dimension* dimension;
  int dimensions;
  int image;        /* with TASUKI_XMP_REMOTE */
  unsigned flags;   /* TASUKI_XMP_REMOTE, TASUKI_XMP_CHECK, TASUKI_XMP_DEVICE */
  const char* name; /* for messages */
};

/* to = from, element by element in the order of their subscripts (the last varies fastest), as if all of
 * `from` were read first. Element sizes are equal (the caller converts) and so are the numbers of elements,
 * whatever the shapes; or `from` is a single object, which goes to every element. Either, both or none may be
 * remote. Errors as above. */
void tasuki_xmp_copy(const struct tasuki_xmp_section* to, const struct tasuki_xmp_section* from,
                     unsigned flags, const char* file, int line);

/* The number of elements of a section, with its checks: for the temporaries and loops of elemental
 * expressions, which hold their operands densely, in the order above. All operands of an expression must have
 * the same number: tasuki_xmp_same ends the job with a message if not. */
size_t tasuki_xmp_elements(const struct tasuki_xmp_section* section, const char* file, int line);
void tasuki_xmp_same(size_t elements, size_t expected, const char* what, const char* file, int line);
/* Memory for a dense temporary, aligned to 64 bytes; freed in any order. Ends the job when there is none. */
void* tasuki_xmp_temporary(size_t elements, size_t element, const char* file, int line);
void tasuki_xmp_release(void* temporary);

/* ---- directives */

/* #pragma xmp wait_nonblock [(local)]: completes what the nonblock regions before it left open; `local`: here
   only. */
void tasuki_xmp_wait_nonblock(int local, const char* file, int line);

/* #pragma xmp post(p(i), tag), wait(p(i), tag), wait(p(i)), wait. `node` is an image number (see
 * tasuki_xmp_node). Each post is taken by one wait; nothing is lost, whatever the order. Posts of one node
 * with one tag are taken in their order. */
void tasuki_xmp_post(int node, int tag, const char* file, int line);
void tasuki_xmp_wait(int node, int tag, const char* file, int line);
void tasuki_xmp_wait_node(int node, const char* file, int line); /* any tag */
void tasuki_xmp_wait_any(const char* file, int line);            /* any tag of any node */

/* #pragma xmp lock(l:[n]) [acquired_lock(success)] [stat(status)] and unlock. `lock` is the address in this
 * image's coarray. Without `status` errors end the job. lock: with `acquired` does not wait, and stores 1 or
 * 0 there. Locks are fair. */
void tasuki_xmp_lock(xmp_lock_t* lock, int image, int* acquired, int* status, const char* file, int line);
void tasuki_xmp_unlock(xmp_lock_t* lock, int image, int* status, const char* file, int line);

/* Atomics on an object of a coarray: 4 or 8 bytes, naturally aligned. Atomic among all images that use these
 * calls. `operation` and operands are applied as the signed or unsigned integer of that size. The old value
 * is returned (also for define). */
enum {
  TASUKI_XMP_ATOMIC_REF,    /* nothing is changed */
  TASUKI_XMP_ATOMIC_DEFINE, /* = operand */
  TASUKI_XMP_ATOMIC_ADD,
  TASUKI_XMP_ATOMIC_AND,
  TASUKI_XMP_ATOMIC_OR,
  TASUKI_XMP_ATOMIC_XOR,
  TASUKI_XMP_ATOMIC_CAS /* = operand if it was `compare` */
};
long long tasuki_xmp_atomic(int operation, void* object, size_t bytes, int image, long long operand,
                            long long compare, const char* file, int line);

/* The image number of node (i0, i1, ..) of a node array, i from 0, in the executing set. A message and the
 * end of the job if there is no such node, or it does not execute. */
int tasuki_xmp_node(const struct tasuki_xmp_nodes* nodes, const int* index, const char* file, int line);

/* #pragma xmp coarray on p :: a, where `image` of `a` is counted in p: what names the same image in the calls
 * above. That is its number in the executing set, or one that no image has: images that do not execute the
 * task are reached, too. `name` is the coarray's. A message and the end of the job if there is no such node.
 * */
int tasuki_xmp_on_node(const struct tasuki_xmp_nodes* nodes, int image, const char* name, const char* file,
                       int line);

/* #pragma xmp image(p) before a call of a sync function of xmp.h: the same with images that are counted in p,
 * whose nodes need not all execute one task. xmp_sync_all and xmp_sync_images_all wait for all of p, and only
 * its nodes call them. */
void tasuki_xmp_sync_all_on(const struct tasuki_xmp_nodes* nodes, const char* file, int line, int* status);
void tasuki_xmp_sync_image_on(const struct tasuki_xmp_nodes* nodes, const char* file, int line, int image,
                              int* status);
void tasuki_xmp_sync_images_on(const struct tasuki_xmp_nodes* nodes, const char* file, int line, int count,
                               int* images, int* status);
void tasuki_xmp_sync_images_all_on(const struct tasuki_xmp_nodes* nodes, const char* file, int line,
                                   int* status);

/* #pragma xmp task on p(..): 1 on the nodes that execute it, which call tasuki_xmp_task_end afterwards; 0 on
 * the others. In between the members are the executing nodes: numbers of images, sync functions and
 * xmp_comalloc are theirs. Collective over the members; the others do not wait. */
int tasuki_xmp_task_begin(const struct tasuki_xmp_nodes* nodes, const struct tasuki_xmp_range* ranges,
                          const char* file, int line);
void tasuki_xmp_task_end(void);

#ifdef __cplusplus
}
#endif
#endif
