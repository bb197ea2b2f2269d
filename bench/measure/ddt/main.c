// ddt-<mpi>: the benchmark's program, two ranks under a launcher. It does what the driver (`tasuki bench
// ddt`) tells it through named pipes, one line a command:
//
//   list                                     the rows
//   open <index>                             make a row ready
//   verify <seed>                            one round trip of fresh data, every byte of the arenas checked
//   time <seed> <touch> <warm> <n> <blocks>  fresh data, `warm` round trips, then `blocks` timed blocks of n
//   round
//                                            trips; what is checked then: all that was received, and around
//                                            it
//   limits <us>                              rank 0 alone: memcpy and the hand-written loops, for about that
//   long close, quit
//
// Both ranks get each command and answer with one line (`list`: several): "ok" with tab-separated key=value
// pairs, "wrong" with the text of a failed verification, or "error" with a text. Between commands both ranks
// are blocked in read(2): a job that is not measured takes no time from the one that is.
//
// Usage: mpirun -n 2 ddt-<mpi> DIR, where DIR holds the pipes command.0, command.1, answer.0 and answer.1.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "verify.h"

enum { kTag = 7, kMaxBlocks = 100000 };

static int g_rank;
static FILE* g_answer;
static struct instance g_row;
static char* g_other_arena;  // rank 0: the destination of the hand-written loops, made when first needed
static struct fill g_fill;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((format(printf, 1, 2))) static void answer(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(g_answer, format, args);
  va_end(args);
  fputc('\n', g_answer);
  fflush(g_answer);  // when the driver is gone, the next read of a command says so
}

static void send_message(void) {
  MPI_Send(g_row.send.buffer, g_row.send.count, g_row.send.type, 1 - g_rank, kTag, MPI_COMM_WORLD);
}
static void receive_message(void) {
  MPI_Recv(g_row.receive.buffer, g_row.receive.count, g_row.receive.type, 1 - g_rank, kTag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
}

// What an application does to a halo between two exchanges, as far as the caches are concerned: it has
// written the lines that it sends and reads the lines that it received. Values stay as they are.
static void write_sent_lines(void) {
  for (size_t i = 0; i < g_row.from_line_count; i++) {
    volatile uint32_t* word = (volatile uint32_t*)(g_row.arena + g_row.from_lines[i]);
    *word = *word;
  }
}
static void read_received_lines(void) {
  for (size_t i = 0; i < g_row.to_line_count; i++)
    (void)*(volatile uint32_t*)(g_row.arena + g_row.to_lines[i]);
}

static void round_trips(long n, int touch) {
  for (long i = 0; i < n; i++) {
    if (g_rank == 0) {
      if (touch) write_sent_lines();
      send_message();
      receive_message();
      if (touch) read_received_lines();
    } else {
      receive_message();
      if (touch) read_received_lines();
      if (touch) write_sent_lines();
      send_message();
    }
  }
}

static int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
static double quantile(const double* sorted, int n, double q) {
  const double at = q * (n - 1);
  const int below = (int)at;
  return below + 1 < n ? sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]) : sorted[below];
}

// ---- commands

static void list_rows(void) {
  for (int i = 0; i < kRowCount + kContiguousRowCount; i++) {
    const struct row* r = i < kRowCount ? &kRows[i] : &kContiguousRows[i - kRowCount];
    size_t message = 0, arena = 0;
    row_size(r, &message, &arena);
    fprintf(g_answer, "row\tindex=%d\tpattern=%s\tbytes=%zu\tarena=%zu\tcontiguous=%d\tdescription=%s\n", i,
            r->pattern->name, message, arena, i >= kRowCount, r->pattern->description);
  }
  answer("ok");
}

// Bytes that the kernel says can be had without swapping; SIZE_MAX if it does not say.
static size_t available_memory(void) {
  FILE* f = fopen("/proc/meminfo", "r");
  char line[256];
  size_t kib = 0, found = SIZE_MAX;
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "MemAvailable: %zu", &kib) == 1) found = kib * 1024;
  if (f != NULL) fclose(f);
  return found;
}

