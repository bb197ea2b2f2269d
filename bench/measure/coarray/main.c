// coarray-<mpi>: what puts and gets take. Told by its driver (`tasuki bench coarray`), one line a command,
// and answers as the other programs of measure/ do:
//
//   open <way> <elements>          once: messages, window or coarrays; arrays of so many doubles
//   shape <n0> <n1> <n2> <l0> <c0> <l1> <c1> <l2> <c2>     the array and its section
//   verify <operation> <seed>      the operation once with fresh data, every byte of the arrays checked
//   time <operation> <warm> <n> <blocks>     `warm` times, then `blocks` timed blocks of n times
//   quit
//
// Operations of two ranks are round trips and their times halves of them: rank 0's source goes to rank 1's
// target, and that to rank 0's target. put_alone and get_alone are rank 0's, from its source to rank 1's
// target and from rank 1's source to its target.
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/coarray/coarray.h"
#include "measure/common/rank.h"

enum { kMaxBlocks = 100000 };

struct section g_section;
double *g_source, *g_target, *g_packed_out, *g_packed_in;
size_t g_room;
static double* g_plain;  // memory of messages
static enum way g_way;

static const struct operation {
  const char* name;
  void (*run)(void);
  enum way way;
  int alone, dense;  // by rank 0 only; for sections in one piece only
} kOperations[] = {
    {"send", send_round, kMessages, 0, 1},
    {"send_packed", send_packed_round, kMessages, 0, 0},
    {"rma_put", window_put_round, kWindow, 0, 1},
    {"rma_get", window_get_round, kWindow, 0, 1},
    {"rma_put_packed", window_put_packed_round, kWindow, 0, 0},
    {"rma_put_alone", window_put_alone, kWindow, 1, 1},
    {"rma_get_alone", window_get_alone, kWindow, 1, 1},
    {"put", coarray_put_round, kCoarrays, 0, 0},
    {"get", coarray_get_round, kCoarrays, 0, 0},
    {"put_alone", coarray_put_alone, kCoarrays, 1, 0},
    {"get_alone", coarray_get_alone, kCoarrays, 1, 0},
};

size_t array_elements(void) {
  return g_section.extent[0] * g_section.extent[1] * g_section.extent[2];
}
size_t section_elements(void) {
  return g_section.length[0] * g_section.length[1] * g_section.length[2];
}
int is_dense(void) {
  const struct section* s = &g_section;
  if (s->length[0] > 1) return s->length[1] == s->extent[1] && s->length[2] == s->extent[2];
  return s->length[1] == 1 || s->length[2] == s->extent[2];
}

void pack(double* dense, const double* array) {
  const struct section* s = &g_section;
  for (size_t i = 0; i < s->length[0]; i++)
    for (size_t j = 0; j < s->length[1]; j++) {
      const double* row =
          array + ((s->lower[0] + i) * s->extent[1] + s->lower[1] + j) * s->extent[2] + s->lower[2];
      for (size_t k = 0; k < s->length[2]; k++) *dense++ = row[k];
    }
}
void unpack(double* array, const double* dense) {
  const struct section* s = &g_section;
  for (size_t i = 0; i < s->length[0]; i++)
    for (size_t j = 0; j < s->length[1]; j++) {
      double* row = array + ((s->lower[0] + i) * s->extent[1] + s->lower[1] + j) * s->extent[2] + s->lower[2];
      for (size_t k = 0; k < s->length[2]; k++) row[k] = *dense++;
    }
}

static void open_way(const char* name, size_t elements) {
  static const char* const kWays[] = {"messages", "window", "coarrays"};
  int way = 0;
  while (way < 3 && strcmp(name, kWays[way]) != 0) way++;
  if (way == 3 || g_room != 0 || elements == 0 || elements > (size_t)1 << 27) {
    answer("error\tcommand not understood: open %s", name);
    return;
  }
  // The arrays begin on pages, at different places within a set of the caches.
  const size_t each = (elements + 2 * kMargin + 511) / 512 * 512 + 512, all = 4 * each;
  if (available_memory() / 2 < 2 * all * sizeof(double)) {
    answer("error\tnot enough memory for sections of %zu elements: choose smaller --sizes", elements);
    return;
  }
  double* memory = NULL;
  if (way == kWindow) {
    memory = window_memory(all);
  } else if (way == kCoarrays) {
    memory = coarray_memory(all);
  } else {
    memory = g_plain = aligned_alloc(4096, all * sizeof(double));
  }
  if (memory == NULL) {
    answer("error\tno memory for sections of %zu elements", elements);
    return;
  }
  memset(memory, kGap, all * sizeof(double));
  g_way = (enum way)way;
  g_room = elements;
  g_source = memory + kMargin;
  g_target = g_source + each;
  g_packed_out = g_target + each;
  g_packed_in = g_packed_out + each;
  answer("ok");
}

static void end_way(void) {
  window_end();
  coarray_end();
  free(g_plain);
}

static double value_of(uint64_t seed, size_t i) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + i;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)(int64_t)(z ^ (z >> 31));
}

static void fill(double* array, uint64_t seed) {
  double* dense = g_packed_in;
  for (size_t i = 0; i < section_elements(); i++) dense[i] = value_of(seed, i);
  unpack(array, dense);
}

