/** @file
 * XcalableMP C: what programs with coarrays and with the global view call. After the XcalableMP 1.4
 * specification (chapters 5 and 7, appendix A) and, for sync functions, its model, Fortran 2008.
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
 * An image is a rank of the MPI job; images are numbered from 1 as nodes are. Inside `#pragma xmp task on`
 * images are numbered among the nodes that execute the task. tasukicc starts and ends the runtime around
 * main. Other programs, which use coarrays from xmp_comalloc() only, call xmp_init() or xmp_init_mpi().
 *
 * **Completion.** Until the next sync function, post, wait, lock or unlock, an image sees its own puts and
 * gets in program order, and other images may see them in any order. Those calls complete at the target
 * everything that this image has started. Puts and gets under `#pragma xmp nonblock` need not even be
 * complete at this image before that: until then their local operands must not be changed (put) or used
 * (get).
 *
 * **Errors.** Functions with `int* status` store one of the XMP_STAT constants there. With NULL, what would
 * be an error status ends the job with a message and exit code 1. Functions without `status` that meet an
 * error end the job in the same way, unless their description says otherwise.
 *
 * **Threads.** Any thread may call these functions, one at a time, if MPI was started for that (the runtime
 * asks for MPI_THREAD_SERIALIZED).
 */
#ifndef TASUKI_XMP_H
#define TASUKI_XMP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What sync functions, lock and unlock store in `status`. */
enum {
  XMP_STAT_SUCCESS = 0,            /**< no error */
  XMP_STAT_STOPPED_IMAGE = 1,      /**< an image that takes part or holds the lock has ended */
  XMP_STAT_LOCKED = 2,             /**< lock: this image holds it already */
  XMP_STAT_UNLOCKED = 3,           /**< unlock: nobody holds it */
  XMP_STAT_LOCKED_OTHER_IMAGE = 4, /**< unlock: another image holds it */
  XMP_STAT_ERROR = 5               /**< anything else: an image that does not exist, no memory */
};

/** @name Who and how many
 * Local: none of these functions communicates or fails.
 * @{ */
int xmp_all_node_num(void);  /**< number of this node among all nodes, from 1 */
int xmpc_all_node_num(void); /**< number of this node among all nodes, from 0 */
int xmp_all_num_nodes(void); /**< number of all nodes */
int xmp_node_num(void);      /**< number of this node among the executing nodes, from 1 */
int xmpc_node_num(void);     /**< number of this node among the executing nodes, from 0 */
int xmp_this_image(void);    /**< the number with which `a:[n]` names this image */
int xmpc_this_image(void);   /**< as xmpc_node_num(), from 0 (section 7.2.6) */
int xmp_num_nodes(void);     /**< number of executing nodes */
int xmp_num_images(void);    /**< number of executing images: as xmp_num_nodes() */
double xmp_wtime(void);      /**< seconds since some time in the past */
double xmp_wtick(void);      /**< resolution of xmp_wtime() in seconds */
/** @} */

/** @name Synchronization (section 5.7.3)
 * `status` gets one of the XMP_STAT constants; with NULL an error ends the job.
 * @{ */
/** Completes at their targets all puts and gets that this image has started. Local: waits for no other
 * image's call. */
void xmp_sync_memory(int* status);

/** Does what xmp_sync_memory() does, and waits until all executing images have called it. Collective. */
void xmp_sync_all(int* status);

/** Does what xmp_sync_memory() does, and waits for one image, as `sync images` of Fortran: the n-th call of
 * this image that names image j meets the n-th call of image j that names this one. */
void xmp_sync_image(int image, int* status);

/** Does what xmp_sync_image() does with several images.
 *
 * @param count number of images
 * @param images their numbers, all different; this image's own number is allowed and means nothing
 * @param status gets an XMP_STAT constant, or NULL */
void xmp_sync_images(int count, int* images, int* status);

/** Does what xmp_sync_image() does with all images (`sync images (*)`): every other image must name this
 * one, by whatever call. */
void xmp_sync_images_all(int* status);
/** @} */

/** @name Allocated coarrays (after the 1.4 draft)
 * @{ */
/** Allocates a coarray. Collective over the executing images, with an implied xmp_sync_all().
 *
 * @param bytes bytes in each image, the same number in all images
 * @return the address of this image's part: zeros, aligned to 64 bytes. It serves in every place where a
 *        coarray does: `T (*p)[N]:[*] = xmp_comalloc(bytes)`. If there is no memory, the job ends with a
 *        message. */
void* xmp_comalloc(size_t bytes);

