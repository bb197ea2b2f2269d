/* What a task unmaps may stay mapped for its next mmap: nothing of that may be seen.
   keep exact: one task alone, step by step. keep random SEED: threads that map, fill, change and unmap, each sure of
   what it has. keep handlers: signal handlers that map, between. keep race: one thread lets memory go that is kept
   while another one wants the place. keep short: mappings until there is no room. keep ended FILE: two tasks; what
   one has kept is gone with it. keep again [AFTER]: prints whether memory is kept, after a call that forbids it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
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
    /* Grown into what was unmapped. */
    char *one = map(n), *two = map(n);
    char *low = one < two ? one : two, *high = one < two ? two : one;
    memset(low, 1, n);
    memset(high, 2, n);
    if (low + n == high) {
      WANT(munmap(high, n) == 0 && mremap(low, n, 2 * n, 0) == low && is_clear(high, n));
      WANT(munmap(low, 2 * n) == 0);
    } else {
      WANT(munmap(low, n) == 0 && munmap(high, n) == 0);
    }
    /* Bound to a node: the next one is not. (Not everywhere may it be.) */
    unsigned long nodes = 1;
    int policy = 0;
    p = map(n);
    const long bound = syscall(SYS_mbind, p, n, 2 /* MPOL_BIND */, &nodes, 64, 0);
    memset(p, 1, n);
    WANT(munmap(p, n) == 0);
    p = map(n);
    WANT(bound != 0 ||
         (syscall(SYS_get_mempolicy, &policy, NULL, 0, p, 2 /* MPOL_F_ADDR */) == 0 && policy == 0));
    WANT(munmap(p, n) == 0);
    /* Not aligned: an error, and nothing happens. */
    p = map(n);
    memset(p, 1, n);
    WANT(munmap(p + 1, n - 1) == -1 && errno == EINVAL && p[0] == 1 && munmap(p, n) == 0);
    /* What went well leaves errno and dlerror() as they are. */
    WANT(dlopen("no such library", RTLD_NOW) == NULL);
    errno = 77;
    p = unmapped(n);
    WANT(errno == 77 && dlerror() != NULL);
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

static volatile sig_atomic_t g_handled;

/* Once: however long a handler takes, what it interrupts gets on. */
static void interrupt_soon(void) {
  const struct itimerval soon = {{0, 0}, {0, 50}};
  setitimer(ITIMER_REAL, &soon, NULL);
}

static void handler(int signal) {
  (void)signal;
  static char own[2 * kPage];
  const int before = errno;
  unsigned char there;
  char* page = (char*)(((uintptr_t)own + kPage - 1) / kPage * kPage);
  WANT(mincore(page, kPage, &there) == 0 && mprotect(page, kPage, PROT_READ | PROT_WRITE) == 0);
  unmapped(kPage);
  g_handled++;
  interrupt_soon();
  errno = before;
}

static int handlers(void) {
  WANT(signal(SIGALRM, handler) != SIG_ERR);
  interrupt_soon();
  for (int i = 0; i < 1000 || g_handled < 2000; i++) {
    unmapped(kPage);
    unmapped((size_t)(1 + i % 9) * kPage);
    if (i % 50 == 0) unmapped(1024 * kPage);
  }
  WANT(signal(SIGALRM, SIG_IGN) != SIG_ERR);
  puts("handlers");
  return 0;
}

/* What one thread unmaps makes room for it by unmapping what is kept longest, `wanted`, which the other one wants. */
static pthread_barrier_t g_begin, g_end;
static char* g_last;

static void* lets_go(void* rounds) {
  for (int i = 0; i < *(int*)rounds; i++) {
    pthread_barrier_wait(&g_begin);
    if (munmap(g_last, kPage) != 0) exit(1);
    pthread_barrier_wait(&g_end);
  }
  return NULL;
}

static int race(void) {
  enum { kKept = 32 };
  int rounds = 1500;
  const size_t n = 1024 * kPage;
  pthread_t thread;
  char* small[kKept];
  pthread_barrier_init(&g_begin, NULL, 2);
  pthread_barrier_init(&g_end, NULL, 2);
  WANT(pthread_create(&thread, NULL, lets_go, &rounds) == 0);
  for (int i = 0; i < rounds; i++) {
    for (int k = 0; k < kKept; k++) memset(small[k] = map(kPage), 1, kPage);
    g_last = small[kKept - 1];
    char* wanted = unmapped(n);
    for (int k = 0; k < kKept - 1; k++) WANT(munmap(small[k], kPage) == 0);
    pthread_barrier_wait(&g_begin);
    for (volatile int wait = rand() % 1500; wait > 0; wait--) continue;
    const int how = i % 3 == 0 ? MAP_FIXED_NOREPLACE : MAP_FIXED;
    if (i % 3 == 2)
      WANT(madvise(wanted, n, MADV_NORMAL) == -1 && errno == ENOMEM);
    else
      WANT(mmap(wanted, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0) == wanted);
    pthread_barrier_wait(&g_end);
    unsigned char there[1024];
    if (i % 3 != 2) WANT(mincore(wanted, n, there) == 0 && munmap(wanted, n) == 0);
  }
  pthread_join(thread, NULL);
  puts("race");
  return 0;
}

