/* Cluster memory for a sequential (or threaded) program: rank 0 of an MPI job computes, the other ranks lend
 * their memory. After Midorikawa et al., "A Fast and Portable Virtual Memory System Utilizing Memory Resource
 * of a Cluster" (DLM-MPI), sections 2 and 3.
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
 * Every function may be called by any thread of rank 0 at any time between dlm_startup and dlm_shutdown,
 * except those two, which one thread calls once. Memory from malloc, the stack and ordinary arrays stays
 * local. Cluster memory is not available in a forked child (a clear message and SIGSEGV there).
 */
#ifndef TASUKI_DLM_H
#define TASUKI_DLM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the pager. Takes the program's own arguments: what stands behind the last "--" is read as settings
 * (-f memfile, --stats, --page-size 64KiB, ...; `tasuki settings` lists them) and removed from argc and argv.
 * Both pointers may be NULL. Ranks other than 0 serve their memory and end inside, with exit code 0.
 * Returns 0; on failure a message on stderr and exit code 1 on every rank. A second call does nothing. */
int dlm_startup(int* argc, char*** argv);

/* Ends the servers and MPI. All cluster memory is gone afterwards. Called by exit() if the program does not.
 * Returns 0. */
int dlm_shutdown(void);

/* Zero-filled memory of `bytes` bytes, aligned to 64 bytes or more. NULL with errno ENOMEM when the cluster
 * has no more; NULL for 0 bytes. Cost: no page travels before it is evicted for the first time. */
void* dlm_alloc(size_t bytes);
void* dlm_calloc(size_t count, size_t bytes);
void* dlm_realloc(void* old, size_t bytes); /* as realloc; contents move by pages where possible */
void* dlm_aligned_alloc(size_t alignment,
                        size_t bytes); /* alignment: a power of two, at most 1 GiB, else EINVAL */
void dlm_free(void* p);                /* NULL is allowed; a foreign pointer ends the program */

/* As dlm_alloc with a page size of its own: a multiple of 4096 up to 2 MiB, or 0 for automatic. */
void* dlm_alloc_paged(size_t bytes, size_t page_bytes);

enum dlm_advice {
  DLM_NORMAL = 0,     /* what the pager finds out by itself */
  DLM_SEQUENTIAL = 1, /* read ahead far, leave early */
  DLM_RANDOM = 2,     /* no read ahead, small pages */
  DLM_WILL_NEED = 3,  /* fetch now, as much as local memory allows */
  DLM_DONE_WITH = 4,  /* evict now; the contents stay */
  DLM_KEEP_LOCAL = 5  /* fetch and keep; DLM_NORMAL on the range undoes it */
};

/* Advice for the pages of [p, p + bytes). 0, or -1 with errno: EINVAL (not cluster memory, unknown advice),
 * ENOMEM (DLM_KEEP_LOCAL of more than half of the local memory). Never changes contents. */
int dlm_advise(void* p, size_t bytes, enum dlm_advice advice);

/* Counters since dlm_startup. Times are in seconds, summed over the faults. */
struct dlm_stats {
  uint64_t page_bytes;      /* the unit of the counters below */
  uint64_t local_bytes;     /* memory for pages on rank 0 */
  uint64_t server_bytes;    /* memory lent by the servers */
  uint64_t allocated_bytes; /* handed out now */
  uint64_t resident_bytes;  /* in local memory now */
  uint64_t faults;          /* accesses that had to wait for the pager */
  uint64_t first_touches;   /* of these: a page never written before; nothing travels */
  uint64_t rescues;         /* of these: the page was leaving and came back without travelling */
  uint64_t write_faults;    /* of these: first write to a page that the server also has */
  uint64_t swaps_in, bytes_in;
  uint64_t swaps_out, bytes_out;
  uint64_t drops;       /* evictions without transfer: the server still had the page */
  uint64_t prefetched;  /* bytes fetched before they were asked for */
  double wait_previous; /* faults waiting for the previous swap to end (for memory to become free) */
  double wait_page;     /* faults waiting for their page */
  double in_seconds;    /* receiving pages */
  double out_seconds;   /* sending pages */
  double map_seconds;   /* making pages appear and disappear */
};
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* a structure and a function of one name, as stat(2) has them */
#endif
int dlm_stats(struct dlm_stats* stats); /* 0; -1 with EINVAL before dlm_startup */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif
#endif
