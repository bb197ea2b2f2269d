/* Allocations of all kinds and sizes; what it prints must be the same plain and with cluster memory. Its arguments choose
 * what it does, and the largest allocation in MiB:  allocations WHAT [MiB] */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#include "check.h"

static size_t most = 24 * MIB;

static unsigned char byte_of(size_t i, unsigned seed) {
  return (unsigned char)((i * 2654435761u + seed * 40503u) >> 11);
}
static void fill(void* p, size_t from, size_t to, unsigned seed) {
  for (size_t i = from; i < to; i++) ((unsigned char*)p)[i] = byte_of(i, seed);
}
static int is_filled(const void* p, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++)
    if (((const unsigned char*)p)[i] != byte_of(i, seed)) return 0;
  return 1;
}
static int is_zero(const void* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (((const unsigned char*)p)[i] != 0) return 0;
  return 1;
}

/* Sizes around the threshold and up, with changes of size in all directions. */
static void sizes(unsigned seed) {
  const size_t list[] = {1, 1000, MIB - 1, MIB, MIB + 1, 3 * MIB + 17, most};
  enum { N = sizeof list / sizeof *list };
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      void* p = malloc(list[i]);
      CHECK(p != NULL && (uintptr_t)p % 16 == 0);
      CHECK(malloc_usable_size(p) >= list[i]);
      fill(p, 0, list[i], seed);
      p = realloc(p, list[j]);
      CHECK(p != NULL && malloc_usable_size(p) >= list[j]);
      const size_t kept = list[i] < list[j] ? list[i] : list[j];
      CHECK(is_filled(p, kept, seed));
      fill(p, kept, list[j], seed);
      CHECK(is_filled(p, list[j], seed));
      errno = 123;
      free(p);
      CHECK(errno == 123);
    }
  for (int i = 0; i < N; i++) {
    char* p = calloc(list[i], 1);
    CHECK(p != NULL && is_zero(p, list[i]));
    memset(p, 1, list[i]);
    free(p);
    p = calloc(1, list[i]); /* the same place, perhaps */
    CHECK(p != NULL && is_zero(p, list[i]));
    free(p);
    for (size_t alignment = 8; alignment <= 4 * MIB; alignment *= 8) {
      void* q = NULL;
      CHECK(posix_memalign(&q, alignment, list[i]) == 0 && (uintptr_t)q % alignment == 0);
      fill(q, 0, list[i], seed);
      q = realloc(q, list[i] / 2 + 1);
      CHECK(is_filled(q, list[i] / 2 + 1, seed));
      free(q);
      q = aligned_alloc(alignment, (list[i] + alignment - 1) / alignment * alignment);
      CHECK(q != NULL && (uintptr_t)q % alignment == 0);
      free(q);
      q = memalign(alignment, list[i]);
      CHECK(q != NULL && (uintptr_t)q % alignment == 0);
      free(q);
    }
    void* q = valloc(list[i]);
    CHECK(q != NULL && (uintptr_t)q % 4096 == 0);
    free(q);
    q = pvalloc(list[i]);
    CHECK(q != NULL && (uintptr_t)q % 4096 == 0 && malloc_usable_size(q) >= (list[i] + 4095) / 4096 * 4096);
    free(q);
    q = reallocarray(NULL, list[i], 2);
    CHECK(q != NULL);
    q = reallocarray(q, list[i], 3);
    CHECK(q != NULL);
    CHECK(realloc(q, 0) == NULL);
  }
  free(NULL);
}

