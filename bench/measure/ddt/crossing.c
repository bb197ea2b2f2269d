#include "crossing.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "measure/common/rank.h"
#include "packs.h"

enum { kLine = 64, kMostBlocks = 100, kPolls = 20000 };

static void read_lines(const char* arena, const size_t* lines, size_t count) {
  for (size_t i = 0; i < count; i++) (void)*(const volatile uint32_t*)(arena + lines[i]);
}

void write_sent_lines(const struct instance* in, char* arena) {
  for (size_t i = 0; i < in->from_line_count; i++) {
    volatile uint32_t* word = (volatile uint32_t*)(arena + in->from_lines[i]);
    *word = *word;
  }
}
void read_sent_lines(const struct instance* in, const char* arena) {
  read_lines(arena, in->from_lines, in->from_line_count);
}
void read_received_lines(const struct instance* in, const char* arena) {
  read_lines(arena, in->to_lines, in->to_line_count);
}

enum what { kInPlace, kPacked, kQuit };

struct side {
  char* arena;
  char* dense;
};

struct meeting {
  const struct instance* in;
  struct side sides[2];
  enum what what;  // of the block that begins, and how many round trips it has
  long trips;
  // Blocks that may begin and that the other thread has ended; messages that are there: each on a line of its
  // own.
  _Alignas(kLine) atomic_long begun;
  _Alignas(kLine) atomic_long ended;
  _Alignas(kLine) atomic_long there[2];
};

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void wait_for(const atomic_long* flag, long value) {
  for (long polls = 0; atomic_load_explicit(flag, memory_order_acquire) < value; polls++) {
    if (polls < kPolls)
      relax();
    else
      sched_yield();  // the other thread does not run
  }
}

static void write_one(struct meeting* m, int me) {
  write_sent_lines(m->in, m->sides[me].arena);
  if (m->what == kPacked) pack_by_hand(m->in, m->sides[me].dense, m->sides[me].arena);
}
static void read_one(struct meeting* m, int whose) {
  if (m->what == kInPlace) {
    read_sent_lines(m->in, m->sides[whose].arena);
  } else {
    const size_t bytes = m->in->elements * m->in->pattern->element;
    for (size_t i = 0; i < bytes; i += kLine) (void)*(const volatile uint32_t*)(m->sides[whose].dense + i);
  }
}

// `sent`: messages of this direction until now.
static void block(struct meeting* m, int me, long sent) {
  for (long i = 1; i <= m->trips; i++) {
    if (me != 0) {
      wait_for(&m->there[0], sent + i);
      read_one(m, 0);
    }
    write_one(m, me);
    atomic_store_explicit(&m->there[me], sent + i, memory_order_release);
    if (me == 0) {
      wait_for(&m->there[1], sent + i);
      read_one(m, 1);
    }
  }
}

static void* other_thread(void* argument) {
  struct meeting* m = argument;
  long sent = 0;
  for (long turn = 1;; turn++) {
    wait_for(&m->begun, turn);
    if (m->what == kQuit) return NULL;
    block(m, 1, sent);
    sent += m->trips;
    atomic_store_explicit(&m->ended, turn, memory_order_release);
  }
}

static double median_of(struct meeting* m, enum what what, double seconds, long* turn, long* sent) {
  double samples[kMostBlocks];
  int blocks = 0;
  m->what = what;
  m->trips = 3;
  const double end = now() + seconds;
  for (int warm = 1; blocks == 0 || (blocks < kMostBlocks && now() < end); warm = 0) {
    const double start = now();
    atomic_store_explicit(&m->begun, ++*turn, memory_order_release);
    block(m, 0, *sent);
    *sent += m->trips;
    const double once = (now() - start) / (double)m->trips;
    wait_for(&m->ended, *turn);
    if (warm)
      m->trips = once < 1e-4 ? (long)(1e-4 / (once + 1e-9)) + 1 : 1;
    else
      samples[blocks++] = once * 0.5e6;
  }
  qsort(samples, (size_t)blocks, sizeof samples[0], compare_doubles);
  return quantile(samples, blocks, 0.5);
}

static int start_on(int core, pthread_t* thread, struct meeting* m) {
  pthread_attr_t attributes;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_attr_init(&attributes);
  const int refused = pthread_attr_setaffinity_np(&attributes, sizeof set, &set) != 0 ||
                      pthread_create(thread, &attributes, other_thread, m) != 0;
  pthread_attr_destroy(&attributes);
  return refused ? -1 : 0;
}

// The caller stays off `core` until it gives the cores in `before` back. Returns 0, or -1 if it has no other.
static int keep_off(int core, cpu_set_t* before) {
  cpu_set_t own;
  if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof *before, before) != 0) return -1;
  CPU_ZERO(&own);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&own) == 0; i++)
    if (i != core && CPU_ISSET(i, before)) CPU_SET(i, &own);
  return CPU_COUNT(&own) == 0 ? -1 : sched_setaffinity(0, sizeof own, &own);
}

int measure_crossing(const struct instance* in, char* arenas[2], int core, double seconds,
                     struct crossing* result) {
  const size_t bytes = (in->elements * in->pattern->element + 2 * kLine - 1) / kLine * kLine;
  struct meeting m = {.in = in};
  cpu_set_t cores;
  if (keep_off(core, &cores) != 0) return -1;
  int ready = 1;
  for (int i = 0; i < 2; i++) {
    m.sides[i] = (struct side){arenas[i], aligned_alloc(kLine, bytes)};
    if (m.sides[i].dense != NULL)
      memset(m.sides[i].dense, 1, bytes);
    else
      ready = 0;
  }
  pthread_t other;
  ready = ready && start_on(core, &other, &m) == 0;
  if (ready) {
    long turn = 0, sent = 0;
    result->in_place = median_of(&m, kInPlace, seconds / 2, &turn, &sent);
    result->packed = median_of(&m, kPacked, seconds / 2, &turn, &sent);
    m.what = kQuit;
    atomic_store_explicit(&m.begun, turn + 1, memory_order_release);
    pthread_join(other, NULL);
  }
  sched_setaffinity(0, sizeof cores, &cores);
  for (int i = 0; i < 2; i++) free(m.sides[i].dense);
  return ready ? 0 : -1;
}
