// sweep-<mpi>: what MPI does with blocks of one size at a distance: packs, unpacks, sends, broadcasts, puts.
// Told by its driver (`tasuki bench pack`, `typed`, `messages`, `bcast`, `rma`, `collectives`), one line a
// command, and answers as ddt-<mpi> does:
//
//   shape <block> <count> <stride>
//       `count` blocks of `block` bytes, `stride` bytes apart; buffers and type
//   verify <operation> <seed>
//       the operation once with fresh data, every byte checked, gaps included
//   time <operation> <warm> <n> <blocks>
//       `warm` times, then `blocks` timed blocks of n times; those of collectives end when all ranks have ended
//       them, for in some operations one rank gets far ahead of others
//   limits <us>
//       rank 0 alone: memcpy of as many bytes, by one thread and by two
//   quit
//
// Operations: pack, unpack (rank 0 alone), pingpong (ranks 0 and 1; half round trips), send and isend (rank 0
// sends kStream messages to rank 1, which answers them together; the time of one), bcast (all ranks, from
// rank 0; a barrier after each makes it the time until the last rank has all), and put, get, accumulate and
// fetch_and_op (by rank 0 on the window of rank 1, which waits in a barrier; each with a flush); and those of
// collectives.c, by all ranks.
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/common/rank.h"
#include "measure/sweep/collectives.h"

enum { kTag = 7, kMaxBlocks = 100000, kMostRanks = 1024, kStream = 64 };
// From kOperations on: kOperations + what find_collective() says.
enum operation {
  kPack,
  kUnpack,
  kPingPong,
  kSend,
  kIsend,
  kBcast,
  kPut,
  kGet,
  kAccumulate,
  kFetchAndOp,
  kOperations
};
static const char* const kNames[kOperations] = {"pack",  "unpack", "pingpong", "send",       "isend",
                                                "bcast", "put",    "get",      "accumulate", "fetch_and_op"};
static int is_one_sided(enum operation o) {
  return o >= kPut && o < kOperations;
}

static size_t g_block, g_count, g_stride, g_bytes;
static char *g_source, *g_target;  // typed buffers, kMargin bytes on either side
static char *g_dense, *g_expected;
static size_t g_span;  // of a typed buffer, without margins
static MPI_Datatype g_type;
static int g_has_type;
static char* g_places;  // typed, kStream buffers g_span and a margin apart, of rank 1; NULL: there are none
static char* g_memory;  // typed, of the window; NULL: there is none
static MPI_Win g_window;

// The window is made when an operation first needs it, of memory of the library's choice: that is where the
// libraries are fastest. Whole pages: MPICH 4.0.2 puts and gets beside the memory of odd sizes (136 bytes).
static void need_window(void) {
  if (g_memory != NULL) return;
  MPI_Win_allocate((MPI_Aint)((g_span + 2 * kMargin + 4095) / 4096 * 4096), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &g_memory, &g_window);
  memset(g_memory, kGap, g_span + 2 * kMargin);
  MPI_Win_lock_all(0, g_window);
}

static void drop_window(void) {
  if (g_memory == NULL) return;
  MPI_Win_unlock_all(g_window);
  MPI_Win_free(&g_window);
  g_memory = NULL;
}

static void drop_shape(void) {
  drop_window();
  free(g_places);
  g_places = NULL;
  drop_pieces();
  if (g_has_type) MPI_Type_free(&g_type);
  g_has_type = 0;
  free(g_source);
  free(g_target);
  free(g_dense);
  free(g_expected);
  g_source = g_target = g_dense = g_expected = NULL;
}

char* new_buffer(size_t bytes) {
  char* p = aligned_alloc(4096, (bytes + 2 * kMargin + 4095) / 4096 * 4096);
  if (p != NULL) memset(p, kGap, bytes + 2 * kMargin);
  return p;
}

// The widest basic type that fits, as an application would have.
static MPI_Datatype basic(size_t* width) {
  const struct {
    size_t width;
    MPI_Datatype type;
  } kinds[] = {{8, MPI_DOUBLE}, {4, MPI_FLOAT}, {2, MPI_SHORT}, {1, MPI_BYTE}};
  int i = 0;
  while ((g_block | g_stride) % kinds[i].width != 0) i++;
  *width = kinds[i].width;
  return kinds[i].type;
}

