#include "measure/common/rank.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int g_rank, g_ranks;
FILE* g_answer;

double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void answer(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(g_answer, format, args);
  va_end(args);
  fputc('\n', g_answer);
  fflush(g_answer);  // when the driver is gone, the next read of a command says so
}

void report_progress(void) {
  static double said;
  const double time = now();
  if (time < said + 5) return;
  said = time;
  answer("progress");
}

int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
double quantile(const double* sorted, int n, double q) {
  const double at = q * (n - 1);
  const int below = (int)at;
  return below + 1 < n ? sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]) : sorted[below];
}

void answer_times(double* samples, int n) {
  char results[200];
  time_fields(samples, n, results, sizeof results);
  answer("ok%s", results);
}

void time_fields(double* samples, int n, char* text, size_t bytes) {
  qsort(samples, (size_t)n, sizeof *samples, compare_doubles);
  snprintf(text, bytes, "\tmedian=%.9g\tlow=%.9g\thigh=%.9g\tminimum=%.9g", quantile(samples, n, 0.5),
           quantile(samples, n, 0.25), quantile(samples, n, 0.75), samples[0]);
}

// Bytes that the kernel says can be had without swapping; SIZE_MAX if it does not say.
size_t available_memory(void) {
  FILE* f = fopen("/proc/meminfo", "r");
  char line[256];
  size_t kib = 0, found = SIZE_MAX;
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "MemAvailable: %zu", &kib) == 1) found = kib * 1024;
  if (f != NULL) fclose(f);
  return found;
}

// The median time of `copy` in microseconds, measured in blocks for about `budget` seconds.
double time_copy(void (*copy)(char* to, const char* from), char* to, const char* from, double budget) {
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
static FILE* open_pipe(const char* folder, const char* name, const char* mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%d", folder, name, g_rank);
  FILE* f = fopen(path, mode);
  if (f == NULL) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
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

int serve(int argc, char** argv, int most_ranks, int (*obey)(char* line), void (*end)(void)) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &g_ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  if (argc != 2 || g_ranks > most_ranks) {
    if (g_rank == 0)
      fprintf(stderr, "%s: started by `tasuki bench` only: at most %d ranks, one argument\n", argv[0],
              most_ranks);
    MPI_Finalize();
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  FILE* commands = open_pipe(argv[1], "command", "r");
  g_answer = open_pipe(argv[1], "answer", "w");
  greet();
  char line[256];
  int more = 1;
  while (more && fgets(line, sizeof line, commands) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    more = obey(line);
  }
  // The end of the pipe means that the driver has gone: all ranks see it and end together.
  end();
  fclose(commands);
  fclose(g_answer);
  MPI_Finalize();
  return 0;
}
