/* A program whose data can be checked at any moment, for fault_rounds.py, which takes its servers, its disk or
 * its memory away:
 *
 *     fault_program END seed=1 mib=24 arrays=6 threads=2 code=5 fork=0 [-- settings]
 *
 * Built with FAULT_DLM it allocates with dlm.h, else with malloc, for `tasuki mem`. Its arrays consist of
 * blocks. What is in a block follows from the seed, its place, and how often it was written, which is in
 * static memory: a table that is local. The threads verify and rewrite blocks that share pages, in any order
 * and by system calls; between their turns arrays grow, shrink, come and go, are discarded in part, and a
 * child verifies its copy of them.
 *
 * Prints "started" when it has cluster memory, "swapping" when all data were written once, "refused N
 * bytes" for each allocation that fails with ENOMEM, and goes on until the file END exists. Then it
 * verifies everything, prints the sum that it has read beside the one that it expects, and ends with
 * `code`; with 3 if there never was any memory, by abort() where something is wrong. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef FAULT_DLM
#include "dlm.h"
#else
#define dlm_alloc malloc
#define dlm_realloc realloc
#define dlm_free free
#endif

enum { kWords = 64, kBlock = kWords * 8, kPage = 4096, kMostArrays = 16, kMostThreads = 8, kTurn = 200 };
#define MOST_BLOCKS ((size_t)1 << 20) /* 512 MiB */

static struct {
  uint64_t* words;
  size_t blocks, room; /* the size, and the most that it may be */
  uint32_t* versions;  /* how often each block was written; 0: zeros */
} arrays[kMostArrays];
static uint32_t versions[MOST_BLOCKS];
static size_t seed = 1, mib = 24, count = 6, threads = 1, code, with_fork;
static size_t refusals;
static int ending, pipes[kMostThreads][2];
static const char* end_file;
static pthread_barrier_t barrier;

/* Not _exit(): with fault tolerance Open MPI 5.0.11 tells nobody of a rank that ends so, and its launcher waits
 * for the others. */
static void fail(void) {
  fflush(NULL);
  abort();
}

static void wrong(const char* what, size_t a, size_t b, size_t w, uint64_t is, uint64_t should) {
  fprintf(stderr,
          "fault_program: WRONG DATA %s: array %zu block %zu of %zu word %zu at %p is %016llx, not %016llx "
          "(version %u)\n",
          what, a, b, arrays[a].blocks, w, (void*)(arrays[a].words + b * kWords + w), (unsigned long long)is,
          (unsigned long long)should, arrays[a].versions[b]);
  fail();
}

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "fault_program: %s:%d: not true: %s (%s)\n", __FILE__, __LINE__, #condition, \
              strerror(errno));                                                                    \
      fail();                                                                                      \
    }                                                                                              \
  } while (0)

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}

static uint64_t next(uint64_t* state) {
  return mix(*state += 0x632be59bd9b4e019u);
}

/* Some blocks compress, some consist of one word, most are noise. */
static uint64_t value(size_t a, size_t b, size_t w, uint32_t version) {
  if (version == 0) return 0;
  const uint64_t base = mix(seed + ((uint64_t)a << 56) + ((uint64_t)b << 20) + version);
  if (base % 4 == 0) return base;
  if (base % 4 == 1) return base + w;
  return mix(base + w);
}

static void verify_words(const char* what, size_t a, size_t b, const uint64_t* words) {
  for (size_t w = 0; w < kWords; w++) {
    const uint64_t is = words[w], should = value(a, b, w, arrays[a].versions[b]);
    if (is != should) wrong(what, a, b, w, is, should);
  }
}

static void verify(const char* what, size_t a, size_t b) {
  verify_words(what, a, b, arrays[a].words + b * kWords);
}

static void write_block(size_t a, size_t b) {
  const uint32_t version = ++arrays[a].versions[b];
  for (size_t w = 0; w < kWords; w++) arrays[a].words[b * kWords + w] = value(a, b, w, version);
}

