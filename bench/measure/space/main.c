// space-<mpi>: what the kernel does for ranks that all ask at the same time: page faults, mappings, threads,
// programs. Told by its driver (`tasuki bench space`), one line a command, and answers as ddt-<mpi> does:
//
//   meet                               first: the ranks meet; shared=1: they find each other's memory
//   try <operation> <bytes>            once on each rank; refused=<why>: the kernel does not permit it
//   time <operation> <bytes> <warm> <n> <blocks>
//                                      `warm` times, then `blocks` timed blocks of n times, each checked;
//                                      rank 0 answers with the times of a block's mean over the ranks, and
//                                      with the median of the slowest rank's
//   quit
//
// `space-<mpi> start` instead is a job that only starts and ends; its ranks say which ones they are.
//
// In a measurement the ranks wait for each other in the kernel, not in MPI, whose waiting would take the
// cores from ranks that still work where there are fewer cores than ranks.
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/common/rank.h"
#include "measure/space/operations.h"

enum { kMaxBlocks = 20000, kMostRanks = 1024, kRoom = 160 };

// In memory that all ranks share, which is zeros at first.
struct meeting {
  pthread_barrier_t all;
  struct {
    atomic_ulong sum, most;  // nanoseconds of the ranks
  } blocks[kMaxBlocks];
};
static struct meeting* g_meeting;  // NULL: there is no window
static MPI_Win g_window;

static void meet(void) {
  MPI_Aint size;
  int unit;
  if (g_meeting == NULL) {
    MPI_Win_allocate_shared(g_rank == 0 ? sizeof *g_meeting : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &g_meeting,
                            &g_window);
    MPI_Win_shared_query(g_window, 0, &size, &unit, &g_meeting);
    if (g_rank == 0) {
      pthread_barrierattr_t attributes;
      memset(g_meeting, 0, sizeof *g_meeting);
      pthread_barrierattr_init(&attributes);
      pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
      pthread_barrier_init(&g_meeting->all, &attributes, (unsigned)g_ranks);
    }
    meet_neighbours();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  answer("ok\tshared=%d", shares_with_neighbour());
}

static void part(void) {
  if (g_meeting == NULL) return;
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 0) pthread_barrier_destroy(&g_meeting->all);
  MPI_Win_free(&g_window);
}

static void try_once(int operation, size_t bytes) {
  char text[kRoom] = "";
  double seconds = 0;
  pthread_barrier_wait(&g_meeting->all);
  switch (run_operation(operation, bytes, &seconds, text, sizeof text)) {
    case kDone:
      answer("ok");
      break;
    case kRefused:
      answer("ok\trefused=%s", text);
      break;
    case kWrong:
      answer("wrong\trank %d: %s", g_rank, text);
      break;
  }
}

static void add_time(int block, double seconds) {
  const unsigned long ns = (unsigned long)(seconds * 1e9 + 0.5);
  atomic_fetch_add(&g_meeting->blocks[block].sum, ns);
  unsigned long most = atomic_load(&g_meeting->blocks[block].most);
  while (most < ns && !atomic_compare_exchange_weak(&g_meeting->blocks[block].most, &most, ns)) continue;
}

static void answer_all_times(int blocks) {
  char means[200], slowest[200];
  double* samples = malloc((size_t)blocks * sizeof *samples);
  if (samples == NULL) {
    answer("error\tno memory for %d samples", blocks);
    return;
  }
  for (int b = 0; b < blocks; b++) samples[b] = (double)g_meeting->blocks[b].most / 1e3;
  time_fields(samples, blocks, slowest, sizeof slowest);
  const double median = quantile(samples, blocks, 0.5);
  for (int b = 0; b < blocks; b++) samples[b] = (double)g_meeting->blocks[b].sum / 1e3 / g_ranks;
  time_fields(samples, blocks, means, sizeof means);
  answer("ok%s\tslowest=%.9g", means, median);
  free(samples);
}

static void measure(int operation, size_t bytes, long warm, long n, int blocks) {
  char text[kRoom] = "";
  double seconds = 0;
  enum outcome outcome = kDone;
  if (g_rank == 0) memset(g_meeting->blocks, 0, (size_t)blocks * sizeof g_meeting->blocks[0]);
  pthread_barrier_wait(&g_meeting->all);
  for (long i = 0; i < warm && outcome == kDone; i++)
    outcome = run_operation(operation, bytes, &seconds, text, sizeof text);
  for (int b = 0; b < blocks; b++) {
    report_progress();
    pthread_barrier_wait(&g_meeting->all);  // also of a rank that has failed: the others wait for it
    seconds = 0;
    for (long i = 0; i < n && outcome == kDone; i++)
      outcome = run_operation(operation, bytes, &seconds, text, sizeof text);
    add_time(b, seconds / (double)n);
  }
  pthread_barrier_wait(&g_meeting->all);
  if (outcome != kDone)
    answer("wrong\trank %d: %s", g_rank, text);
  else if (g_rank == 0)
    answer_all_times(blocks);
  else
    answer("ok");
}

// Carries out one command; returns 0 after "quit".
static int obey(char* line) {
  char name[24] = "";
  size_t bytes;
  long warm, n;
  int blocks;
  if (strcmp(line, "meet") == 0) {
    meet();
  } else if (g_meeting != NULL && sscanf(line, "try %23s %zu", name, &bytes) == 2 &&
             find_operation(name) >= 0) {
    try_once(find_operation(name), bytes);
  } else if (g_meeting != NULL &&
             sscanf(line, "time %23s %zu %ld %ld %d", name, &bytes, &warm, &n, &blocks) == 5 &&
             find_operation(name) >= 0 && n > 0 && blocks > 0 && blocks <= kMaxBlocks) {
    measure(find_operation(name), bytes, warm, n, blocks);
  } else if (strcmp(line, "quit") == 0) {
    return 0;
  } else {
    answer("error\tcommand not understood: %s", line);
  }
  return 1;
}

static int start_and_end(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  printf("rank %d of %d\n", g_rank, g_ranks);
  MPI_Finalize();
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "start") == 0) return start_and_end(argc, argv);
  return serve(argc, argv, kMostRanks, obey, part);
}