/** Gives an allocated coarray back. Collective over the executing images, with an implied xmp_sync_all().
 * NULL is allowed, in all images alike. */
void xmp_cofree(void* p);

/** A descriptor: what the operator xmp_desc_of(name) yields for a node array, template, distributed array or
 * coarray. */
typedef const void* xmp_desc_t;

/** Allocates the memory of a pointer to a coarray or to a distributed array (section 7.5.1). Collective,
 * with an implied xmp_sync_all() for coarrays.
 *
 * @param descriptor of the pointer; the sizes (size_t, in elements) follow, one for each dimension
 * @return what the pointer is to be set to. If there is no memory, the job ends with a message. */
void* xmp_malloc(xmp_desc_t descriptor, ...);

/** Gives back what xmp_malloc() has allocated. Collective. NULL is allowed. */
void xmp_free(void* p);
/** @} */

/** @name Inquiry functions (section 7.6)
 * Each returns 0, or -1 if the descriptor or the dimension does not fit, or if what is asked for does not
 * exist or fits into no int. Results are set with 0 only. Local.
 *
 * Dimensions `dim` count from 1, as in the specification: those of node arrays and templates in the order
 * of `t(i, j)`, where the first varies fastest; those of arrays from left to right.
 * @{ */
int xmp_nodes_ndims(xmp_desc_t d, int* ndims); /**< number of dimensions of a node array */
int xmp_nodes_index(xmp_desc_t d, int dim,
                    int* index); /**< of the executing node, from 1; 0: it is not in the set */
int xmpc_nodes_index(xmp_desc_t d, int dim,
                     int* index); /**< of the executing node, from 0; -1: it is not in the set */
int xmp_nodes_size(xmp_desc_t d, int dim, int* size); /**< number of nodes in a dimension */
int xmp_nodes_attr(xmp_desc_t d, int* attr); /**< where the nodes come from: one of the constants below */
/** What xmp_nodes_attr() gives. */
enum {
  XMP_ENTIRE_NODES = 1,     /**< all nodes: `=**` */
  XMP_EXECUTING_NODES = 2,  /**< the executing nodes: `=*` */
  XMP_PRIMARY_NODES = 3,    /**< declared without another node array */
  XMP_EQUIVALENCE_NODES = 4 /**< a part of another node array */
};
/** Says of which node array `d` is a part, and which part.
 *
 * @param d a node array with XMP_EQUIVALENCE_NODES
 * @param dn gets the other node array
 * @param lb gets the first subscript in each dimension of `dn`, from 1
 * @param ub gets the last subscript in each dimension
 * @param st gets the stride in each dimension; 0 where the part is `*`
 * @return 0 or -1 */
int xmp_nodes_equiv(xmp_desc_t d, xmp_desc_t* dn, int lb[], int ub[], int st[]);

int xmp_template_fixed(xmp_desc_t d, int* fixed); /**< 1 if the template's shape is fixed, else 0 */
int xmp_template_ndims(xmp_desc_t d, int* ndims); /**< number of dimensions of a template */
int xmp_template_lbound(xmp_desc_t d, int dim, int* lbound); /**< lower bound; -1 before template_fix */
int xmp_template_ubound(xmp_desc_t d, int dim, int* ubound); /**< upper bound; -1 before template_fix */
int xmp_dist_format(xmp_desc_t d, int dim, int* format);     /**< distribution: one of the constants below */
int xmp_dist_blocksize(xmp_desc_t d, int dim, int* blocksize); /**< block size, of block and cyclic */
int xmp_dist_gblockmap(xmp_desc_t d, int dim,
                       int map[]);                /**< of gblock: one size for each node of the dimension */
int xmp_dist_nodes(xmp_desc_t d, xmp_desc_t* dn); /**< the node array of a template */
int xmp_dist_axis(xmp_desc_t d, int dim, int* axis); /**< which dimension of the node array */
/** What xmp_dist_format() gives. */
enum {
  XMP_NOT_DISTRIBUTED = 0, /**< `*` */
  XMP_BLOCK = 1,           /**< block and block(n) */
  XMP_CYCLIC = 2,          /**< cyclic and cyclic(n) */
  XMP_GBLOCK = 3           /**< gblock(sizes) */
};

int xmp_array_ndims(xmp_desc_t d, int* ndims);           /**< number of dimensions; for coarrays, too */
int xmp_array_lbound(xmp_desc_t d, int dim, int* bound); /**< first subscript; for coarrays, too */
int xmp_array_ubound(xmp_desc_t d, int dim, int* bound); /**< last subscript; for coarrays, too */
int xmp_array_lshadow(xmp_desc_t d, int dim,
                      int* lshadow); /**< shadow below; full shadow: what this node does not own */
