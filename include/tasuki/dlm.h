/** @file
 * Cluster memory for a sequential (or threaded) program: rank 0 of an MPI job computes, the other ranks
 * lend their memory. After Midorikawa et al., "A Fast and Portable Virtual Memory System Utilizing Memory
 * Resource of a Cluster" (DLM-MPI), sections 2 and 3.
 *
 *     #include <dlm.h>
 *     int main(int argc, char** argv) {
 *       dlm_startup(&argc, &argv);                    // memory servers never return from here
 *       double* x = dlm_alloc(n * sizeof *x);         // NULL and ENOMEM when the cluster is full
 *       ...
 *       dlm_shutdown();
 *     }
 *
 *     mpicc prog.c $(tasukicc --dlm-cflags --dlm-libs) -o prog
 *     mpirun -n 4 ./prog args -- -f memfile
 *
 * Any thread of rank 0 may call every function at any time between dlm_startup() and dlm_shutdown(), except
 * those two, which one thread calls once. Memory from malloc, the stack and ordinary arrays stay local. A
 * forked child has a copy of cluster memory, in which it can neither allocate nor free, where all servers are
 * on its host; with servers on other hosts an access there ends it with SIGSEGV.
 */
#ifndef TASUKI_DLM_H
#define TASUKI_DLM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Starts the pager. One thread calls it once; a second call does nothing.
 *
 * Takes the program's own arguments: what stands behind the last "--" is read as settings (-f memfile,
 * --stats, --page-size 64KiB, ...; `tasuki settings` lists them) and is removed from argc and argv. Both
 * pointers may be NULL. Ranks other than 0 serve their memory and end inside this call, with exit code 0.
 *
 * @return 0. A failure ends every rank with a message on stderr and exit code 1. */
int dlm_startup(int* argc, char*** argv);

/** Ends the servers and MPI. One thread calls it once; exit() calls it if the program does not. All cluster
 * memory is gone afterwards.
 *
 * @return 0 */
int dlm_shutdown(void);

/** Allocates `bytes` bytes of cluster memory: filled with zeros, aligned to 64 bytes or more. No page
 * travels before it is evicted for the first time. Below 4096 bytes allocations share pages, and take 40 ns
 * instead of 70 us; use dlm_aligned_alloc(4096, bytes) for what is to be protected or kept local by itself.
 * Any thread may call it.
 *
 * @return the address; NULL for 0 bytes; NULL with errno ENOMEM if the cluster has no room, and before
 *        dlm_startup() and after dlm_shutdown() */
void* dlm_alloc(size_t bytes);

/** Allocates an array of `count` elements of `bytes` bytes each, as dlm_alloc() does.
 *
 * @return as dlm_alloc(); NULL with errno ENOMEM also if the product is too large */
void* dlm_calloc(size_t count, size_t bytes);

/** Changes the size of an allocation, as realloc does. Contents are moved by pages where that is possible.
 *
 * @param old what another function of this header has returned, or NULL; another pointer ends the program
 *        with a message
 * @param bytes the new size; bytes beyond the old size have no defined values; 0 gives the allocation back
 * @return the address of the allocation with its new size; NULL for 0 bytes; NULL with errno ENOMEM if the
 *        cluster has no room, and then `old` is still allocated */
void* dlm_realloc(void* old, size_t bytes);

/** Allocates as dlm_alloc() does, at a multiple of `alignment` bytes.
 *
 * @param alignment a power of two, at most 1 GiB
 * @param bytes the size
 * @return as dlm_alloc(); NULL with errno EINVAL if the alignment is not permitted */
void* dlm_aligned_alloc(size_t alignment, size_t bytes);

/** Gives an allocation back. NULL is allowed. A pointer that is no allocation of cluster memory ends the
 * program with a message. After dlm_shutdown() the call does nothing. Any thread may call it. */
void dlm_free(void* p);

/** Allocates as dlm_alloc() does, with a page size of its own: what travels at once.
 *
 * @param bytes the size
 * @param page_bytes a multiple of 4096 up to 2 MiB, or 0: Tasuki chooses it while the program runs
 * @return as dlm_alloc(); NULL with errno EINVAL if the page size is not permitted */
