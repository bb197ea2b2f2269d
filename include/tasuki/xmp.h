/* XcalableMP C: what programs with coarrays call. After the XcalableMP 1.4 specification (chapters 5 and 7, appendix A) and,
 * for sync functions, its model, Fortran 2008.
 *
 *     #include <xmp.h>
 *     int a[10]:[*];                                   // one array in each image
 *     int main(void) {
 *       if (xmp_node_num() == 1) a[0:5]:[2] = a[5:5];  // put
 *       xmp_sync_all(NULL);
 *       ...
 *     }
 *
 *     tasukicc prog.c -o prog && mpirun -n 4 ./prog
 *
 * An image is a rank of the MPI job; images are numbered from 1 as nodes are. Inside `#pragma xmp task on` they are numbered among
 * the nodes that execute the task. tasukicc starts and ends the runtime around main. Other programs, which use coarrays
 * from xmp_comalloc only, call xmp_init or xmp_init_mpi.
 *
 * Completion. Until the next sync function, post, wait, lock or unlock an image sees its own puts and gets in program order,
 * and others may see them in any order. Those calls complete all that this image has started, at the target. Puts and gets under
 * `#pragma xmp nonblock` need not even be complete at this image before that: their local operands must not be
 * changed (put) or used (get) until then.
 *
 * Functions with `int* status` store one of the constants below there. With NULL, what would be an error status ends the job
 * with a message and exit code 1. Any one thread at a time may call these functions, if MPI was started for that
 * (the runtime asks for MPI_THREAD_SERIALIZED).
 */
#ifndef TASUKI_XMP_H
#define TASUKI_XMP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  XMP_STAT_SUCCESS = 0,
  XMP_STAT_STOPPED_IMAGE = 1, /* an image that takes part, or holds the lock, has left main or called exit */
  XMP_STAT_LOCKED = 2,        /* lock: this image holds it already */
  XMP_STAT_UNLOCKED = 3,      /* unlock: nobody holds it */
  XMP_STAT_LOCKED_OTHER_IMAGE = 4, /* unlock: another image holds it */
  XMP_STAT_ERROR = 5               /* anything else: an image that is not there, no memory */
};

/* ---- who and how many; local, no communication */
int xmp_all_node_num(void);  /* among all nodes, from 1 */
int xmpc_all_node_num(void); /* the same from 0 */
int xmp_all_num_nodes(void);
int xmp_node_num(void);    /* among the executing nodes, from 1 */
int xmpc_node_num(void);   /* the same from 0 */
int xmp_this_image(void);  /* the number with which `a:[n]` names this image */
int xmpc_this_image(void); /* as xmpc_node_num, from 0 (section 7.2.6) */
int xmp_num_nodes(void);   /* executing nodes */
int xmp_num_images(void);  /* the same */
double xmp_wtime(void);    /* seconds since some time in the past */
double xmp_wtick(void);    /* its resolution in seconds */

/* ---- synchronization (section 5.7.3) */
void xmp_sync_memory(int* status); /* completes what this image has started */
void xmp_sync_all(int* status);    /* that, and waits for all executing images; collective */
/* As sync images of Fortran: the n-th call of this image that names image j meets the n-th of j that names this one. */
void xmp_sync_image(int image, int* status);
/* `count` different images of `images`. Its own number is allowed and means nothing. */
void xmp_sync_images(int count, int* images, int* status);
void xmp_sync_images_all(
    int* status); /* sync images (*): every other image must name this one, by whatever call */

/* ---- allocated coarrays; collective over the executing images, with an implied xmp_sync_all. After the 1.4 draft. */
/* `bytes` bytes in each image, the same number in all, zero, aligned to 64 bytes. What it returns serves in every place
 * where a coarray does: `T (*p)[N]:[*] = xmp_comalloc(bytes)`. Ends the job with a message when there is no memory. */
void* xmp_comalloc(size_t bytes);
void xmp_cofree(void* p); /* NULL is allowed */

/* Descriptors: what the operator xmp_desc_of(name) yields. */
typedef const void* xmp_desc_t;
/* Memory for the pointer to a coarray or distributed array that the descriptor describes, with as many sizes (size_t) as it has
 * dimensions (section 7.5.1). */
void* xmp_malloc(xmp_desc_t descriptor, ...);
void xmp_free(void* p); /* as xmp_cofree */