/* From here on the address space grows no more; the call is not seen. */
static void fill(void) {
  struct rlimit limit;
  WANT(getrlimit(RLIMIT_AS, &limit) == 0);
  long size = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  WANT(f != NULL && fscanf(f, "%ld", &size) == 1);
  fclose(f);
  limit.rlim_cur = (rlim_t)size * kPage + kPage;
  WANT(syscall(SYS_setrlimit, RLIMIT_AS, &limit) == 0);
}

static void leave_limit(void) {
  struct rlimit limit;
  WANT(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  WANT(syscall(SYS_setrlimit, RLIMIT_AS, &limit) == 0);
}

/* What is kept is given back before a mapping fails. */
static int until_no_room(void) {
  enum { kMost = 4 << 20 };
  char* grows = map(kMost);
  memset(grows, 1, kMost);
  unmapped(kMost);
  unmapped(kMost - kPage);
  fill();
  errno = 77;
  char* p = map(kMost + kPage); /* of a size that is not kept */
  WANT(is_clear(p, kMost + kPage) && errno == 77 && munmap(p, kMost + kPage) == 0);
  leave_limit();
  unmapped(kMost);
  unmapped(kMost - kPage);
  fill();
  WANT(mremap(grows, kMost, 2 * kMost - kPage, MREMAP_MAYMOVE) != MAP_FAILED);
  /* A program that limits itself has nothing kept that would count: malloc() asks the kernel itself. */
  leave_limit();
  unmapped(kMost);
  unmapped(kMost - kPage);
  struct rlimit limit;
  WANT(getrlimit(RLIMIT_AS, &limit) == 0);
  WANT(setrlimit(RLIMIT_AS, &limit) == 0);
  fill();
  WANT(malloc(kMost) == NULL);
  puts("short");
  return 0;
}

static int ended(const char* path) {
  const size_t n = 1024 * kPage;
  char text[100];
  if (atoi(getenv("TASUKI_RANK")) == 1) {
    char* p = unmapped(n);
    unsigned char there[1024];
    WANT(syscall(SYS_mincore, p, n, there) == 0); /* it is kept */
    snprintf(text, sizeof text, "%s.new", path);
    FILE* f = fopen(text, "w");
    WANT(f != NULL && fprintf(f, "%lu %d\n", (unsigned long)p, (int)getpid()) > 0 && fclose(f) == 0);
    WANT(rename(text, path) == 0);
    return 0;
  }
  FILE* f;
  while ((f = fopen(path, "r")) == NULL) usleep(1000);
  unsigned long at = 0;
  int process = 0;
  WANT(fscanf(f, "%lu %d", &at, &process) == 2);
  unsigned char there;
  while (syscall(SYS_mincore, at, kPage, &there) == 0) usleep(1000);
  puts("ended");
  return 0;
}

/* After each of these nothing is kept. They fail, or do nothing. */
static void forbid(const char* by) {
  struct rlimit limit;
  int ends[2];
  WANT(getrlimit(RLIMIT_DATA, &limit) == 0 && pipe(ends) == 0);
  if (strcmp(by, "setrlimit") == 0) WANT(setrlimit(RLIMIT_DATA, &limit) == 0);
  if (strcmp(by, "prlimit") == 0) WANT(prlimit(0, RLIMIT_DATA, &limit, NULL) == 0);
  if (strcmp(by, "getting") == 0) WANT(prlimit(0, RLIMIT_DATA, NULL, &limit) == 0);
  if (strcmp(by, "vmsplice") == 0) WANT(vmsplice(ends[1], (void*)8, 1, 0) == -1 && errno == EFAULT);
  if (strcmp(by, "ioctl") == 0) WANT(ioctl(ends[0], UFFDIO_REGISTER, NULL) == -1);
  if (strcmp(by, "prctl") == 0) WANT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (strcmp(by, "mlockall") == 0) WANT(mlockall(0) == -1);
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
  if (strcmp(mode, "handlers") == 0) return handlers();
  if (strcmp(mode, "race") == 0) return race();
  if (strcmp(mode, "ended") == 0) return ended(argv[2]);
  if (strcmp(mode, "again") == 0) {
    if (argc > 2) forbid(argv[2]);
    return again();
  }
  return 2;
}
