#include "measure/space/operations.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/common/rank.h"

extern char** environ;

enum { kFault, kMmap, kMalloc, kMadvise, kMprotect, kReadv, kThread, kFork, kSpawn, kOperations };
static const char* const kNames[kOperations] = {"fault", "mmap",   "malloc", "madvise", "mprotect",
                                                "readv", "thread", "fork",   "spawn"};
enum { kPage = 4096, kShown = 1 << 20 };  // bytes that a neighbour may read

static char* g_text;  // of the operation that runs: where to say what went wrong
static size_t g_room;
static unsigned char g_mark;  // another one each time: what was written earlier is told from what is now

int find_operation(const char* name) {
  for (int i = 0; i < kOperations; i++)
    if (strcmp(name, kNames[i]) == 0) return i;
  return -1;
}

static enum outcome wrong(const char* what) {
  snprintf(g_text, g_room, "%s", what);
  return kWrong;
}
static enum outcome failed(const char* call) {
  snprintf(g_text, g_room, "%s: %s", call, strerror(errno));
  return kWrong;
}

// Writes to each page, as a program would that fills its memory for the first time.
static void touch(volatile unsigned char* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += kPage) p[i] = g_mark;
}
static int is_touched(const volatile unsigned char* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += kPage)
    if (p[i] != g_mark) return 0;
  return 1;
}