// Every byte of an array with its margins; 0 if one is wrong.
static int check(const double* array, uint64_t seed, size_t* wrong) {
  const struct section* s = &g_section;
  double gap;
  memset(&gap, kGap, sizeof gap);
  size_t taken = 0;
  for (size_t at = 0; at < array_elements() + 2 * kMargin; at++) {
    const size_t i = at - kMargin;  // wraps in the margin
    double expected = gap;
    if (at >= kMargin && i < array_elements()) {
      const size_t k = i % s->extent[2], j = i / s->extent[2] % s->extent[1],
                   p = i / s->extent[2] / s->extent[1];
      if (p - s->lower[0] < s->length[0] && j - s->lower[1] < s->length[1] && k - s->lower[2] < s->length[2])
        expected = value_of(seed, taken++);
    }
    if (memcmp(&expected, array - kMargin + at, sizeof expected) != 0) {
      *wrong = i;
      return 0;
    }
  }
  return 1;
}

// Both ranks are here, and each sees what the other has stored.
static void meet(void) {
  static void (*const kMeet[])(void) = {message_meet, window_meet, coarray_meet};
  kMeet[g_way]();
}

static void verify(const struct operation* o, uint64_t seed) {
  const size_t bytes = (array_elements() + 2 * kMargin) * sizeof(double);
  memset(g_source - kMargin, kGap, bytes);
  memset(g_target - kMargin, kGap, bytes);
  // A get by rank 0 alone reads from rank 1.
  const int reads = strcmp(o->name, "get_alone") == 0 || strcmp(o->name, "rma_get_alone") == 0;
  const int sends = reads ? 1 : 0;
  if (g_rank == sends) fill(g_source, seed);
  meet();
  if (!o->alone || g_rank == 0) o->run();
  meet();
  const int receives = !o->alone || g_rank != sends;
  size_t wrong = 0;
  if (receives && !check(g_target, seed, &wrong))
    answer("wrong\t%s of %zu elements: rank %d: element %td of the target array is wrong", o->name,
           section_elements(), g_rank, (ptrdiff_t)wrong);
  else if (g_rank == sends && !check(g_source, seed, &wrong))
    answer("wrong\t%s of %zu elements: rank %d: element %td of the source array has changed", o->name,
           section_elements(), g_rank, (ptrdiff_t)wrong);
  else
    answer("ok");
}

static void measure(const struct operation* o, long warm, long n, int blocks) {
  double* samples = malloc((size_t)blocks * sizeof *samples);
  const double per = o->alone ? (double)n : 2.0 * (double)n;
  meet();
  if (!o->alone || g_rank == 0) {
    for (long i = 0; i < warm; i++, repeated(i)) o->run();
    for (int b = 0; b < blocks; b++) {
      report_progress();
      const double start = now();
      for (long i = 0; i < n; i++, repeated(i)) o->run();
      samples[b] = (now() - start) / per * 1e6;
    }
  }
  meet();
  if (o->alone && g_rank != 0)
    answer("ok");
  else
    answer_times(samples, blocks);
  free(samples);
}

static int shape(const struct section* s) {
  size_t all = 1;
  for (int i = 0; i < 3; i++) {
    if (s->extent[i] == 0 || s->extent[i] > g_room / all || s->length[i] == 0 ||
        s->length[i] > s->extent[i] || s->lower[i] > s->extent[i] - s->length[i])
      return 0;
    all *= s->extent[i];
  }
  g_section = *s;
  return 1;
}

// The operation of that name, if this job can do it with this section.
static const struct operation* find_operation(const char* name) {
  for (size_t i = 0; i < sizeof kOperations / sizeof kOperations[0]; i++) {
    const struct operation* o = &kOperations[i];
    if (strcmp(name, o->name) == 0) return o->way == g_way && (is_dense() || !o->dense) ? o : NULL;
  }
  return NULL;
}

// Carries out one command; returns 0 after "quit".
static int obey(char* line) {
  struct section s;
  const struct operation* o;
  char name[20] = "";
  unsigned seed;
  long warm, n;
  int blocks;
  size_t elements;
  if (strcmp(line, "quit") == 0) return 0;
  if (sscanf(line, "open %19s %zu", name, &elements) == 2) {
    open_way(name, elements);
  } else if (sscanf(line, "shape %zu %zu %zu %zu %zu %zu %zu %zu %zu", &s.extent[0], &s.extent[1],
                    &s.extent[2], &s.lower[0], &s.length[0], &s.lower[1], &s.length[1], &s.lower[2],
                    &s.length[2]) == 9 &&
             shape(&s)) {
    answer("ok");
  } else if (section_elements() > 0 && sscanf(line, "verify %19s %u", name, &seed) == 2 &&
             (o = find_operation(name)) != NULL) {
    verify(o, seed);
  } else if (section_elements() > 0 && sscanf(line, "time %19s %ld %ld %d", name, &warm, &n, &blocks) == 4 &&
             (o = find_operation(name)) != NULL && n > 0 && blocks > 0 && blocks <= kMaxBlocks) {
    measure(o, warm, n, blocks);
  } else {
    answer("error\tcommand not understood: %s", line);
  }
  return 1;
}

int main(int argc, char** argv) {
  return serve(argc, argv, 2, obey, end_way);
}
