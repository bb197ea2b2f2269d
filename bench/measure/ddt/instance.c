// Making a row ready: arrays, datatypes, the map of elements, and what verification and touching derive
// from it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "row.h"

enum {
  kLine = 64,        // bytes of a cache line; arrays begin on one
  kGuard = 512,      // bytes between two arrays, where nothing may be written
  kMargin = 256,     // bytes checked on either side of the data in a timed round
  kSmall = 16 << 20  // an arena up to this size is one window: refilled and checked as a whole each time
};

void* checked_malloc(size_t bytes) {
  void* p = malloc(bytes > 0 ? bytes : 1);
  if (p == NULL) {
    fprintf(stderr, "ddt: out of memory (%zu bytes)\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return p;
}

size_t place_array(struct instance* in, size_t bytes) {
  const size_t at = (in->arena_bytes + kGuard + kLine - 1) / kLine * kLine;
  in->arena_bytes = at + bytes;
  return at;
}

void map_element(struct instance* in, size_t from_byte, size_t to_byte) {
  const size_t element = in->pattern->element;
  if (in->mapped >= in->elements || from_byte + element > in->arena_bytes ||
      to_byte + element > in->arena_bytes) {
    fprintf(stderr, "ddt: %s: the map of elements leaves its arrays\n", in->pattern->name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  in->from[in->mapped] = (uint32_t)(from_byte / element);
  in->to[in->mapped] = (uint32_t)(to_byte / element);
  in->mapped++;
}

static uint64_t splitmix64(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int* random_list(int count, int limit, uint64_t seed) {
  int* all = checked_malloc((size_t)limit * sizeof *all);
  for (int i = 0; i < limit; i++) all[i] = i;
  for (int i = 0; i < count; i++) {  // Fisher-Yates, as far as the list goes
    const int other = i + (int)(splitmix64(&seed) % (uint64_t)(limit - i));
    const int swap = all[i];
    all[i] = all[other];
    all[other] = swap;
  }
  int* list = checked_malloc((size_t)count * sizeof *list);
  memcpy(list, all, (size_t)count * sizeof *list);
  free(all);
  return list;
}

static void describe(struct instance* in, const struct row* r) {
  memset(in, 0, sizeof *in);
  in->row = r;
  in->pattern = r->pattern;
  in->n = r->n;
  in->pattern->layout(in);
  in->arena_bytes = (in->arena_bytes + kGuard + kLine - 1) / kLine * kLine;
}

void row_size(const struct row* r, size_t* message_bytes, size_t* arena_bytes) {
  struct instance in;
  describe(&in, r);
  *message_bytes = in.elements * in.pattern->element;
  *arena_bytes = in.arena_bytes;
  free(in.list[0]);
  free(in.list[1]);
}

static int compare_sizes(const void* a, const void* b) {
  const size_t x = *(const size_t*)a, y = *(const size_t*)b;
  return (x > y) - (x < y);
}

// Sorted, each line once; the caller frees.
static size_t* lines_of(const struct instance* in, const uint32_t* elements, size_t* count) {
  size_t* lines = checked_malloc(in->elements * sizeof *lines);
  size_t n = 0;
  for (size_t k = 0; k < in->elements; k++) {
    const size_t line = elements[k] * in->pattern->element / kLine * kLine;
    if (n == 0 || lines[n - 1] != line) lines[n++] = line;
  }
  qsort(lines, n, sizeof *lines, compare_sizes);
  size_t unique = 0;
  for (size_t i = 0; i < n; i++)
    if (unique == 0 || lines[unique - 1] != lines[i]) lines[unique++] = lines[i];
  *count = unique;
  return lines;
}

// Merges the margins around the lines that are read or written.
static void make_windows(struct instance* in) {
  if (in->arena_bytes <= kSmall) {
    in->windows = checked_malloc(sizeof *in->windows);
    in->windows[0] = (struct window){0, in->arena_bytes};
    in->window_count = 1;
    return;
  }
  in->windows = checked_malloc((in->from_line_count + in->to_line_count) * sizeof *in->windows);
  size_t f = 0, t = 0;
  while (f < in->from_line_count || t < in->to_line_count) {
    const int take_from =
        t == in->to_line_count || (f < in->from_line_count && in->from_lines[f] < in->to_lines[t]);
    const size_t line = take_from ? in->from_lines[f++] : in->to_lines[t++];
    const size_t begin = line < kMargin ? 0 : line - kMargin;
    const size_t end = line + kLine + kMargin < in->arena_bytes ? line + kLine + kMargin : in->arena_bytes;
    struct window* last = in->window_count > 0 ? &in->windows[in->window_count - 1] : NULL;
    if (last != NULL && begin <= last->end)
      last->end = end > last->end ? end : last->end;
    else
      in->windows[in->window_count++] = (struct window){begin, end};
  }
}

char* new_arena(const struct instance* in) {
  void* p = NULL;
  return posix_memalign(&p, kLine, in->arena_bytes) == 0 ? p : NULL;
}

int instance_open(struct instance* in, const struct row* r) {
  describe(in, r);
  in->arena = new_arena(in);
  if (in->arena == NULL) {
    instance_close(in);
    return -1;
  }
  in->send.type = in->receive.type = MPI_DATATYPE_NULL;
  in->pattern->types(in);
  in->from = checked_malloc(in->elements * sizeof *in->from);
  in->to = checked_malloc(in->elements * sizeof *in->to);
  in->pattern->map(in);
  int send_bytes = 0, receive_bytes = 0;
  MPI_Type_size(in->send.type, &send_bytes);
  MPI_Type_size(in->receive.type, &receive_bytes);
  const size_t bytes = in->elements * in->pattern->element;
  if (in->mapped != in->elements || bytes != (size_t)send_bytes * (size_t)in->send.count ||
      bytes != (size_t)receive_bytes * (size_t)in->receive.count) {
    fprintf(stderr, "ddt: %s: datatypes and map disagree about the size of a message\n", in->pattern->name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  in->in_place = memcmp(in->from, in->to, in->elements * sizeof *in->from) == 0;
  in->from_lines = lines_of(in, in->from, &in->from_line_count);
  in->to_lines = lines_of(in, in->to, &in->to_line_count);
  make_windows(in);
  return 0;
}

void instance_close(struct instance* in) {
  if (in->arena != NULL) {
    MPI_Type_free(&in->send.type);
    MPI_Type_free(&in->receive.type);
  }
  free(in->arena);
  free(in->from);
  free(in->to);
  free(in->list[0]);
  free(in->list[1]);
  free(in->from_lines);
  free(in->to_lines);
  free(in->windows);
  memset(in, 0, sizeof *in);
}