static void close_row(void) {
  free(g_other_arena);
  g_other_arena = NULL;
  if (g_row.pattern != NULL) instance_close(&g_row);
}

static void open_row(int index) {
  close_row();
  if (index < 0 || index >= kRowCount + kContiguousRowCount) {
    answer("error\tno row %d", index);
    return;
  }
  const struct row* r = index < kRowCount ? &kRows[index] : &kContiguousRows[index - kRowCount];
  size_t message = 0, arena = 0;
  row_size(r, &message, &arena);
  const size_t available = available_memory();
  // Two ranks, and rank 0's second arena for the hand-written loops.
  if (available / 3 < arena || instance_open(&g_row, r) != 0) {
    answer(
        "error\tnot enough memory for %s with %zu bytes: 3 times %zu MiB are needed, %zu MiB are available; "
        "leave the row out with --pattern",
        r->pattern->name, message, arena >> 20, available >> 20);
    return;
  }
  g_fill = (struct fill){0xb45e0000u + (uint32_t)index, 1};
  fill_arena(&g_row, g_row.arena, g_rank, g_fill, 1);
  answer("ok");
}

static void answer_check(int whole, const char* results) {
  char text[300];
  if (check_arena(&g_row, g_row.arena, g_rank, g_fill, whole, text, sizeof text))
    answer("ok%s", results);
  else
    answer("wrong\t%s", text);
}