void* dlm_alloc_paged(size_t bytes, size_t page_bytes);

/** What a program knows of its accesses. */
enum dlm_advice {
  DLM_NORMAL = 0,     /**< what the pager finds out by itself */
  DLM_SEQUENTIAL = 1, /**< read ahead far, leave early */
  DLM_RANDOM = 2,     /**< no read ahead, small pages */
  DLM_WILL_NEED = 3,  /**< fetch now, as much as local memory allows */
  DLM_DONE_WITH = 4,  /**< evict now; the contents stay */
  DLM_KEEP_LOCAL = 5  /**< fetch and keep; DLM_NORMAL on the range undoes it */
};

/** Gives advice for the pages of [p, p + bytes). Never changes contents. Any thread may call it. What shares
 * its pages with others (dlm_alloc() below 4096 bytes) gives advice for these, too: there DLM_SEQUENTIAL and
 * DLM_RANDOM do nothing, and DLM_KEEP_LOCAL outlives dlm_free(), so undo it before.
 *
 * @return 0, or -1 with errno: EINVAL (not cluster memory, unknown advice), ENOMEM (DLM_KEEP_LOCAL of more
 *        than half of the local memory) */
int dlm_advise(void* p, size_t bytes, enum dlm_advice advice);

/** [p, p + bytes) reads as zeros from now on, and what was there takes no memory any more. Nothing travels
 * for it. Any thread may call it; others must not use the range meanwhile.
 *
 * @return 0, or -1 with errno: EINVAL (not a range of one allocation in cluster memory) */
int dlm_discard(void* p, size_t bytes);

/** What the program may do with the pages of [p, p + bytes) from now on, as mprotect() says it; of a call of
 * mprotect() itself the pager hears only under `tasuki mem`. The contents stay, and leave local memory and
 * come back as others do. Any thread may call it.
 *
 * @param p the beginning of a page of 4096 bytes
 * @param bytes how many; what is not a whole page at the end counts as one
 * @param protection PROT_NONE, or a union of PROT_READ, PROT_WRITE and PROT_EXEC (sys/mman.h)
 * @return 0, or -1 with errno: EINVAL (not a range of one allocation in cluster memory, unknown
 *         protection), or that of mprotect() */
int dlm_protect(void* p, size_t bytes, int protection);

/** Counters since dlm_startup(), for dlm_stats(). Times are in seconds, summed over the faults. */
struct dlm_counters {
  uint64_t page_bytes;      /**< the unit of the counters below */
  uint64_t local_bytes;     /**< memory for pages on rank 0 */
  uint64_t server_bytes;    /**< memory lent by the servers */
  uint64_t allocated_bytes; /**< handed out now */
  uint64_t resident_bytes;  /**< in local memory now */
  uint64_t faults;          /**< accesses that had to wait for the pager */
  uint64_t first_touches;   /**< of these: a page never written before; nothing travels */
  uint64_t rescues;         /**< of these: the page was leaving and came back without travelling */
  uint64_t write_faults;    /**< of these: first write to a page that the server also has */
  uint64_t swaps_in;        /**< pages that came from servers */
  uint64_t bytes_in;        /**< and their bytes */
  uint64_t swaps_out;       /**< pages that went to servers */
  uint64_t bytes_out;       /**< and their bytes */
  uint64_t drops;           /**< evictions without transfer: the server still had the page */
  uint64_t prefetched;      /**< bytes fetched before they were asked for */
  double wait_previous;     /**< faults waiting for the previous swap to end (for memory to become free) */
  double wait_page;         /**< faults waiting for their page */
  double in_seconds;        /**< receiving pages */
  double out_seconds;       /**< sending pages */
  double map_seconds;       /**< making pages appear and disappear */
  uint64_t beside_bytes;    /**< the most of the program's memory that was seen local beside that */
};
/** Reads the counters. Any thread may call it.
 *
 * @param counters where they go
 * @param bytes sizeof *counters. Later versions of this header append counters: a program gets those that its
 *        own header has, and 0 for those that the library does not have
 * @return 0; -1 with errno EINVAL before dlm_startup(), or for a NULL pointer */
int dlm_stats(struct dlm_counters* counters, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
