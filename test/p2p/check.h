// What the point-to-point tests share. Each test is one small program for one promise: it ends with 0, or
// prints one line that says what failed first and ends the job with 1. A rank that hangs is asked by SIGALRM
// where it is.
#ifndef TASUKI_TEST_CHECK_H
#define TASUKI_TEST_CHECK_H

#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, ranks;
static const char* volatile step_name = "start";
static volatile int step_line;

#define STEP(name) (step_name = (name), step_line = __LINE__)

#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) fail_at(__FILE__, __LINE__, #condition, 0, 0, 0); \
  } while (0)

#define CHECK_EQ(actual, expected)                                                  \
  do {                                                                              \
    long long a_ = (long long)(actual), e_ = (long long)(expected);                 \
    if (a_ != e_) fail_at(__FILE__, __LINE__, #actual " == " #expected, 1, a_, e_); \
  } while (0)

__attribute__((unused, noreturn)) static void fail_at(const char* file, int line, const char* what,
                                                      int values, long long actual, long long expected) {
  const char* name = strrchr(file, '/');
  char text[512];
  int n = snprintf(text, sizeof text, "FAIL rank %d %s:%d (%s): %s", rank, name ? name + 1 : file, line,
                   step_name, what);
  if (values) n += snprintf(text + n, sizeof text - (size_t)n, ": %lld, expected %lld", actual, expected);
  fprintf(stderr, "%s\n", text);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

static void on_alarm(int number) {
  (void)number;
  char text[256];
  int n =
      snprintf(text, sizeof text, "HUNG rank %d in step '%s' (from line %d)\n", rank, step_name, step_line);
  if (write(2, text, (size_t)n) < 0) _exit(1);
  _exit(1);
}

// The rest of the program makes no sense here, for this reason.
__attribute__((unused, noreturn, format(printf, 1, 2))) static void skip(const char* reason, ...) {
  va_list values;
  va_start(values, reason);
  if (rank == 0) {
    printf("SKIP: ");
    vprintf(reason, values);
    printf("\n");
  }
  va_end(values);
  MPI_Finalize();
  exit(77);
}

__attribute__((unused)) static void begin_threads(int* argc, char*** argv, int level) {
  int provided;
  signal(SIGALRM, on_alarm);
  MPI_Init_thread(argc, argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (provided < level) skip("this MPI library provides thread level %d, not %d", provided, level);
}

__attribute__((unused)) static void begin(int* argc, char*** argv) {
  begin_threads(argc, argv, MPI_THREAD_SINGLE);
}

__attribute__((unused)) static int end(void) {
  STEP("finalize");
  MPI_Barrier(MPI_COMM_WORLD);
  int me = rank;
  MPI_Finalize();
  if (me == 0) printf("passed\n");
  return 0;
}

// Bytes that depend on the message and the place, so that a swapped, shifted or stale byte shows.
__attribute__((unused)) static unsigned char byte_of(unsigned seed, size_t i) {
  unsigned x = seed * 2654435761u + (unsigned)i * 2246822519u + (unsigned)(i >> 32);
  x ^= x >> 15;
  x *= 2654435761u;
  return (unsigned char)(x >> 24);
}

__attribute__((unused)) static void fill(void* buffer, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) ((unsigned char*)buffer)[i] = byte_of(seed, i);
}

// The first wrong byte, or -1.
__attribute__((unused)) static long long first_wrong(const void* buffer, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++)
    if (((const unsigned char*)buffer)[i] != byte_of(seed, i)) return (long long)i;
  return -1;
}

// The first byte that is not `value`, or -1: for gaps that nobody may touch.
__attribute__((unused)) static long long first_not(const void* buffer, size_t bytes, int value) {
  for (size_t i = 0; i < bytes; i++)
    if (((const unsigned char*)buffer)[i] != (unsigned char)value) return (long long)i;
  return -1;
}

__attribute__((unused)) static void* allocate(size_t bytes) {
  void* p = malloc(bytes ? bytes : 1);
  CHECK(p != NULL);
  return p;
}

// One clock for all ranks of the node: MPI_Wtime may start anew in each process.
__attribute__((unused)) static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The harness says so; for the few places where a library by itself does not keep the standard's promise.
__attribute__((unused)) static int under_tasuki(void) {
  return getenv("TASUKI_STATS") != NULL;
}

// A status that no library writes by itself: shows which fields were set.
__attribute__((unused)) static void poison(MPI_Status* status) {
  memset(status, 0x5a, sizeof *status);
  status->MPI_SOURCE = -4711;
  status->MPI_TAG = -4712;
  status->MPI_ERROR = -4713;
}

__attribute__((unused)) static int error_class(int code) {
  int class_;
  MPI_Error_class(code, &class_);
  return class_;
}

__attribute__((unused)) static int count_of(const MPI_Status* status, MPI_Datatype type) {
  int n;
  MPI_Get_count(status, type, &n);
  return n;
}

#define BYTES(n) (int)(n), MPI_BYTE

#endif