/* Inquiry functions (section 7.6): 0, or -1 when the descriptor or the dimension does not fit, or what is asked for is not there or no int;
 * results are set with 0 only. Local. Dimensions
 * count from 1, as in the specification: of node arrays and templates in the order of `t(i, j)`, where the first varies fastest, of
 * arrays from left to right. */
int xmp_nodes_ndims(xmp_desc_t d, int* ndims);
int xmp_nodes_index(xmp_desc_t d, int dim,
                    int* index); /* of the executing node, from 1; 0: it is not in the set */
int xmpc_nodes_index(xmp_desc_t d, int dim, int* index); /* from 0; -1: it is not in the set */
int xmp_nodes_size(xmp_desc_t d, int dim, int* size);
int xmp_nodes_attr(xmp_desc_t d, int* attr);
enum { XMP_ENTIRE_NODES = 1, XMP_EXECUTING_NODES = 2, XMP_PRIMARY_NODES = 3, XMP_EQUIVALENCE_NODES = 4 };
/* The node array of which `d` is a part, and which: subscripts from 1; st[i] 0 where it is `*`. */
int xmp_nodes_equiv(xmp_desc_t d, xmp_desc_t* dn, int lb[], int ub[], int st[]);
/* Templates. Bounds are not there before template_fix. */
int xmp_template_fixed(xmp_desc_t d, int* fixed);
int xmp_template_ndims(xmp_desc_t d, int* ndims);
int xmp_template_lbound(xmp_desc_t d, int dim, int* lbound);
int xmp_template_ubound(xmp_desc_t d, int dim, int* ubound);
enum { XMP_NOT_DISTRIBUTED = 0, XMP_BLOCK = 1, XMP_CYCLIC = 2, XMP_GBLOCK = 3 };
int xmp_dist_format(xmp_desc_t d, int dim, int* format);
int xmp_dist_blocksize(xmp_desc_t d, int dim, int* blocksize); /* of block and cyclic */
int xmp_dist_gblockmap(xmp_desc_t d, int dim, int map[]);      /* one size for each node of the dimension */
int xmp_dist_nodes(xmp_desc_t d, xmp_desc_t* dn);
int xmp_dist_axis(xmp_desc_t d, int dim, int* axis); /* which dimension of the node array */
/* Distributed arrays; the first three are for coarrays, too. */
int xmp_array_ndims(xmp_desc_t d, int* ndims);
int xmp_array_lbound(xmp_desc_t d, int dim, int* bound);
int xmp_array_ubound(xmp_desc_t d, int dim, int* bound);
int xmp_array_lshadow(xmp_desc_t d, int dim, int* lshadow); /* full shadow: what this node does not own */
int xmp_array_ushadow(xmp_desc_t d, int dim, int* ushadow);
int xmp_align_axis(xmp_desc_t d, int dim, int* axis); /* which dimension of the template */
int xmp_align_offset(xmp_desc_t d, int dim, int* offset);
int xmp_align_replicated(xmp_desc_t d, int dim, int* replicated); /* `dim` of the template */
int xmp_align_template(xmp_desc_t d, xmp_desc_t* dt);
/* For libraries that compute with this node's part of a distributed array (appendix, `Interface to Numerical Libraries`): the local array. It holds
 * in each dimension what the node owns, in its order, with the shadow below it and above it, row by row; or the whole dimension, with full
 * shadow. Element a[i][j] is
 *
 *     laddr[li * lda + lj]      after xmp_array_gtol(d, 1, i, &li) and xmp_array_gtol(d, 2, j, &lj)
 *
 * -1 also for an array without memory (before xmp_malloc, after xmp_free), and for coarrays. */
/* Index in the local array, from 0, of subscript `g_idx`, which may be in the shadow, also beyond the ends of the array (as periodic reflects
 * fill it); -1: this node has no memory for it. (In the specification the function is void, and *l_idx not specified then.) */
int xmp_array_gtol(xmp_desc_t d, int dim, int g_idx, int* l_idx);
int xmp_array_lsize(xmp_desc_t d, int dim, int* lsize); /* elements that this node owns, without shadow */
/* Element 0 of the local array, shadow included. With blocks what the array's name is without subscripts; not so with cyclic distributions
 * that begin before the array. */
int xmp_array_laddr(xmp_desc_t d, void** laddr);
/* Elements from one row of the local array to the next, of an array of two dimensions. It may be more than the row has, to spare the
 * caches. */