/* The kernel reads the block, and writes it again. */
static void pass_through_pipe(size_t a, size_t b, const int* pipe) {
  uint64_t* const at = arrays[a].words + b * kWords;
  uint64_t copy[kWords];
  CHECK(write(pipe[1], at, kBlock) == kBlock);
  CHECK(read(pipe[0], copy, kBlock) == kBlock);
  verify_words("written by a system call", a, b, copy);
  arrays[a].versions[b]++;
  for (size_t w = 0; w < kWords; w++) copy[w] = value(a, b, w, arrays[a].versions[b]);
  CHECK(write(pipe[1], copy, kBlock) == kBlock);
  CHECK(read(pipe[0], at, kBlock) == kBlock);
}

/* A thread has the blocks whose numbers leave the rest `me`. */
static void turn_of_thread(size_t me, uint64_t* state) {
  for (int i = 0; i < kTurn; i++) {
    const uint64_t dice = next(state);
    const size_t a = dice % count;
    if (arrays[a].blocks < threads) continue;
    const size_t here = arrays[a].blocks / threads;
    const size_t b = (dice >> 20) % here * threads + me;
    const unsigned kind = dice >> 8 & 63;
    if (kind == 0) {
      for (size_t k = b; k < arrays[a].blocks && k < b + 1024 * threads; k += threads)
        verify("in a sweep", a, k);
    } else if (kind == 1) {
      for (size_t k = b; k < arrays[a].blocks && k < b + 1024 * threads; k += threads) write_block(a, k);
    } else if (kind < 6) {
      pass_through_pipe(a, b, pipes[me]);
    } else {
      verify("at random", a, b);
      if (kind % 2 != 0) write_block(a, b);
    }
  }
}

/* False: there is no room, and the array is as it was. */
static int resize(size_t a, size_t blocks) {
  const size_t before = arrays[a].blocks, bytes = blocks * kBlock;
  if (blocks == 0) {
    dlm_free(arrays[a].words);
    arrays[a].words = NULL;
    arrays[a].blocks = 0;
    return 1;
  }
  errno = 0;
  const int fresh = arrays[a].words == NULL;
  uint64_t* const words = fresh ? dlm_alloc(bytes) : dlm_realloc(arrays[a].words, bytes);
  if (words == NULL) {
    CHECK(errno == ENOMEM);
    refusals++;
    printf("refused %zu bytes\n", bytes);
    fflush(stdout);
    return 0;
  }
  arrays[a].words = words;
  arrays[a].blocks = blocks;
  for (size_t b = before; b < blocks; b++) {
    arrays[a].versions[b] = 0;
#ifdef FAULT_DLM
    if (fresh && b % 5 == 0) verify("fresh", a, b); /* zeros */
#endif
    write_block(a, b);
  }
  return 1;
}

static void discard(size_t a, uint64_t dice) {
  if (arrays[a].blocks < 64) return;
  const uintptr_t first = ((uintptr_t)arrays[a].words + kPage - 1) / kPage * kPage;
  const uintptr_t end = (uintptr_t)(arrays[a].words + arrays[a].blocks * kWords) / kPage * kPage;
  const size_t pages = (end - first) / kPage;
  if (pages == 0) return;
  const size_t from = dice % pages, most = pages - from;
  const size_t n = (dice >> 32) % (most < 64 ? most : 64) + 1;
  char* const at = (char*)first + from * kPage;
  const size_t offset = (size_t)(at - (char*)arrays[a].words);
  const size_t b0 = (offset + kBlock - 1) / kBlock, b1 = (offset + n * kPage) / kBlock;
  /* Whole blocks, in whole pages: what hangs over the borders is written again. */
  if (b0 > 0) verify("before a discard", a, b0 - 1);
#ifdef FAULT_DLM
  CHECK(dlm_discard(at, n * kPage) == 0);
#else
  CHECK(madvise(at, n * kPage, MADV_DONTNEED) == 0);
#endif
  for (size_t b = b0; b < b1; b++) arrays[a].versions[b] = 0;
  if (b0 > 0 && offset % kBlock != 0) write_block(a, b0 - 1);
  if (b1 < arrays[a].blocks && (offset + n * kPage) % kBlock != 0) write_block(a, b1);
}