static void verify_row(uint32_t seed) {
  g_fill.seed = seed;
  fill_arena(&g_row, g_row.arena, g_rank, g_fill, 0);
  MPI_Barrier(MPI_COMM_WORLD);  // no message before both arenas are fresh
  if (g_rank == 0) {
    send_message();
    poison_receive(&g_row, g_row.arena);
    receive_message();
  } else {
    receive_message();
    send_message();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  answer_check(1, "");
}

static void time_row(uint32_t seed, int touch, long warm, long n, int blocks) {
  double* samples = checked_malloc((size_t)blocks * sizeof *samples);
  g_fill.seed = seed;
  fill_arena(&g_row, g_row.arena, g_rank, g_fill, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  round_trips(warm, touch);
  for (int b = 0; b < blocks; b++) {
    const double start = now();
    round_trips(n, touch);
    samples[b] = (now() - start) / (2.0 * (double)n) * 1e6;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  qsort(samples, (size_t)blocks, sizeof *samples, compare_doubles);
  char results[200];
  snprintf(results, sizeof results, "\tmedian=%.9g\tlow=%.9g\thigh=%.9g\tminimum=%.9g",
           quantile(samples, blocks, 0.5), quantile(samples, blocks, 0.25), quantile(samples, blocks, 0.75),
           samples[0]);
  free(samples);
  answer_check(0, results);
}

// The median time of `copy` in microseconds, measured in blocks for about `budget` seconds.
static double time_copy(void (*copy)(char* to, const char* from), char* to, const char* from, double budget) {
  double start = now();
  copy(to, from);
  copy(to, from);
  const double once = (now() - start) / 2;
  const long n = once < 1e-4 ? (long)(1e-4 / (once + 1e-9)) + 1 : 1;
  enum { kMost = 200 };
  double samples[kMost];
  int blocks = 0;
  const double end = now() + budget;
  do {
    start = now();
    for (long i = 0; i < n; i++) copy(to, from);
    samples[blocks++] = (now() - start) / (double)n * 1e6;
  } while (blocks < kMost && (now() < end || blocks < 3));
  qsort(samples, (size_t)blocks, sizeof samples[0], compare_doubles);
  return quantile(samples, blocks, 0.5);
}
static void copy_direct(char* to, const char* from) {
  g_row.pattern->direct(&g_row, to, from);
}
static void copy_dense(char* to, const char* from) {
  memcpy(to, from, g_row.elements * g_row.pattern->element);
  __asm__ volatile("" : : "r"(to) : "memory");  // the copy is wanted though nobody reads it
}

static void measure_limits(double seconds) {
  if (g_rank != 0) {
    answer("ok");
    return;
  }
  if (g_other_arena == NULL) g_other_arena = new_arena(&g_row);
  const size_t bytes = g_row.elements * g_row.pattern->element;
  char* from = aligned_alloc(64, (bytes + 63) / 64 * 64);
  char* to = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (g_other_arena == NULL || from == NULL || to == NULL) {
    answer("error\tnot enough memory to measure the limits of %s", g_row.pattern->name);
  } else {
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    const double memcpy_us = time_copy(copy_dense, to, from, seconds / 2);
    fill_arena(&g_row, g_row.arena, 0, g_fill, 0);
    fill_arena(&g_row, g_other_arena, 1, g_fill, 0);
    const double direct_us = time_copy(copy_direct, g_other_arena, g_row.arena, seconds / 2);
    char text[300];
    if (check_arena(&g_row, g_other_arena, 1, g_fill, 0, text, sizeof text))
      answer("ok\tmemcpy=%.9g\tdirect=%.9g", memcpy_us, direct_us);
    else
      answer("wrong\thand-written loops: %s", text);
  }
  free(from);
  free(to);
}

// Carries out one command; returns 0 after "quit".
static int obey(char* line) {
  unsigned seed;
  int touch, blocks, index;
  long warm, n;
  double us;
  line[strcspn(line, "\n")] = '\0';
  const int is_open = g_row.pattern != NULL;
  if (strcmp(line, "list") == 0) {
    list_rows();
  } else if (sscanf(line, "open %d", &index) == 1) {
    open_row(index);
  } else if (is_open && sscanf(line, "verify %u", &seed) == 1) {
    verify_row(seed);
  } else if (is_open && sscanf(line, "time %u %d %ld %ld %d", &seed, &touch, &warm, &n, &blocks) == 5 &&
             n > 0 && blocks > 0 && blocks <= kMaxBlocks) {
    time_row(seed, touch, warm, n, blocks);
  } else if (is_open && sscanf(line, "limits %lf", &us) == 1) {
    measure_limits(us * 1e-6);
  } else if (strcmp(line, "close") == 0) {
    close_row();
    answer("ok");
  } else if (strcmp(line, "quit") == 0) {
    return 0;
  } else {
    answer("error\tcommand not understood: %s", line);
  }
  return 1;
}

static FILE* open_pipe(const char* folder, const char* name, const char* mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%d", folder, name, g_rank);
  FILE* f = fopen(path, mode);
  if (f == NULL) {
    fprintf(stderr, "ddt: %s: %s\n", path, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  fcntl(fileno(f), F_SETFD, FD_CLOEXEC);
  return f;
}

static void greet(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING], cores[256] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  for (char* c = version; *c != '\0'; c++)
    if (*c == '\t' || *c == '\n') *c = *c == '\t' ? ' ' : ';';
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  size_t used = 0;
  for (int core = 0; core < CPU_SETSIZE && used + 8 < sizeof cores; core++)
    if (CPU_ISSET(core, &set))
      used += (size_t)snprintf(cores + used, sizeof cores - used, used ? ",%d" : "%d", core);
  answer("ok\tpid=%d\tcores=%s\tcompiler=%s %s\tmpi=%s", (int)getpid(), cores,
#ifdef __clang__
         "clang", __clang_version__,
#else
         "gcc", __VERSION__,
#endif
         version);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  if (argc != 2 || size != 2) {
    if (g_rank == 0) fprintf(stderr, "ddt: started by `tasuki bench ddt` only: two ranks, one argument\n");
    MPI_Finalize();
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  FILE* commands = open_pipe(argv[1], "command", "r");
  g_answer = open_pipe(argv[1], "answer", "w");
  greet();
  char line[256];
  int more = 1;
  while (more && fgets(line, sizeof line, commands) != NULL) more = obey(line);
  // The end of the pipe means that the driver has gone: both ranks see it and end together.
  close_row();
  fclose(commands);
  fclose(g_answer);
  MPI_Finalize();
  return 0;
}