static unsigned char* map(size_t bytes) {
  void* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

// The time of one page. Huge pages would make it another measurement.
static enum outcome fault(size_t bytes, double* seconds) {
  unsigned char* p = map(bytes);
  if (p == NULL) return failed("mmap");
  madvise(p, bytes, MADV_NOHUGEPAGE);  // a kernel without huge pages refuses
  const double start = now();
  touch(p, bytes);
  *seconds += (now() - start) / (double)(bytes / kPage);
  const int right = is_touched(p, bytes);
  munmap(p, bytes);
  return right ? kDone : wrong("a page does not hold what was written");
}

static enum outcome map_and_unmap(size_t bytes, double* seconds) {
  double start = now();
  unsigned char* p = map(bytes);
  if (p == NULL) return failed("mmap");
  touch(p, bytes);
  *seconds += now() - start;
  const int right = is_touched(p, bytes);
  start = now();
  const int unmapped = munmap(p, bytes);
  *seconds += now() - start;
  if (unmapped != 0) return failed("munmap");
  return right ? kDone : wrong("a page does not hold what was written");
}

static enum outcome allocate_and_free(size_t bytes, double* seconds) {
  double start = now();
  unsigned char* p = malloc(bytes);
  if (p == NULL) return failed("malloc");
  touch(p, bytes);
  *seconds += now() - start;
  const int right = is_touched(p, bytes);
  start = now();
  free(p);
  *seconds += now() - start;
  return right ? kDone : wrong("a page does not hold what was written");
}

// What is given back comes back as zeros: a second byte of each page, which is not touched again, shows it.
static enum outcome give_back_and_touch(size_t bytes, double* seconds) {
  unsigned char* p = map(bytes);
  if (p == NULL) return failed("mmap");
  for (size_t i = 0; i < bytes; i += kPage) p[i] = p[i + 1] = 1;
  const double start = now();
  const int given = madvise(p, bytes, MADV_DONTNEED);
  touch(p, bytes);
  *seconds += now() - start;
  int right = is_touched(p, bytes);
  for (size_t i = 0; i < bytes; i += kPage) right = right && p[i + 1] == 0;
  munmap(p, bytes);
  if (given != 0) return failed("madvise");
  return right ? kDone : wrong("a page was not given back");
}

// Pages that are there become read-only, and writable again. Nobody writes meanwhile: that would be a signal.
static enum outcome protect_twice(size_t bytes, double* seconds) {
  unsigned char* p = map(bytes);
  if (p == NULL) return failed("mmap");
  touch(p, bytes);
  const double start = now();
  const int closed = mprotect(p, bytes, PROT_READ), opened = mprotect(p, bytes, PROT_READ | PROT_WRITE);
  *seconds += now() - start;
  int right = is_touched(p, bytes);
  g_mark++;
  touch(p, bytes);
  right = right && is_touched(p, bytes);
  munmap(p, bytes);
  if (closed != 0 || opened != 0) return failed("mprotect");
  return right ? kDone : wrong("a page does not hold what was written");
}

// ---- the neighbour's memory

static struct { uint64_t pid, at; } g_neighbour;
static uint32_t *g_shown, *g_expected, *g_read;

static uint32_t word_of(int rank, size_t i) {
  return (uint32_t)rank * 2654435761u + (uint32_t)i * 40503u + 1;
}

void meet_neighbours(void) {
  if (g_shown != NULL) return;
  const int neighbour = (g_rank + 1) % g_ranks;
  g_shown = (uint32_t*)map(kShown);
  g_expected = (uint32_t*)map(kShown);
  g_read = (uint32_t*)map(kShown);
  uint64_t* all = malloc((size_t)g_ranks * sizeof g_neighbour);
  if (g_shown == NULL || g_expected == NULL || g_read == NULL || all == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (size_t i = 0; i < kShown / sizeof *g_shown; i++) {
    g_shown[i] = word_of(g_rank, i);
    g_expected[i] = word_of(neighbour, i);
  }
  const uint64_t mine[2] = {(uint64_t)getpid(), (uintptr_t)g_shown};
  MPI_Allgather(mine, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, MPI_COMM_WORLD);
  memcpy(&g_neighbour, all + 2 * (size_t)neighbour, sizeof g_neighbour);
  free(all);
}

int shares_with_neighbour(void) {
  unsigned char there;
  void* const at = (void*)(uintptr_t)g_neighbour.at;
  // Fails if nothing is mapped there.
  return mincore(at, kPage, &there) == 0 && memcmp(at, g_expected, kPage) == 0;
}

static enum outcome read_neighbour(size_t bytes, double* seconds) {
  if (bytes > kShown) return wrong("more bytes than a neighbour shows");
  const struct iovec to = {g_read, bytes}, from = {(void*)(uintptr_t)g_neighbour.at, bytes};
  memset(g_read, 0, bytes);
  const double start = now();
  const ssize_t n = process_vm_readv((pid_t)g_neighbour.pid, &to, 1, &from, 1, 0);
  *seconds += now() - start;
  if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
    failed("process_vm_readv");
    return kRefused;
  }
  if (n < 0) return failed("process_vm_readv");
  return (size_t)n == bytes && memcmp(g_read, g_expected, bytes) == 0
             ? kDone
             : wrong("other bytes than the neighbour has");
}

// ---- threads and programs

static void* thread_main(void* argument) {
  *(unsigned char*)argument = g_mark;
  return argument;
}

static enum outcome start_thread(double* seconds) {
  unsigned char written = (unsigned char)(g_mark + 1);
  pthread_t thread;
  void* result = NULL;
  const double start = now();
  const int error = pthread_create(&thread, NULL, thread_main, &written);
  if (error == 0) pthread_join(thread, &result);
  *seconds += now() - start;
  errno = error;
  if (error != 0) return failed("pthread_create");
  return result == &written && written == g_mark ? kDone : wrong("the thread has not run");
}

static const char kProgram[] = "/bin/true";
enum { kCannotRun = 127 };

static enum outcome run_to_end(int spawn, double* seconds) {
  char name[] = "true";
  char* const argv[] = {name, NULL};
  pid_t child = -1;
  int status = -1, error = 0;
  const double start = now();
  if (spawn) {
    error = posix_spawn(&child, kProgram, NULL, NULL, argv, environ);
  } else {
    child = fork();
    if (child == 0) {
      execv(kProgram, argv);
      _exit(kCannotRun);
    }
    error = child < 0 ? errno : 0;
  }
  while (error == 0 && waitpid(child, &status, 0) < 0)
    if (errno != EINTR) error = errno;
  *seconds += now() - start;
  errno = error;
  if (error != 0) return failed(spawn ? "posix_spawn" : "fork");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return kDone;
  snprintf(g_text, g_room, "%s ended with status %#x", kProgram, (unsigned)status);
  return kWrong;
}

enum outcome run_operation(int operation, size_t bytes, double* seconds, char* text, size_t room) {
  g_text = text;
  g_room = room;
  g_mark++;
  switch (operation) {
    case kFault:
      return fault(bytes, seconds);
    case kMmap:
      return map_and_unmap(bytes, seconds);
    case kMalloc:
      return allocate_and_free(bytes, seconds);
    case kMadvise:
      return give_back_and_touch(bytes, seconds);
    case kMprotect:
      return protect_twice(bytes, seconds);
    case kReadv:
      return read_neighbour(bytes, seconds);
    case kThread:
      return start_thread(seconds);
    default:
      return run_to_end(operation == kSpawn, seconds);
  }
}