static void fork_and_verify(uint64_t dice) {
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (size_t a = 0; a < count; a++)
      for (size_t b = dice % 64; b < arrays[a].blocks; b += 97) verify("in a child", a, b);
    _exit(0);
  }
  uint64_t state = dice;
  for (int i = 0; i < 50; i++) {
    const size_t a = next(&state) % count;
    if (arrays[a].blocks > 0) write_block(a, next(&state) % arrays[a].blocks);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fprintf(stderr, "fault_program: the child ended with status %#x\n", (unsigned)status);
    fail();
  }
}

/* While the other threads wait. */
static void change_arrays(uint64_t* state) {
  const uint64_t dice = next(state);
  const size_t a = (dice >> 8) % count;
  const size_t blocks = arrays[a].room / 4 + (dice >> 16) % (arrays[a].room * 3 / 4);
  switch (dice % 16) {
    case 0:
    case 1:
      resize(a, blocks);
      break;
    case 2:
      resize(a, 0);
      resize(a, blocks);
      break;
    case 3:
    case 4:
      discard(a, dice >> 8);
      break;
    case 5:
      if (with_fork != 0) fork_and_verify(dice >> 8);
      break;
    default:
      break;
  }
}

static void* run_thread(void* number) {
  const size_t me = (size_t)number;
  uint64_t state = mix(seed * 1000 + me);
  for (;;) {
    pthread_barrier_wait(&barrier);
    if (me == 0) {
      ending = access(end_file, F_OK) == 0;
      if (!ending) change_arrays(&state);
    }
    pthread_barrier_wait(&barrier);
    if (ending) return NULL;
    turn_of_thread(me, &state);
  }
}

int main(int argc, char** argv) {
#ifdef FAULT_DLM
  dlm_startup(&argc, &argv);
#endif
  CHECK(argc >= 2);
  printf("started\n");
  fflush(stdout);
  end_file = argv[1];
  const struct {
    const char* name;
    size_t* number;
  } names[] = {{"seed", &seed},       {"mib", &mib},   {"arrays", &count},
               {"threads", &threads}, {"code", &code}, {"fork", &with_fork}};
  for (int i = 2; i < argc; i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
      const size_t length = strlen(names[k].name);
      if (strncmp(argv[i], names[k].name, length) == 0 && argv[i][length] == '=')
        *names[k].number = strtoull(argv[i] + length + 1, NULL, 10);
    }
  CHECK(count >= 1 && count <= kMostArrays && threads >= 1 && threads <= kMostThreads);
  const size_t room = (mib << 20) / kBlock / count;
  CHECK(room * count <= MOST_BLOCKS && room >= 2048);
  for (size_t a = 0; a < count; a++) {
    arrays[a].room = room;
    arrays[a].versions = versions + a * room;
    resize(a, room);
  }
  size_t there = 0;
  for (size_t a = 0; a < count; a++) there += arrays[a].blocks;
  if (there == 0) {
    printf("no memory at all\n");
    return 3;
  }
  for (size_t i = 0; i < threads; i++) CHECK(pipe(pipes[i]) == 0);
  printf("swapping\n");
  fflush(stdout);

  pthread_t others[kMostThreads];
  CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0);
  for (size_t i = 1; i < threads; i++) CHECK(pthread_create(&others[i], NULL, run_thread, (void*)i) == 0);
  run_thread(NULL);
  for (size_t i = 1; i < threads; i++) pthread_join(others[i], NULL);

  uint64_t sum = 0, expected = 0, bytes = 0;
  for (size_t a = 0; a < count; a++) {
    for (size_t b = 0; b < arrays[a].blocks; b++) {
      verify("at the end", a, b);
      for (size_t w = 0; w < kWords; w++) {
        sum = mix(sum + arrays[a].words[b * kWords + w]);
        expected = mix(expected + value(a, b, w, arrays[a].versions[b]));
      }
    }
    bytes += arrays[a].blocks * kBlock;
  }
  printf("verified at the end: %llu bytes, sum %016llx, expected %016llx, %zu refusals\n",
         (unsigned long long)bytes, (unsigned long long)sum, (unsigned long long)expected, refusals);
  fflush(stdout);
  return sum == expected ? (int)code : 99;
}