int xmp_array_ushadow(xmp_desc_t d, int dim,
                      int* ushadow); /**< shadow above; full shadow: what this node does not own */
int xmp_align_axis(xmp_desc_t d, int dim, int* axis);     /**< which dimension of the template */
int xmp_align_offset(xmp_desc_t d, int dim, int* offset); /**< template subscript minus array subscript */
int xmp_align_replicated(
    xmp_desc_t d, int dim,
    int* replicated); /**< 1 if the array is replicated in dimension `dim` of the template */
int xmp_align_template(xmp_desc_t d, xmp_desc_t* dt); /**< the template of an array */
/** @} */

/** @name The local part of a distributed array (appendix, `Interface to Numerical Libraries`)
 * For libraries that compute with the part of an array that this node has: the local array. In each
 * dimension it holds what the node owns, in its order, with the shadow below it and above it, row by row;
 * with full shadow it holds the whole dimension. Element a[i][j] is
 *
 *     laddr[li * lda + lj]      after xmp_array_gtol(d, 1, i, &li) and xmp_array_gtol(d, 2, j, &lj)
 *
 * Each function returns 0 or -1 as the inquiry functions do; -1 also for an array without memory (before
 * xmp_malloc(), after xmp_free()), and for coarrays. Local.
 * @{ */
/** Gives the index in the local array of a subscript of the whole array. (In the specification the function
 * is void, and does not say what *l_idx is when there is none.)
 *
 * @param d a distributed array
 * @param dim its dimension, from 1
 * @param g_idx the subscript; it may be in the shadow, also beyond the ends of the array (as periodic
 *        reflects fill it)
 * @param l_idx gets the index, from 0
 * @return 0, or -1 if this node has no memory for it */
int xmp_array_gtol(xmp_desc_t d, int dim, int g_idx, int* l_idx);

/** Gives the number of elements that this node owns in a dimension, without shadow. */
int xmp_array_lsize(xmp_desc_t d, int dim, int* lsize);

/** Gives the address of element 0 of the local array, shadow included. With blocks this is what the array's
 * name is without subscripts; it is not with cyclic distributions that begin before the array. */
int xmp_array_laddr(xmp_desc_t d, void** laddr);

/** Gives the distance in elements from one row of the local array to the next, for an array of two
 * dimensions. The distance may be larger than the length of a row, to spare the caches. */
int xmp_array_lda(xmp_desc_t d, int* lda);
/** @} */

/** @name Numbers of images in other sets (section 5.5)
 * @{ */
/** Translates numbers of images of a node array into numbers among all images. Local.
 *
 * @param count how many
 * @param index the numbers in `d`
 * @param primary gets the numbers among all images
 * @param d a node array; NULL: the executing set */
void xmp_get_primary_image_index(int count, const int* index, int* primary, xmp_desc_t d);

/** Translates numbers of images of a node array into numbers in the executing set. Local.
 *
 * @param count how many
 * @param index the numbers in `d`
 * @param current gets the numbers in the executing set; 0 for images that are not in it
 * @param d a node array */
void xmp_get_image_index(int count, const int* index, int* current, xmp_desc_t d);
/** @} */

/** @name Transformational procedures (section 7.9)
 * Arguments are descriptors of distributed arrays, in any distributions, with or without shadow (which is
 * not renewed). In programs of tasukicc whole sections, x[:][:], stand for xmp_desc_of(x). Collective: all
 * nodes that have parts of the arrays execute the call, with the same arguments. Arguments that do not fit
 * end the job with a message and exit code 1. The result may be the same array as an operand. `x` and `a`,
 * `v` and `a` have elements of one type, which may be a structure. Subscripts count from 0.
 * @{ */
/** x[idx1[i]][idx2[i]].. = a[i] for all subscripts i of `a`. Which value an element gets that is named twice
 * is not defined.
 *
 * @param x the result
 * @param a the values; as many arrays of integers follow as `x` has dimensions, of the shape and alignment
 *        of `a` */
void xmp_scatter(xmp_desc_t x, xmp_desc_t a, ...);

/** x[i] = a[idx1[i]][idx2[i]].. for all subscripts i of `x`.
 *
 * @param x the result
 * @param a the values; as many arrays of integers follow as `a` has dimensions, of the shape and alignment
 *        of `x` */
void xmp_gather(xmp_desc_t x, xmp_desc_t a, ...);

