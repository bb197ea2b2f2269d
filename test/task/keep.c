/* What a task unmaps may stay mapped for its next mmap: nothing of that may be seen.
   keep exact: one task alone, step by step. keep random SEED: threads that map, fill, change and unmap, each sure of
   what it has. keep short: mappings until there is no room. keep again: prints whether
   memory is kept. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPage = 4096 };

#define WANT(condition)                                                      \
  do {                                                                       \
    if (!(condition)) {                                                      \
      printf("keep.c:%d: %s (%s)\n", __LINE__, #condition, strerror(errno)); \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

static char* map(size_t bytes) {
  char* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  WANT(p != MAP_FAILED);
  return p;
}

static int is_clear(const char* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (p[i] != 0) return 0;
  return 1;
}

/* Mapped, filled and unmapped: as if it had never been there. */
static char* unmapped(size_t bytes) {
  char* p = map(bytes);
  WANT(is_clear(p, bytes));
  memset(p, 7, bytes);
  WANT(munmap(p, bytes) == 0);
  return p;
}

static long resident(void) {
  long size = 0, pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  WANT(f != NULL && fscanf(f, "%ld %ld", &size, &pages) == 2);
  fclose(f);
  return pages * kPage;
}

static int exact(void) {
  const size_t sizes[] = {kPage, 3 * kPage, 16 * kPage, 256 * kPage, 1024 * kPage};
  unsigned char there[1024];
  const int file = open("/proc/self/exe", O_RDONLY);
  WANT(file >= 0);
  for (int s = 0; s < 5; s++) {
    const size_t n = sizes[s];
    char* p = unmapped(n);
    WANT(mincore(p, n, there) == -1 && errno == ENOMEM);
    p = unmapped(n);
    WANT(msync(p, n, MS_ASYNC) == -1 && errno == ENOMEM);
    p = unmapped(n);
    WANT(mprotect(p, n, PROT_READ) == -1 && errno == ENOMEM);
    p = unmapped(n);
    WANT(madvise(p, n, MADV_DONTNEED) == -1 && errno == ENOMEM);
    p = unmapped(n);
    WANT(mlock(p, n) == -1 && errno == ENOMEM);
    p = unmapped(n);
    WANT(mremap(p, n, 2 * n, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
    p = unmapped(n);
    WANT(munmap(p, n) == 0); /* again: no error, and nothing happens */
    WANT(mincore(p, n, there) == -1);
    /* The place is free: for a hint, for what must be there, and for what may replace. */
    p = unmapped(n);
    WANT(mmap(p, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == p && munmap(p, n) == 0);
    p = unmapped(n);
    WANT(mmap(p, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == p && memcmp(p, "\177ELF", 4) == 0);
    WANT(munmap(p, kPage) == 0);
    p = unmapped(n);
    WANT(mmap(p, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == p &&
         munmap(p, n) == 0);
    const int id = shmget(IPC_PRIVATE, n, IPC_CREAT | 0600);
    p = unmapped(n);
    WANT(id >= 0 && shmat(id, p, 0) == p && is_clear(p, n) && shmdt(p) == 0 &&
         shmctl(id, IPC_RMID, NULL) == 0);
    /* What has been changed is as new for the next one. */
    p = map(n);
    memset(p, 1, n);
    WANT(mprotect(p, n, PROT_READ) == 0 && munmap(p, n) == 0);
    p = map(n);
    memset(p, 1, n);
    WANT(madvise(p, n, MADV_DONTFORK) == 0 && munmap(p, n) == 0);
    p = map(n);
    memset(p, 1, n);
    WANT(mmap(p, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == p && munmap(p, n) == 0);
    p = map(n);
    memset(p, 3, n);
    /* In a forked child it is private, and the child's own calls are the kernel's. */
    const pid_t child = fork();
    WANT(child >= 0);
    if (child == 0) {
      if (p[n - 1] != 3 || munmap(p, n) != 0 || mincore(p, n, there) != -1) _exit(1);
      char* q = map(n);
      _exit(is_clear(q, n) && munmap(q, n) == 0 ? 0 : 2);
    }
    int status = 0;
    WANT(waitpid(child, &status, 0) == child && status == 0 && p[0] == 3);
    /* A part, from both ends. */
    if (n > 2 * kPage) {
      WANT(munmap(p, kPage) == 0 && munmap(p + n - kPage, kPage) == 0 && p[kPage] == 3);
      WANT(munmap(p, n) == 0);
    } else {
      WANT(munmap(p, n) == 0);
    }
    unmapped(n);
    /* What a pipe still reads from belongs to the pipe. */
    int ends[2];
    char from_pipe[kPage];
    WANT(pipe(ends) == 0);
    p = map(n);
    memset(p, 9, n);
    const struct iovec part = {p, kPage};
    WANT(vmsplice(ends[1], &part, 1, 0) == kPage && munmap(p, n) == 0);
    p = map(n);
    memset(p, 4, n);
    WANT(read(ends[0], from_pipe, kPage) == kPage && from_pipe[0] == 9 && from_pipe[kPage - 1] == 9);
    WANT(munmap(p, n) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
  }
  WANT(munmap((char*)(uintptr_t)kPage + 1, kPage) == -1 && errno == EINVAL);
  WANT(munmap(unmapped(kPage), 0) == -1 && errno == EINVAL);
  /* However much is unmapped, little is kept. */
  enum { kPieces = 64, kPiece = 1 << 20 };
  char* pieces[kPieces];
  const long before = resident();
  for (int i = 0; i < kPieces; i++) memset(pieces[i] = map(kPiece), 1, kPiece);
  WANT(resident() - before > kPieces / 2 * kPiece);
  for (int i = 0; i < kPieces; i++) WANT(munmap(pieces[i], kPiece) == 0);
  WANT(resident() - before < 10 << 20);
  puts("exact");
  return 0;
}

struct Held {
  char* at;
  size_t bytes;
  char value;
};

static void check_and_drop(struct Held* h, unsigned* seed) {
  for (size_t i = 0; i < h->bytes; i += 1 + rand_r(seed) % 300)
    if (h->at[i] != h->value) {
      printf("keep.c: %d instead of %d at %zu of %zu\n", h->at[i], h->value, i, h->bytes);
      exit(1);
    }
  const size_t middle = h->bytes / 2 / kPage * kPage;
  switch (rand_r(seed) % 8) {
    case 0:
      WANT(mprotect(h->at, h->bytes, PROT_READ) == 0);
      break;
    case 1:
      WANT(madvise(h->at, h->bytes, MADV_DONTNEED) == 0 && is_clear(h->at, h->bytes));
      break;
    case 2: { /* elsewhere, and longer */
      char* to = mremap(h->at, h->bytes, h->bytes + kPage, MREMAP_MAYMOVE);
      WANT(to != MAP_FAILED && to[0] == h->value && is_clear(to + h->bytes, kPage));
      h->at = to;
      h->bytes += kPage;
      break;
    }
    case 3:
      WANT(middle == 0 || munmap(h->at, middle) == 0);
      h->at += middle;
      h->bytes -= middle;
      break;
    case 4:
      WANT(mmap(h->at, h->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
           h->at);
      WANT(is_clear(h->at, h->bytes));
      break;
    default:
      break;
  }
  WANT(munmap(h->at, h->bytes) == 0);
  h->at = NULL;
}

static void* work(void* argument) {
  unsigned seed = *(unsigned*)argument;
  struct Held held[24] = {{NULL, 0, 0}};
  for (int step = 0; step < 2000; step++) {
    struct Held* h = &held[rand_r(&seed) % 24];
    if (h->at != NULL) {
      check_and_drop(h, &seed);
      continue;
    }
    h->bytes = (size_t)(1 << rand_r(&seed) % (step % 50 == 0 ? 11 : 6)) * kPage;
    h->at = map(h->bytes);
    WANT(is_clear(h->at, h->bytes));
    h->value = (char)(1 + rand_r(&seed) % 100);
    if (rand_r(&seed) % 5 == 0)
      h->value = 0; /* not touched */
    else
      memset(h->at, h->value, h->bytes);
  }
  for (int i = 0; i < 24; i++)
    if (held[i].at != NULL) check_and_drop(&held[i], &seed);
  return NULL;
}

static int random_steps(unsigned seed) {
  pthread_t threads[3];
  unsigned seeds[3];
  for (int i = 0; i < 3; i++) {
    seeds[i] = seed * 977 + (unsigned)i * 31 + (unsigned)getpid();
    WANT(pthread_create(&threads[i], NULL, work, &seeds[i]) == 0);
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  puts("random");
  return 0;
}

/* What is kept is given back before a mapping fails. */
static int until_no_room(void) {
  enum { kMost = 4 << 20 };
  unmapped(kMost);
  unmapped(kMost - kPage);
  struct rlimit limit;
  WANT(getrlimit(RLIMIT_AS, &limit) == 0);
  long size = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  WANT(f != NULL && fscanf(f, "%ld", &size) == 1);
  fclose(f);
  limit.rlim_cur = (rlim_t)size * kPage + kPage;
  WANT(setrlimit(RLIMIT_AS, &limit) == 0);
  char* p = map(kMost + kPage); /* of a size that is not kept */
  WANT(is_clear(p, kMost + kPage));
  puts("short");
  return 0;
}

/* Faults of mapping, filling and unmapping the same again and again. */
static int again(void) {
  enum { kTimes = 100, kPages = 16 };
  struct rusage before, after;
  for (int i = 0; i <= kTimes; i++) {
    if (i == 1) getrusage(RUSAGE_SELF, &before);
    unmapped(kPages * kPage);
  }
  getrusage(RUSAGE_SELF, &after);
  puts(after.ru_minflt - before.ru_minflt < kTimes ? "kept" : "unmapped");
  return 0;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "exact") == 0) return exact();
  if (strcmp(mode, "random") == 0) return random_steps((unsigned)atoi(argv[2]));
  if (strcmp(mode, "short") == 0) return until_no_room();
  if (strcmp(mode, "again") == 0) return again();
  return 2;
}
