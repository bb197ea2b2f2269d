/* A program with cluster memory in its different endings: mpirun -n 3 program <what> [number] -- settings.
 * Prints "verified" when all data were right. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dlm.h"

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "program: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(99);                                                                \
    }                                                                          \
  } while (0)

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
  return x ^ (x >> 29);
}

/* Writes and reads `bytes` of cluster memory, in order and then crossing it. */
static void use_memory(size_t bytes) {
  const size_t n = bytes / sizeof(uint64_t);
  uint64_t* x = dlm_alloc(bytes);
  CHECK(x != NULL && (uintptr_t)x % 64 == 0);
  for (size_t i = 0; i < n; i += 4099) CHECK(x[i] == 0);
  for (size_t i = 0; i < n; i++) x[i] = mix(i);
  for (size_t i = 0; i < n; i++) CHECK(x[i] == mix(i));
  for (size_t k = 0; k < 3000; k++) {
    const size_t i = mix(k) % n;
    CHECK(x[i] == mix(i));
    x[i] = mix(i);
  }
  x = dlm_realloc(x, bytes + bytes / 2);
  CHECK(x != NULL);
  for (size_t i = 0; i < n; i++) CHECK(x[i] == mix(i));
  dlm_free(x);
}

static void interface(void) {
  errno = 0;
  CHECK(dlm_alloc(0) == NULL);
  CHECK(dlm_alloc((size_t)1 << 60) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(dlm_calloc((size_t)1 << 40, (size_t)1 << 40) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(dlm_aligned_alloc(3, 100) == NULL && errno == EINVAL);
  char* p = dlm_aligned_alloc(1 << 21, 100);
  CHECK(p != NULL && (uintptr_t)p % (1 << 21) == 0);
  dlm_free(p);
  errno = 0;
  CHECK(dlm_alloc_paged(100, 5000) == NULL && errno == EINVAL);
  p = dlm_calloc(1000, 1000);
  CHECK(p != NULL);
  for (int i = 0; i < 1000000; i++) CHECK(p[i] == 0);
  struct dlm_counters stats;
  CHECK(dlm_stats(&stats, sizeof stats) == 0 && stats.allocated_bytes >= 1000000 && stats.local_bytes > 0);
  /* A program of another version of the header: with fewer counters, and with more. */
  struct {
    struct dlm_counters known;
    uint64_t more[2];
  } later = {.more = {1, 1}};
  CHECK(dlm_stats(&later.known, sizeof later) == 0 && later.known.local_bytes == stats.local_bytes);
  CHECK(later.more[0] == 0 && later.more[1] == 0);
  later.known.local_bytes = 7;
  CHECK(dlm_stats(&later.known, sizeof later.known.page_bytes) == 0 && later.known.local_bytes == 7);
  CHECK(dlm_stats(NULL, sizeof stats) == -1 && errno == EINVAL);
  CHECK(dlm_advise(p, 1000000, DLM_DONE_WITH) == 0);
  CHECK(dlm_advise(p, 1000000, DLM_SEQUENTIAL) == 0);
  errno = 0;
  CHECK(dlm_advise(&stats, 8, DLM_NORMAL) == -1 && errno == EINVAL);
  errno = 0;
  CHECK(dlm_advise(p, 8, (enum dlm_advice)77) == -1 && errno == EINVAL);
  dlm_free(NULL);
  dlm_free(p);
}

static void* use_in_thread(void* bytes) {
  use_memory(*(size_t*)bytes);
  return NULL;
}

static void handler(void) {
  printf("the program's own exit handler\n");
}

int main(int argc, char** argv) {
  const int before = argc;
  dlm_startup(&argc, &argv);
  CHECK(argc >= 2 && argv[argc] == NULL);
  for (int i = 1; i < argc; i++) CHECK(strcmp(argv[i], "--") != 0);
  CHECK(before >= argc);
  CHECK(dlm_startup(&argc, &argv) == 0);
  const char* what = argv[1];
  const size_t number = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  atexit(handler);

  size_t bytes = (size_t)24 << 20;
  if (strcmp(what, "local") == 0) bytes = (size_t)2 << 20;
  if (strcmp(what, "interface") == 0) interface();
  if (strcmp(what, "threads") == 0) {
    pthread_t threads[4];
    bytes /= 4;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, use_in_thread, &bytes);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  } else {
    use_memory(bytes);
  }
  printf("verified\n");

  if (strcmp(what, "exit") == 0) exit((int)number);
  if (strcmp(what, "_exit") == 0) {
    fflush(stdout);
    _exit((int)number);
  }
  if (strcmp(what, "signal") == 0) {
    fflush(stdout);
    raise((int)number);
  }
  if (strcmp(what, "null") == 0) {
    fflush(stdout);
    *(volatile int*)number = 1;
  }
  if (strcmp(what, "foreign") == 0) {
    fflush(stdout);
    dlm_free(&bytes);
  }
  if (strcmp(what, "fork") == 0) {
    /* A child that exits must not end the parent's servers. */
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(dlm_alloc(100) == NULL && errno == ENOMEM ? 5 : 6);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    use_memory(bytes);
    printf("verified after fork\n");
  }
  if (strcmp(what, "for ever") == 0) {
    printf("swapping\n"); /* the test waits for this before it kills somebody */
    fflush(stdout);
    for (;;) use_memory(bytes);
  }
  if (strcmp(what, "go-on") == 0) {
    /* ... until the test, which has killed somebody meanwhile, makes the file and some more */
    printf("swapping\n");
    fflush(stdout);
    while (access(argv[3], F_OK) != 0) use_memory(bytes);
    use_memory(bytes);
    printf("verified at the end\n");
    dlm_shutdown();
    printf("after shutdown\n");
  }
  if (strcmp(what, "compute") == 0) {
    /* for so many seconds without any cluster memory */
    printf("swapping\n");
    fflush(stdout);
    sleep((unsigned)number);
    use_memory(bytes);
    printf("verified at the end\n");
    return 0;
  }
  if (strcmp(what, "shutdown") == 0) {
    void* p = dlm_alloc(100);
    CHECK(p != NULL);
    CHECK(dlm_shutdown() == 0 && dlm_shutdown() == 0);
    struct dlm_counters stats;
    CHECK(dlm_stats(&stats, sizeof stats) == -1 && errno == EINVAL);
    dlm_free(p); /* late, but no harm */
  }
  return (int)number;
}