/** v[0], v[1], .. = the elements of `a` in their order (the last subscript varies fastest), or only those
 * for which the mask is true: xmp_pack(v, a) or xmp_pack(v, a, mask).
 *
 * @param v the result: one dimension and at least as many elements; the others keep their values
 * @param a the values
 * @param mask an array of _Bool of the shape and alignment of `a`; may be left out */
void xmp_pack(xmp_desc_t v, xmp_desc_t a, xmp_desc_t mask, ...);

/** The elements of `a`, or those for which the mask is true, = v[0], v[1], ..: xmp_unpack(a, v) or
 * xmp_unpack(a, v, mask).
 *
 * @param a the result
 * @param v the values: one dimension
 * @param mask an array of _Bool of the shape and alignment of `a`; may be left out */
void xmp_unpack(xmp_desc_t a, xmp_desc_t v, xmp_desc_t mask, ...);

/** x[j][i] = a[i][j].
 *
 * @param x the result
 * @param a a matrix
 * @param opt 1: `a` need not keep its values (it does) */
void xmp_transpose(xmp_desc_t x, xmp_desc_t a, int opt);

/** x = a b, for matrices of numbers. Each node needs room for 32 MiB or for 16 rows and columns of the
 * factors, whichever is more, and for its elements of `x`.
 *
 * @param x the result, M x N
 * @param a M x K
 * @param b K x N */
void xmp_matmul(xmp_desc_t x, xmp_desc_t a, xmp_desc_t b);

/** v1 = v2 in ascending order. What is no number (NaN) comes last.
 *
 * @param v1 the result: real numbers, one dimension
 * @param v2 as many elements of the same type */
void xmp_sort_up(xmp_desc_t v1, xmp_desc_t v2);

/** v1 = v2 in descending order. What is no number (NaN) comes last.
 *
 * @param v1 the result: real numbers, one dimension
 * @param v2 as many elements of the same type */
void xmp_sort_down(xmp_desc_t v1, xmp_desc_t v2);
/** @} */

/** @cond the procedures' messages say where the call is, and a null pointer ends their arguments */
void tasuki_xmp_called_at(const char* file, int line);
#define xmp_scatter(...) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_scatter(__VA_ARGS__, (xmp_desc_t)0))
#define xmp_gather(...) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_gather(__VA_ARGS__, (xmp_desc_t)0))
#define xmp_pack(...) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_pack(__VA_ARGS__, (xmp_desc_t)0))
#define xmp_unpack(...) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_unpack(__VA_ARGS__, (xmp_desc_t)0))
#define xmp_transpose(x, a, opt) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_transpose(x, a, opt))
#define xmp_matmul(x, a, b) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_matmul(x, a, b))
#define xmp_sort_up(v1, v2) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_sort_up(v1, v2))
#define xmp_sort_down(v1, v2) (tasuki_xmp_called_at(__FILE__, __LINE__), xmp_sort_down(v1, v2))
/** @endcond */

/** Says whether what directives with async(id) have begun is complete (section 7.4). Local.
 *
 * @return 1 or 0 */
int xmp_test_async(int async_id);

/** A lock (section 5.8.4). It is a coarray: `xmp_lock_t l:[*]`; zero is unlocked. The members are the
 * library's. It has 64 bytes, with room for what later versions of the library need. */
typedef struct {
  /** @cond */
  int32_t tasuki_ticket, tasuki_serving, tasuki_holder, tasuki_reserved32;
  int64_t tasuki_reserved[6];
  /** @endcond */
} xmp_lock_t;

/** @name Start and end
 * Programs that tasukicc links need none of these functions.
 * @{ */
/** Ends the program as exit(status) does. Collective. */
void xmp_exit(int status);

/** Starts MPI and the runtime. Collective over all ranks. */
void xmp_init_mpi(int* argc, char*** argv);

/** Ends the runtime, and MPI if the runtime has started it. Collective over all ranks. */
void xmp_finalize_mpi(void);

/** Ends the runtime, for programs that called xmp_init(). Collective over all ranks. */
void xmp_finalize(void);

#if defined(MPI_VERSION) || defined(DOXYGEN)
/** Starts the runtime in a program that has called MPI_Init. Include mpi.h before this header. Collective.
 *
 * @param comm MPI_COMM_WORLD or a duplicate of it */
void xmp_init(MPI_Comm comm);

/** Gives a communicator of the executing nodes, which the program must not free. Include mpi.h before this
 * header. Collective. */
MPI_Comm xmp_get_mpi_comm(void);
#endif
/** @} */

#ifdef __cplusplus
}
#endif
#endif