static void errors(void) {
  volatile size_t absurd = SIZE_MAX / 2 + 2, huge = SIZE_MAX - 100;
  void* q = &q;
  errno = 0;
  CHECK(malloc(absurd) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(malloc(huge) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(calloc(absurd, 3) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(NULL, absurd, 16) == NULL && errno == ENOMEM);
  CHECK(posix_memalign(&q, 3, 2 * MIB) == EINVAL);
  CHECK(posix_memalign(&q, 24, 2 * MIB) == EINVAL);
  CHECK(q == &q);
  void* p = malloc(2 * MIB);
  fill(p, 0, 2 * MIB, 5);
  errno = 0;
  CHECK(realloc(p, absurd) == NULL && errno == ENOMEM);
  CHECK(is_filled(p, 2 * MIB, 5));
  free(p);
}

static void* thread(void* argument) {
  const unsigned seed = (unsigned)(uintptr_t)argument;
  for (int round = 0; round < 6; round++) {
    void* all[8];
    for (int i = 0; i < 8; i++) {
      const size_t bytes = (size_t)(i + 1) * MIB / 2;
      all[i] = i % 2 == 0 ? malloc(bytes) : calloc(1, bytes);
      CHECK(all[i] != NULL);
      fill(all[i], 0, bytes, seed + (unsigned)i);
    }
    for (int i = 7; i >= 0; i--) {
      const size_t bytes = (size_t)(i + 1) * MIB / 2;
      CHECK(is_filled(all[i], bytes, seed + (unsigned)i));
      all[i] = realloc(all[i], bytes / 3 + 100);
      CHECK(is_filled(all[i], bytes / 3 + 100, seed + (unsigned)i));
      free(all[i]);
    }
  }
  return NULL;
}

static void threads(void) {
  pthread_t list[4];
  for (uintptr_t i = 0; i < 4; i++) CHECK(pthread_create(&list[i], NULL, thread, (void*)(100 * i)) == 0);
  for (int i = 0; i < 4; i++) pthread_join(list[i], NULL);
}

static int code_of(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Where a handler of the program's own finds itself: an access that is nobody's. */
static void on_bus_error(int number) {
  (void)number;
  _exit(77);
}

/* What a child does with memory that it has from its parent, whatever that does meanwhile. Each its own. */
static int with_inherited(char* p, char* mapped, int depth) {
  CHECK(is_filled(p, most, 7) && is_filled(mapped, most, 8));
  for (int number = 3; number < 9; number++)
    CHECK(dup2(STDOUT_FILENO, number) == number && close(number) == 0);
  FILE* file = tmpfile(); /* the kernel reads and writes it */
  CHECK(file != NULL && write(fileno(file), p, most) == (ssize_t)most);
  fill(p, 0, most, 9);
  if (depth > 0) {
    const pid_t child = fork();
    if (child == 0) {
      CHECK(is_filled(p, most, 9));
      fill(p, 0, most, 7);
      _exit(with_inherited(p, mapped, depth - 1));
    }
    fill(mapped, 0, MIB, 10);
    CHECK(code_of(child) == 42);
    fill(mapped, 0, MIB, 8);
  }
  CHECK(is_filled(p, most, 9));
  CHECK(pread(fileno(file), p, most, 0) == (ssize_t)most && is_filled(p, most, 7));
  fclose(file);
  char* larger = realloc(p, most + MIB);
  CHECK(larger != NULL && is_filled(larger, most, 7));
  free(larger);
  CHECK(madvise(mapped + MIB, MIB, MADV_DONTNEED) == 0 && is_zero(mapped + MIB, MIB) &&
        is_filled(mapped, MIB, 8));
  fill(mapped, MIB, 2 * MIB, 8);
  mapped = mremap(mapped, most, most + MIB, MREMAP_MAYMOVE);
  CHECK(mapped != MAP_FAILED && is_filled(mapped, most, 8) && is_zero(mapped + most, MIB));
  CHECK(munmap(mapped, most + MIB) == 0);
  struct sigaction action = {.sa_handler = on_bus_error};
  CHECK(sigaction(SIGBUS, &action, NULL) == 0);
  return 42;
}

/* A piece may be unmapped twice, and mapped again: the rest stays. */
static void pieces(void) {
  char* p = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fill(p, 0, most, 5);
  for (int i = 0; i < 3; i++) CHECK(munmap(p, most / 2) == 0);
  CHECK(byte_of(most - 1, 5) == (unsigned char)p[most - 1]);
  CHECK(mmap(p, most / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
  CHECK(is_zero(p, most / 2));
  fill(p, 0, most / 2, 6);
  CHECK(munmap(p + most / 2, most / 2) == 0 && is_filled(p, most / 2, 6));
  CHECK(munmap(p, most / 2) == 0);
}

static void descendants(void) {
  pieces();
  char* p = malloc(most);
  char* mapped = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != NULL && mapped != MAP_FAILED);
  fill(p, 0, most, 7);
  fill(mapped, 0, most, 8);
  fflush(stdout);
  pid_t children[3];
  for (int i = 0; i < 3; i++) {
    children[i] = fork();
    if (children[i] == 0) _exit(with_inherited(p, mapped, i % 2));
    fill(p, 0, most, 20 + (unsigned)i);
    fill(mapped, 0, most, 30);
    CHECK(is_filled(p, most, 20 + (unsigned)i));
    fill(p, 0, most, 7);
    fill(mapped, 0, most, 8);
  }
  for (int i = 0; i < 3; i++) CHECK(code_of(children[i]) == 42);
  /* A real bus error stays one. */
  const pid_t child = fork();
  if (child == 0) {
    if (!is_filled(p, most, 7)) _exit(1);
    struct sigaction action = {.sa_handler = on_bus_error};
    FILE* empty = tmpfile();
    volatile char* nothing = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(empty), 0);
    if (sigaction(SIGBUS, &action, NULL) != 0) _exit(2);
    _exit(nothing[0]);
  }
  CHECK(code_of(child) == 77);
  free(p);
  munmap(mapped, most);
}

/* Forks while one thread writes from memory that is away and another one flushes all streams: fork waits for
 * the list of the streams, its owner for a stream, and that one's owner for a page. */
static atomic_bool streams_end;
static void* write_stream(void* memory) {
  FILE* file = fopen("/dev/null", "w");
  for (size_t at = 0; !atomic_load(&streams_end); at = (at + 40503 * 4096) % (most - 4096))
    fwrite((char*)memory + at, 1, 3000, file);
  fclose(file);
  return NULL;
}
static void* flush_streams(void* nothing) {
  while (!atomic_load(&streams_end)) fflush(NULL);
  return nothing;
}
static void streams(void) {
  char* p = malloc(most);
  fill(p, 0, most, 7);
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, write_stream, p) == 0 &&
        pthread_create(&threads[1], NULL, flush_streams, NULL) == 0);
  for (int i = 0; i < 60; i++) {
    const pid_t child = fork();
    if (child == 0) _exit(42);
    CHECK(code_of(child) == 42);
  }
  atomic_store(&streams_end, true);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK(is_filled(p, most, 7));
}

/* Descriptors that it has not opened, as daemons close them, and puts others in their places. */
static void close_others(int way) {
  if (way == 0)
    for (int fd = 3; fd < 1024; fd++) close(fd);
  else if (way == 1)
    CHECK(close_range(3, ~0U, 0) == 0);
  else if (way == 2)
    closefrom(3);
  else if (way == 3)
    for (int fd = 3; fd < 300; fd++) dup2(STDIN_FILENO, fd);
  else
    for (int fd = 3; fd < 1024; fd++) syscall(SYS_close, fd);
  for (int i = 0; i < 20; i++) CHECK(open("/dev/zero", O_RDWR) >= 0);
}

static void closes(void) {
  char* p = malloc(most);
  fill(p, 0, most, 7);
  fflush(stdout);
  for (int way = 0; way < 5; way++) {
    const pid_t child = fork();
    if (child == 0) {
      close_others(way);
      CHECK(is_filled(p, most, 7));
      fill(p, 0, most, 8);
      _exit(is_filled(p, most, 8) ? 42 : 1);
    }
    CHECK(code_of(child) == 42);
  }
  for (int way = 0; way < 5; way++) {
    close_others(way);
    CHECK(is_filled(p, most, 7 + (unsigned)way));
    fill(p, 0, most, 8 + (unsigned)way);
  }
  errno = 0;
  CHECK(close(1000) == -1 && errno == EBADF);
  const int own = open("/dev/null", O_RDWR);
  CHECK(own > 2 && dup2(own, 1000) == 1000 && close(1000) == 0 && close(own) == 0);
}

/* A child may free what its parent had, allocate, and end; the parent's data are as before. */
static void forks(void) {
  char* p = malloc(most);
  char* small = malloc(100);
  fill(p, 0, most, 7);
  for (int i = 0; i < 5; i++) {
    fflush(stdout);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      free(small);
      free(p);
      char* q = malloc(5 * MIB);
      CHECK(q != NULL);
      fill(q, 0, 5 * MIB, 9);
      q = realloc(q, 9 * MIB);
      CHECK(is_filled(q, 5 * MIB, 9));
      free(q);
      if (i % 2 == 0) _exit(40 + i);
      exit(40 + i);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 40 + i);
    CHECK(is_filled(p, most, 7));
  }
  FILE* pipe = popen("echo from a shell; exit 3", "r");
  char line[100] = "";
  CHECK(fgets(line, sizeof line, pipe) != NULL && strcmp(line, "from a shell\n") == 0);
  CHECK(WEXITSTATUS(pclose(pipe)) == 3);
  CHECK(system("test -z \"$LD_PRELOAD\"") == 0); /* children run plainly */
  CHECK(is_filled(p, most, 7));
  free(p);
  free(small);
}