static void make_shape(size_t block, size_t count, size_t stride) {
  drop_shape();
  g_block = block, g_count = count, g_stride = stride, g_bytes = block * count;
  g_span = (count - 1) * stride + block;
  const size_t available = available_memory();
  if (available / 2 > 2 * g_span + 2 * g_bytes) {
    g_source = new_buffer(g_span);
    g_target = new_buffer(g_span);
    g_dense = new_buffer(g_bytes);
    g_expected = new_buffer(g_bytes);
  }
  if (g_source == NULL || g_target == NULL || g_dense == NULL || g_expected == NULL) {
    drop_shape();
    answer("error\tnot enough memory for %zu blocks of %zu bytes: choose a smaller --max-bytes", count,
           block);
    return;
  }
  size_t width = 1;
  const MPI_Datatype type = basic(&width);
  if (stride == block)
    MPI_Type_contiguous((int)(g_bytes / width), type, &g_type);
  else
    MPI_Type_vector((int)count, (int)(block / width), (int)(stride / width), type, &g_type);
  MPI_Type_commit(&g_type);
  g_has_type = 1;
  answer("ok");
}

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
// Numbers that can be added exactly, if `sums`.
static void fill_expected(uint64_t seed, int sums) {
  for (size_t i = 0; i < g_bytes; i += 8) {
    uint64_t word = mix(seed * 0x9e3779b97f4a7c15u + i);
    const double small = (double)(word % 1000);
    if (sums) memcpy(&word, &small, sizeof word);
    memcpy(g_expected + kMargin + i, &word, g_bytes - i < 8 ? g_bytes - i : 8);
  }
}
static void scatter(char* typed) {
  for (size_t i = 0; i < g_count; i++)
    memcpy(typed + kMargin + i * g_stride, g_expected + kMargin + i * g_block, g_block);
}

int is_gap(const char* p, size_t n) {
  for (size_t i = 0; i < n; i++)
    if ((unsigned char)p[i] != kGap) return 0;
  return 1;
}
// Margins, blocks and the gaps between them; 0 and a text if one is wrong.
static int check_typed(const char* typed, char* text, size_t room) {
  const char* p = typed + kMargin;
  int right = is_gap(typed, kMargin) && is_gap(p + g_span, kMargin);
  if (!right) snprintf(text, room, "a byte beside the buffer has changed");
  for (size_t i = 0; right && i < g_count; i++) {
    right = memcmp(p + i * g_stride, g_expected + kMargin + i * g_block, g_block) == 0;
    if (!right) snprintf(text, room, "block %zu of %zu (%zu bytes) is wrong", i, g_count, g_block);
    if (right && i + 1 < g_count && !is_gap(p + i * g_stride + g_block, g_stride - g_block)) {
      right = 0;
      snprintf(text, room, "the gap after block %zu of %zu has changed", i, g_count);
    }
  }
  return right;
}
static int check_dense(const char* dense, char* text, size_t room) {
  if (memcmp(dense + kMargin, g_expected + kMargin, g_bytes) == 0 && is_gap(dense, kMargin)) return 1;
  snprintf(text, room, "the packed bytes are wrong");
  return 0;
}

static char* place(int i) {
  return g_places + kMargin + (size_t)i * (g_span + kMargin);
}

static int need_places(void) {
  if (g_places == NULL) g_places = new_buffer(kStream * (g_span + kMargin));
  return g_places != NULL;
}