int xmp_array_lda(xmp_desc_t d, int* lda);
/* Numbers of images of one set in another (section 5.5): of the node array `d` (NULL: the executing set) among all images, ... */
void xmp_get_primary_image_index(int count, const int* index, int* primary, xmp_desc_t d);
/* ... and of the node array `d` in the executing set; 0 for those that are not in it. */
void xmp_get_image_index(int count, const int* index, int* current, xmp_desc_t d);

/* Transformational procedures (section 7.9). Arguments are descriptors of distributed arrays, in any distributions, with or without shadow (which
 * is not renewed); in programs of tasukicc whole sections, x[:][:], stand for xmp_desc_of(x). Collective: all nodes that have parts of the
 * arrays execute the call, with the same arguments. Arguments that do not fit end the job with a message and exit code 1. The result may be the
 * same array as an operand. `x` and `a`, `v` and `a` have elements of one type, which may be a structure. Subscripts are from 0. */
/* x[idx1[i]][idx2[i]].. = a[i] for all subscripts i of `a`. As many arrays of integers as `x` has dimensions, of the shape and alignment of `a`.
 * Which value an element gets that is named twice is not defined. */
void xmp_scatter(xmp_desc_t x, xmp_desc_t a, ...);
/* x[i] = a[idx1[i]][idx2[i]].. for all subscripts i of `x`. As many arrays of integers as `a` has dimensions, of the shape and alignment of `x`. */
void xmp_gather(xmp_desc_t x, xmp_desc_t a, ...);
/* v[0], v[1], .. = the elements of `a` in their order (the last subscript varies fastest), or those for which the array `mask` of _Bool, of the
 * shape and alignment of `a`, is true: xmp_pack(v, a) or xmp_pack(v, a, mask). `v` has one dimension and at least as many elements; the
 * others keep their values. */
void xmp_pack(xmp_desc_t v, xmp_desc_t a, xmp_desc_t mask, ...);
/* The other way round: xmp_unpack(a, v) or xmp_unpack(a, v, mask). */
void xmp_unpack(xmp_desc_t a, xmp_desc_t v, xmp_desc_t mask, ...);
/* x[j][i] = a[i][j]. opt 1: `a` need not keep its values (it does). */
void xmp_transpose(xmp_desc_t x, xmp_desc_t a, int opt);
/* x = a b: matrices of numbers, M x N, M x K, K x N. Each node needs room for 32 MiB or 16 rows and columns of the factors, whatever is more,
 * and for its elements of `x`. */
void xmp_matmul(xmp_desc_t x, xmp_desc_t a, xmp_desc_t b);
/* v1 = v2 sorted: arrays of real numbers with one dimension and equally many elements. What is no number comes last. */
void xmp_sort_up(xmp_desc_t v1, xmp_desc_t v2);
void xmp_sort_down(xmp_desc_t v1, xmp_desc_t v2);
/* For their messages: where the call is; and the end of the arguments. */
void tasuki_xmp_called_at(const char* file, int line);
#define xmp_scatter(...) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_scatter(__VA_ARGS__, (xmp_desc_t)0))
#define xmp_gather(...) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_gather(__VA_ARGS__, (xmp_desc_t)0))
#define xmp_pack(...) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_pack(__VA_ARGS__, (xmp_desc_t)0))
#define xmp_unpack(...) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_unpack(__VA_ARGS__, (xmp_desc_t)0))
#define xmp_transpose(x, a, opt) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_transpose(x, a, opt))
#define xmp_matmul(x, a, b) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_matmul(x, a, b))
#define xmp_sort_up(v1, v2) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_sort_up(v1, v2))
#define xmp_sort_down(v1, v2) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_sort_down(v1, v2))

/* 1: what directives with async(id) have begun is complete; else 0 (section 7.4). */
int xmp_test_async(int async_id);

/* ---- locks (section 5.8.4). A lock is a coarray: xmp_lock_t l:[*]; zero is unlocked. */
typedef struct {
  int32_t tasuki_ticket, tasuki_serving, tasuki_holder;
} xmp_lock_t;

/* ---- program */
void xmp_exit(int status); /* collective; ends the program as exit does */
/* For MPI programs without tasukicc's main. `comm` must hold all ranks of MPI_COMM_WORLD. */
void xmp_init_mpi(int* argc, char*** argv);
void xmp_finalize_mpi(void);
void xmp_finalize(void);
/* With mpi.h included before this header: */
#if defined(MPI_VERSION)
void xmp_init(MPI_Comm comm);
MPI_Comm xmp_get_mpi_comm(void); /* of the executing nodes; not to be freed */
#endif

#ifdef __cplusplus
}
#endif
#endif