/* Addresses that are reserved first, and then get what they are for: the same shared memory twice, one behind the other,
 * so that what runs over the end of a ring begins at its beginning. */
static void ring(bool used) {
  char* p = mmap(NULL, 8 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(p != MAP_FAILED);
  if (used) {
    CHECK(mprotect(p, 5 * MIB, PROT_READ | PROT_WRITE) == 0);
    fill(p, 0, 5 * MIB, 3);
    char* others = malloc(most);
    fill(others, 0, most, 4);
    CHECK(is_filled(others, most, 4));
    free(others);
  }
  const int fd = memfd_create("ring", 0);
  CHECK(fd >= 0 && ftruncate(fd, MIB) == 0);
  for (size_t at = 2 * MIB; at <= 3 * MIB; at += MIB)
    CHECK(mmap(p + at, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == p + at);
  memset(p + 3 * MIB - 10, 'r', 20);
  atomic_signal_fence(memory_order_seq_cst); /* what the compiler takes for different places are the same */
  CHECK(p[2 * MIB] == 'r' && p[4 * MIB - 1] == 'r' && p[2 * MIB + 10] == 0);
  if (used) {
    CHECK(is_filled(p, 2 * MIB, 3));
    for (size_t i = 4 * MIB; i < 5 * MIB; i++) CHECK((unsigned char)p[i] == byte_of(i, 3));
  }
  CHECK(munmap(p, 8 * MIB) == 0 && close(fd) == 0);
}

static void maps(void) {
  const size_t page = 4096;
  char* p = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED && is_zero(p, most));
  fill(p, 0, most, 3);
  CHECK(madvise(p, most, MADV_HUGEPAGE) == 0 || errno == EINVAL); /* a kernel without them */
  CHECK(madvise(p, most, MADV_SEQUENTIAL) == 0);
  CHECK(posix_madvise(p, most, POSIX_MADV_DONTNEED) == 0);
  CHECK(is_filled(p, most, 3));
  CHECK(madvise(p + 10 * page, 20 * page, MADV_DONTNEED) == 0);
  CHECK(is_zero(p + 10 * page, 20 * page) && is_filled(p, 10 * page, 3));
  p = mremap(p, most, most + 5 * MIB, MREMAP_MAYMOVE);
  CHECK(p != MAP_FAILED && is_filled(p, 10 * page, 3) && is_zero(p + most, 5 * MIB));
  CHECK(p[most - 1] == (char)byte_of(most - 1, 3));
  /* trimmed at both ends, as allocators do for alignment */
  CHECK(munmap(p, page) == 0);
  CHECK(munmap(p + most, 5 * MIB) == 0);
  CHECK(p[page] == (char)byte_of(page, 3));
  CHECK(mprotect(p + page, most - page, PROT_READ | PROT_WRITE) == 0);
  CHECK(munmap(p + page, most - page) == 0);
  /* what stays local behaves as ever */
  char* guard = mmap(NULL, 4 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(guard != MAP_FAILED && mprotect(guard, 2 * MIB, PROT_READ | PROT_WRITE) == 0);
  fill(guard, 0, 2 * MIB, 4);
  char* same = mmap(guard, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(same == guard && is_zero(guard, MIB));
  CHECK(munmap(guard, 4 * MIB) == 0);
  errno = 0;
  CHECK(mmap(NULL, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
        errno == EINVAL);
}

/* Accesses that are refused come back here. */
static sigjmp_buf refused;
static void on_refusal(int number) {
  (void)number;
  siglongjmp(refused, 1);
}
static bool can_read(const volatile char* p) {
  if (sigsetjmp(refused, 1) != 0) return false;
  (void)*p;
  return true;
}
static bool can_write(volatile char* p) {
  if (sigsetjmp(refused, 1) != 0) return false;
  *p = *p;
  return true;
}
static bool can_call(const unsigned char* code, int x) {
  if (sigsetjmp(refused, 1) != 0) return false;
  int (*function)(int);
  memcpy(&function, &code, sizeof function);
  CHECK(function(x) == 3 * x);
  return true;
}

static void* fresh(size_t bytes) {
  void* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED);
  return p;
}

/* What the kernel says of memory that may not be accessed. */
static void protected_from_kernel(char* none, char* constant) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  errno = 0;
  CHECK(write(ends[1], none, 100) == -1 && errno == EFAULT);
  CHECK(write(ends[1], constant, 100) == 100);
  errno = 0;
  CHECK(read(ends[0], none, 100) == -1 && errno == EFAULT);
  errno = 0;
  CHECK(read(ends[0], constant, 100) == -1 && errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  FILE* file = tmpfile();
  CHECK(file != NULL && write(fileno(file), constant, MIB) == (ssize_t)MIB);
  errno = 0;
  CHECK(pread(fileno(file), constant, MIB, 0) == -1 && errno == EFAULT);
  fclose(file);
}

static void with_code(void) {
  static const unsigned char triple[] = {0x8d, 0x04, 0x7f, 0xc3}; /* lea eax, [rdi + 2 * rdi]; ret */
  unsigned char* code = fresh(2 * MIB);
  for (size_t i = 0; i < 2 * MIB; i += 4096) memcpy(code + i, triple, sizeof triple);
  CHECK(!can_call(code + 4096, 3));
  CHECK(mprotect(code, 2 * MIB, PROT_READ | PROT_EXEC) == 0);
  char* others = malloc(most);
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < 2 * MIB; i += 4096) CHECK(can_call(code + i, (int)i));
    fill(others, 0, most, 3);
  }
  free(others);
  code = mremap(code, 2 * MIB, 3 * MIB, MREMAP_MAYMOVE);
  CHECK(code != MAP_FAILED && can_call(code + MIB, 7) && is_zero(code + 2 * MIB, MIB));
  CHECK(!can_write((char*)code) && munmap(code, 3 * MIB) == 0);
}

/* Mappings that lie next to each other, perhaps, are one range to the kernel. */
static void neighbours(void) {
  char* all[6];
  for (int i = 0; i < 6; i++) {
    all[i] = fresh(2 * MIB);
    fill(all[i], 0, 2 * MIB, (unsigned)i);
  }
  for (int i = 0; i + 1 < 6; i++) {
    if (all[i + 1] + 2 * MIB != all[i]) continue; /* the system fills addresses from above */
    char* border = all[i];
    CHECK(mprotect(border - MIB, 2 * MIB, PROT_READ) == 0);
    CHECK(!can_write(border) && !can_write(border - 1) && can_read(border) && can_write(border + MIB));
    CHECK(is_filled(all[i + 1], 2 * MIB, (unsigned)i + 1));
    CHECK(mprotect(border - MIB, 2 * MIB, PROT_READ | PROT_WRITE) == 0);
    CHECK(madvise(border - MIB, 2 * MIB, MADV_DONTNEED) == 0 && is_zero(border - MIB, 2 * MIB));
    CHECK(is_filled(all[i + 1], MIB, (unsigned)i + 1));
    CHECK(munmap(border - MIB, 2 * MIB) == 0 && !can_read(border) && !can_read(border - 1));
    CHECK(mmap(border - MIB, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0) == border - MIB);
    CHECK(is_zero(border - MIB, 2 * MIB) && is_filled(all[i + 1], MIB, (unsigned)i + 1));
    break;
  }
  for (int i = 0; i < 6; i++) CHECK(munmap(all[i], 2 * MIB) == 0);
}

static void to_fixed_addresses(void) {
  char* p = fresh(2 * MIB);
  char* target = mmap(NULL, 4 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  fill(p, 0, 2 * MIB, 9);
  CHECK(mremap(p, 2 * MIB, 2 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, target + MIB) == target + MIB);
  CHECK(is_filled(target + MIB, 2 * MIB, 9) && !can_read(target) && !can_read(target + 3 * MIB));
  CHECK(munmap(target, 4 * MIB) == 0);
}

static void protects(bool children) {
  const size_t page = 4096, begin = 5 * MIB + 3 * page;
  struct sigaction action = {.sa_handler = on_refusal};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  char* p = fresh(most);
  CHECK(mprotect(p, page, PROT_NONE) == 0 && mprotect(p + most - page, page, PROT_NONE) == 0);
  fill(p, page, most - page, 5);
  CHECK(!can_read(p) && !can_write(p + page - 1) && can_write(p + page) && !can_read(p + most - page));
  CHECK(mprotect(p + begin, 6 * MIB, PROT_READ) == 0);
  CHECK(mprotect(p + 12 * MIB, 3 * MIB, PROT_NONE) == 0);
  char* others = malloc(most);
  for (int round = 0; round < 2; round++) {
    fill(others, 0, most, 6);
    CHECK(can_write(p + begin - 1) && !can_write(p + begin) && can_read(p + begin) &&
          !can_write(p + begin + 6 * MIB - 1) && can_write(p + begin + 6 * MIB));
    CHECK(!can_read(p + 12 * MIB) && !can_write(p + 15 * MIB - 1));
    for (size_t i = page; i < 12 * MIB; i++) CHECK((unsigned char)p[i] == byte_of(i, 5));
  }
  protected_from_kernel(p + 13 * MIB, p + 7 * MIB);
  fflush(stdout);
  const pid_t child = children ? fork() : -1;
  if (child == 0) {
    for (size_t i = page; i < 12 * MIB; i++) CHECK((unsigned char)p[i] == byte_of(i, 5));
    CHECK(!can_read(p + 13 * MIB) && !can_write(p + 7 * MIB));
    CHECK(madvise(p + 8 * MIB, page, MADV_DONTNEED) == 0 && is_zero(p + 8 * MIB, page));
    CHECK(mprotect(p + 12 * MIB, 3 * MIB, PROT_READ | PROT_WRITE) == 0);
    CHECK(munmap(p + 2 * MIB, MIB) == 0 && munmap(p + 2 * MIB, MIB) == 0 && !can_read(p + 2 * MIB));
    for (size_t i = 12 * MIB; i < 15 * MIB; i++) CHECK((unsigned char)p[i] == byte_of(i, 5));
    _exit(42);
  }
  CHECK(mprotect(p, most, PROT_READ | PROT_WRITE) == 0);
  CHECK(!children || code_of(child) == 42);
  for (size_t i = page; i < most - page; i++) CHECK((unsigned char)p[i] == byte_of(i, 5));
  CHECK(is_zero(p, page) && is_zero(p + most - page, page));
  /* what is unmapped is gone, and comes back as it is asked for */
  CHECK(munmap(p + 2 * MIB, 2 * MIB) == 0 && !can_read(p + 2 * MIB) && !can_read(p + 4 * MIB - 1));
  CHECK(mmap(p + 3 * MIB, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + 3 * MIB);
  CHECK(is_zero(p + 3 * MIB, MIB) && !can_write(p + 3 * MIB) && !can_read(p + 3 * MIB - 1));
  CHECK(mmap(p + 6 * MIB, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + 6 * MIB);
  CHECK(!can_read(p + 6 * MIB) && mprotect(p + 6 * MIB, page, PROT_READ | PROT_WRITE) == 0);
  CHECK(is_zero(p + 6 * MIB, page) && can_write(p + 6 * MIB) && !can_read(p + 6 * MIB + page));
  CHECK(madvise(p + 7 * MIB, MIB, MADV_DONTNEED) == 0 && is_zero(p + 7 * MIB, MIB));
  CHECK(mprotect(p + 8 * MIB, 2 * MIB, PROT_READ) == 0);
  CHECK(madvise(p + 8 * MIB, MIB, MADV_DONTNEED) == 0 && is_zero(p + 8 * MIB, MIB));
  CHECK((unsigned char)p[9 * MIB] == byte_of(9 * MIB, 5) && !can_write(p + 8 * MIB));
  errno = 0;
  CHECK(mremap(p, most, most + MIB, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
  CHECK(munmap(p, most) == 0);
  free(others);
  p = fresh(2 * MIB);
  CHECK(mprotect(p, 2 * MIB, PROT_NONE) == 0);
  p = mremap(p, 2 * MIB, 4 * MIB, MREMAP_MAYMOVE);
  CHECK(p != MAP_FAILED && !can_read(p + 3 * MIB) && mprotect(p, 4 * MIB, PROT_READ) == 0);
  const bool locked = mlock(p, 4 * MIB) == 0;
  CHECK(munmap(p, MIB) == 0 && !can_read(p) && is_zero(p + MIB, MIB));
  CHECK((!locked || munlock(p + MIB, 3 * MIB) == 0) && munmap(p + MIB, 3 * MIB) == 0);
  /* of malloc's memory, and by the other name */
  CHECK(posix_memalign((void**)&p, page, most) == 0);
  fill(p, 0, most, 8);
  CHECK(mprotect(p, most, PROT_READ) == 0 && !can_write(p + most / 2) && is_filled(p, most, 8));
  CHECK(pkey_mprotect(p, most, PROT_READ | PROT_WRITE, -1) == 0 && can_write(p + most / 2));
  errno = 0;
  CHECK(mprotect(p + 1, page, PROT_READ) == -1 && errno == EINVAL);
  free(p);
  with_code();
  ring(false);
  neighbours();
  if (!children) return;
  ring(true);
  to_fixed_addresses();
}

/* Memory that no limit holds for: none of it is asked for at once. */
static void small_pieces(void) {
  const size_t count = 600000;
  char* last = NULL;
  for (size_t i = 0; i < count; i++) {
    char* piece = malloc(100);
    CHECK(piece != NULL);
    memcpy(piece, &last, sizeof last);
    last = piece;
  }
  size_t found = 0;
  for (char* next; last != NULL; last = next, found++) {
    memcpy(&next, last, sizeof next);
    if (found % 2 == 0) free(last);
  }
  CHECK(found == count);
}

static void input_and_output(void) {
  char* p = malloc(most);
  char* q = malloc(most);
  fill(p, 0, most, 11);
  FILE* f = tmpfile();
  CHECK(f != NULL && fwrite(p, 1, most, f) == most);
  rewind(f);
  CHECK(fread(q, 1, most, f) == most && memcmp(p, q, most) == 0);
  memset(q, 0, most);
  CHECK(fflush(f) == 0 && pread(fileno(f), q, most, 0) == (ssize_t)most && memcmp(p, q, most) == 0);
  fclose(f);
  memset(p, 'x', 3 * MIB);
  p[3 * MIB] = 0;
  printf("%s\n", p);
  free(p);
  free(q);
}

/* Goes through its memory until the end of the input; `forks`: a child looks at its own then. */
static void wait_for_input(bool forks) {
  unsigned char* p = malloc(most);
  fill(p, 0, most, 15);
  const pid_t child = forks ? fork() : 0;
  if (forks && child == 0) {
    while (getchar() != EOF) {
    }
    _exit(is_filled(p, most, 15) ? 0 : 1);
  }
  if (forks) fill(p, 0, most, 16);
  printf("waits\n");
  fflush(stdout);
  struct pollfd input = {0, POLLIN, 0};
  for (size_t part = most / 16, at = 0; poll(&input, 1, 0) == 0; at = (at + part) % (16 * part)) {
    for (size_t i = at; i < at + part; i += 4096) p[i]++;
    for (size_t i = at; i < at + part; i += 4096) p[i]--;
  }
  CHECK(is_filled(p, most, forks ? 16 : 15));
  int status = 0;
  CHECK(!forks || (waitpid(child, &status, 0) == child && status == 0));
  free(p);
}

static void* in_the_background(void* p) {
  for (size_t i = 0;; i = (i + 4093) % most) ((volatile char*)p)[i]++;
  return NULL;
}

/* A destructor of the library's kind, and an exit handler, that still use the memory; a thread that runs on. */
static char* late;
static void at_the_end(void) {
  printf("exit handler: %d\n", is_filled(late, most, 13));
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "sizes";
  if (argc > 2) most = strtoull(argv[2], NULL, 10) * MIB;
  if (strcmp(what, "sizes") == 0) {
    sizes(1);
    errors();
  } else if (strcmp(what, "threads") == 0) {
    threads();
  } else if (strcmp(what, "forks") == 0) {
    forks();
  } else if (strcmp(what, "maps") == 0) {
    maps();
  } else if (strcmp(what, "protects") == 0) {
    protects(true);
  } else if (strcmp(what, "protects_alone") == 0) {
    protects(false);
  } else if (strcmp(what, "small") == 0) {
    small_pieces();
  } else if (strcmp(what, "io") == 0) {
    input_and_output();
  } else if (strcmp(what, "wait") == 0) {
    wait_for_input(false);
  } else if (strcmp(what, "wait_forked") == 0) {
    wait_for_input(true);
  } else if (strcmp(what, "exit") == 0) {
    late = malloc(most);
    fill(late, 0, most, 13);
    atexit(at_the_end);
    pthread_t t;
    pthread_create(&t, NULL, in_the_background, malloc(most));
    exit(7);
  } else if (strcmp(what, "_exit") == 0) {
    late = malloc(most);
    fill(late, 0, most, 13);
    printf("%d\n", is_filled(late, most, 13));
    fflush(stdout);
    _exit(8);
  } else if (strcmp(what, "close") == 0) { /* as coreutils end */
    printf("closing\n");
    fclose(stdout);
    fclose(stderr);
  } else if (strcmp(what, "null") == 0) { /* a real bug stays one */
    late = malloc(most);
    fill(late, 0, most, 13);
    fflush(stdout);
    volatile char* volatile nowhere = (char*)16;
    *nowhere = 1;
  } else if (strcmp(what, "full") == 0) {
    size_t got = 0;
    void* all[1000];
    int n = 0;
    errno = 0;
    while (n < 1000 && (all[n] = malloc(most)) != NULL) n++, got += most;
    printf("%s after some: %d\n", n < 1000 ? strerror(errno) : "no end", n > 0);
    while (n > 0) free(all[--n]);
    void* again = malloc(most);
    printf("again: %d\n", again != NULL);
  } else if (strcmp(what, "exec") == 0) {
    late = malloc(most);
    strcpy(late, "text in cluster memory");
    char* list[] = {"echo", late, NULL};
    execv("/nonexistent/program", list);
    printf("%s: %d\n", strerror(errno), is_zero(late + 100, most - 100));
    fflush(stdout);
    execv("/bin/echo", list);
  } else if (strcmp(what, "streams") == 0) {
    streams();
  } else if (strcmp(what, "closes") == 0) {
    closes();
  } else if (strcmp(what, "descendants") == 0) {
    descendants();
  } else if (strcmp(what, "child") == 0) { /* an end, not wrong data, where a child has no cluster memory */
    late = malloc(most);
    fill(late, 0, most, 13);
    const pid_t child = fork();
    if (child == 0) _exit(is_filled(late, most, 13) ? 0 : 1);
    int status;
    waitpid(child, &status, 0);
    printf("%s\n", WIFSIGNALED(status) ? "killed" : WEXITSTATUS(status) == 0 ? "right" : "wrong");
  } else if (strcmp(what, "free") == 0) {
    char* volatile p = (char*)malloc(most) + 4096;
    free(p);
  } else {
    fprintf(stderr, "what is %s?\n", what);
    return 2;
  }
  if (strcmp(what, "close") != 0) printf("done %s\n", what);
  return 0;
}