// Messages from rank 0 to rank 1, one after the other or all at once, and an empty one back. Both ranks meet
// in a barrier before they wait for the next command: Open MPI 4.1 may owe rank 0 the end of a send until
// rank 1 calls it again.
static void run_stream(enum operation o) {
  MPI_Request requests[kStream];
  for (int i = 0; i < kStream; i++)
    if (g_rank == 0 && o == kSend)
      MPI_Send(g_source + kMargin, 1, g_type, 1, kTag, MPI_COMM_WORLD);
    else if (g_rank == 0)
      MPI_Isend(g_source + kMargin, 1, g_type, 1, kTag, MPI_COMM_WORLD, &requests[i]);
    else if (o == kSend)
      MPI_Recv(place(i), 1, g_type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Irecv(place(i), 1, g_type, 0, kTag, MPI_COMM_WORLD, &requests[i]);
  if (o == kIsend) MPI_Waitall(kStream, requests, MPI_STATUSES_IGNORE);
  if (g_rank == 0)
    MPI_Recv(NULL, 0, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(NULL, 0, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
}

static void run_operation(enum operation o) {
  int position = 0;
  if (o >= kOperations) {
    run_collective((int)o - kOperations);
    return;
  }
  switch (o) {
    case kPack:
      MPI_Pack(g_source + kMargin, 1, g_type, g_dense + kMargin, (int)g_bytes, &position, MPI_COMM_SELF);
      break;
    case kUnpack:
      MPI_Unpack(g_dense + kMargin, (int)g_bytes, &position, g_target + kMargin, 1, g_type, MPI_COMM_SELF);
      break;
    case kPingPong:
      if (g_rank == 0) MPI_Send(g_source + kMargin, 1, g_type, 1, kTag, MPI_COMM_WORLD);
      MPI_Recv(g_target + kMargin, 1, g_type, 1 - g_rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (g_rank == 1) MPI_Send(g_target + kMargin, 1, g_type, 0, kTag, MPI_COMM_WORLD);
      break;
    case kSend:
    case kIsend:
      run_stream(o);
      break;
    case kBcast:
      MPI_Bcast((g_rank == 0 ? g_source : g_target) + kMargin, 1, g_type, 0, MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    case kPut:
      MPI_Put(g_source + kMargin, 1, g_type, 1, kMargin, 1, g_type, g_window);
      MPI_Win_flush(1, g_window);
      break;
    case kGet:
      MPI_Get(g_target + kMargin, 1, g_type, 1, kMargin, 1, g_type, g_window);
      MPI_Win_flush(1, g_window);
      break;
    case kAccumulate:
      MPI_Accumulate(g_source + kMargin, 1, g_type, 1, kMargin, 1, g_type, MPI_SUM, g_window);
      MPI_Win_flush(1, g_window);
      break;
    case kFetchAndOp:
      MPI_Fetch_and_op(g_source + kMargin, g_target + kMargin, MPI_DOUBLE, 1, kMargin, MPI_SUM, g_window);
      MPI_Win_flush(1, g_window);
      break;
    case kOperations:
      break;
  }
}

static int is_stream(enum operation o) {
  return o == kSend || o == kIsend;
}
static int is_of_two(enum operation o) {
  return o == kPingPong || is_stream(o);
}
static int takes_part(enum operation o) {
  return o == kBcast || o >= kOperations || g_rank == 0 || (is_of_two(o) && g_rank == 1);
}

static int run_and_check_stream(enum operation o, char* text, size_t room) {
  memset(g_places, kGap, kStream * (g_span + kMargin) + 2 * kMargin);
  MPI_Barrier(MPI_COMM_WORLD);
  run_operation(o);
  MPI_Barrier(MPI_COMM_WORLD);
  int right = 1;
  for (int i = 0; g_rank == 1 && right && i < kStream; i++)
    right = check_typed(place(i) - kMargin, text, room);
  return right;
}

// Rank 1's memory holds what rank 0 gets or adds to; then each rank looks at what has become of its part.
static int run_one_sided(enum operation o, char* text, size_t room) {
  need_window();
  memset(g_memory, kGap, g_span + 2 * kMargin);
  if (o == kGet) scatter(g_memory);
  for (size_t i = 0; o == kAccumulate && i < g_count; i++)
    memset(g_memory + kMargin + i * g_stride, 0, g_block);
  const double before = 1234;
  if (o == kFetchAndOp) memcpy(g_memory + kMargin, &before, sizeof before);
  MPI_Win_sync(g_window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 0) run_operation(o);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(g_window);
  if (o == kFetchAndOp) {
    double added, now_there;
    memcpy(&added, g_expected + kMargin, sizeof added);
    memcpy(&now_there, g_rank == 0 ? g_target + kMargin : g_memory + kMargin, sizeof now_there);
    snprintf(text, room, "%.17g instead of %.17g", now_there, g_rank == 0 ? before : before + added);
    return now_there == (g_rank == 0 ? before : before + added);
  }
  if ((o == kGet) != (g_rank == 0)) return 1;
  return check_typed(o == kGet ? g_target : g_memory, text, room);
}

static const char* name_of(enum operation o) {
  return o < kOperations ? kNames[o] : "collective";
}

static void verify(enum operation o, uint64_t seed) {
  char text[200] = "";
  fill_expected(seed, o == kAccumulate || o == kFetchAndOp);
  memset(g_source, kGap, g_span + 2 * kMargin);
  memset(g_target, kGap, g_span + 2 * kMargin);
  memset(g_dense, kGap, g_bytes + 2 * kMargin);
  scatter(g_source);
  if (o == kUnpack) memcpy(g_dense + kMargin, g_expected + kMargin, g_bytes);
  int right = 1;
  if (o >= kOperations) {
    right = verify_collective((int)o - kOperations, seed, text, sizeof text);
  } else if (is_one_sided(o)) {
    right = run_one_sided(o, text, sizeof text);
  } else if (is_stream(o)) {
    right = !takes_part(o) || run_and_check_stream(o, text, sizeof text);
  } else if (takes_part(o)) {
    if (o == kPingPong || o == kBcast) MPI_Barrier(MPI_COMM_WORLD);
    run_operation(o);
    const char* typed = o == kBcast && g_rank == 0 ? g_source : g_target;
    right = o == kPack ? check_dense(g_dense, text, sizeof text) : check_typed(typed, text, sizeof text);
    if (o == kPack && right) right = check_typed(g_source, text, sizeof text);
  }
  if (right)
    answer("ok");
  else
    answer("wrong\t%s, %zu x %zu bytes every %zu: rank %d: %s", name_of(o), g_count, g_block, g_stride,
           g_rank, text);
}

static void measure(enum operation o, long warm, long n, int blocks) {
  if (is_one_sided(o)) need_window();
  if (!takes_part(o)) {
    if (is_one_sided(o)) MPI_Barrier(MPI_COMM_WORLD);
    answer("ok");
    return;
  }
  double* samples = malloc((size_t)blocks * sizeof *samples);
  const double per = (double)n * (o == kPingPong ? 2 : is_stream(o) ? kStream : 1);
  for (long i = 0; i < warm; i++, repeated(i)) run_operation(o);
  const int by_all = o >= kOperations && !ends_for_all((int)o - kOperations);
  for (int b = 0; b < blocks; b++) {
    report_progress();
    if (by_all) MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    for (long i = 0; i < n; i++, repeated(i)) run_operation(o);
    if (by_all) MPI_Barrier(MPI_COMM_WORLD);
    samples[b] = (now() - start) / per * 1e6;
  }
  if (is_one_sided(o) || is_stream(o)) MPI_Barrier(MPI_COMM_WORLD);
  answer_times(samples, blocks);
  free(samples);
}

// ---- limits

static void copy_dense(char* to, const char* from) {
  memcpy(to, from, g_bytes);
  __asm__ volatile("" : : "r"(to) : "memory");
}

static struct {
  atomic_uint go, done;
  atomic_int end;
  char* to;
  const char* from;
} g_second;

static void* second_thread(void* unused) {
  (void)unused;
  for (unsigned seen = 0;;) {
    for (int polls = 0; atomic_load(&g_second.go) == seen; polls++) {
      if (atomic_load(&g_second.end)) return NULL;
      if (polls % 1024 == 1023) sched_yield();
    }
    seen++;
    memcpy(g_second.to, g_second.from, g_bytes - g_bytes / 2);
    atomic_fetch_add(&g_second.done, 1);
  }
}
static void copy_by_two(char* to, const char* from) {
  const unsigned turn = atomic_load(&g_second.done) + 1;
  g_second.to = to + g_bytes / 2;
  g_second.from = from + g_bytes / 2;
  atomic_fetch_add(&g_second.go, 1);
  memcpy(to, from, g_bytes / 2);
  for (int polls = 0; atomic_load(&g_second.done) != turn; polls++)
    if (polls % 1024 == 1023) sched_yield();  // should both threads have one core
}

static void measure_limits(double seconds) {
  if (g_rank != 0) {
    answer("ok");
    return;
  }
  char *from = g_expected + kMargin, *to = g_dense + kMargin;
  const double one = time_copy(copy_dense, to, from, seconds / 2);
  pthread_t thread;
  memset(&g_second, 0, sizeof g_second);
  if (pthread_create(&thread, NULL, second_thread, NULL) != 0) {
    answer("ok\tmemcpy=%.9g", one);
    return;
  }
  const double two = time_copy(copy_by_two, to, from, seconds / 2);
  atomic_store(&g_second.end, 1);
  pthread_join(thread, NULL);
  answer("ok\tmemcpy=%.9g\tmemcpy2=%.9g", one, two);
}

// -1: there is none, or no memory for it.
static int find_operation(const char* name) {
  const struct shape shape = {g_type, g_block, g_count, g_stride, g_span};
  for (int o = 0; o < kOperations; o++)
    if (strcmp(name, kNames[o]) == 0) return is_stream((enum operation)o) && !need_places() ? -1 : o;
  const int collective = find_collective(name);
  return collective < 0 || !need_pieces(&shape) ? -1 : kOperations + collective;
}

// Carries out one command; returns 0 after "quit".
static int obey(char* line) {
  size_t block, count, stride;
  char name[24] = "";
  unsigned seed;
  long warm, n;
  int blocks;
  double us;
  if (sscanf(line, "shape %zu %zu %zu", &block, &count, &stride) == 3 && block > 0 && count > 0 &&
      stride >= block) {
    make_shape(block, count, stride);
  } else if (g_source != NULL && sscanf(line, "verify %23s %u", name, &seed) == 2 &&
             find_operation(name) >= 0) {
    verify((enum operation)find_operation(name), seed);
  } else if (g_source != NULL && sscanf(line, "time %23s %ld %ld %d", name, &warm, &n, &blocks) == 4 &&
             find_operation(name) >= 0 && n > 0 && blocks > 0 && blocks <= kMaxBlocks) {
    measure((enum operation)find_operation(name), warm, n, blocks);
  } else if (g_source != NULL && sscanf(line, "limits %lf", &us) == 1) {
    measure_limits(us * 1e-6);
  } else if (strcmp(line, "quit") == 0) {
    return 0;
  } else {
    answer("error\tcommand not understood: %s", line);
  }
  return 1;
}

int main(int argc, char** argv) {
  return serve(argc, argv, kMostRanks, obey, drop_shape);
}
