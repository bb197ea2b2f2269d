#include "verify.h"

#include <stdio.h>
#include <string.h>

static inline uint32_t mix(uint32_t seed, uint32_t word) {
  uint32_t x = seed ^ (word * 0x9e3779b1u);
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  x ^= x >> 13;
  return x;
}

static uint32_t rank_seed(uint32_t seed, int rank) {
  return (seed * 2 + (uint32_t)rank) * 0x85ebca6bu + 0x27d4eb2fu;
}

static void fill_range(char* arena, size_t begin, size_t end, uint32_t seed) {
  uint32_t* words = (uint32_t*)arena;
  for (size_t i = begin / 4; i < end / 4; i++) words[i] = mix(seed, (uint32_t)i);
}

void fill_arena(const struct instance* in, char* arena, int rank, struct fill f, int whole) {
  if (whole) fill_range(arena, 0, in->arena_bytes, rank_seed(f.base_seed, rank));
  for (size_t w = 0; w < in->window_count; w++)
    fill_range(arena, in->windows[w].begin, in->windows[w].end, rank_seed(f.seed, rank));
}

void poison_receive(const struct instance* in, char* arena) {
  const size_t element = in->pattern->element;
  for (size_t k = 0; k < in->elements; k++) memset(arena + in->to[k] * element, 0xa5, element);
}

// The first wrong word of a range, or `end`.
static size_t first_wrong(const char* arena, size_t begin, size_t end, uint32_t seed) {
  const uint32_t* words = (const uint32_t*)arena;
  enum { kBlock = 1024 };
  for (size_t at = begin / 4; at < end / 4; at += kBlock) {
    const size_t stop = at + kBlock < end / 4 ? at + kBlock : end / 4;
    uint32_t difference = 0;  // without a branch per word: the compiler vectorises this
    for (size_t i = at; i < stop; i++) difference |= words[i] ^ mix(seed, (uint32_t)i);
    if (difference != 0)
      for (size_t i = at; i < stop; i++)
        if (words[i] != mix(seed, (uint32_t)i)) return i * 4;
  }
  return end;
}

int check_arena(const struct instance* in, char* arena, int rank, struct fill f, int whole, char* text,
                size_t text_bytes) {
  const size_t words = in->pattern->element / 4;
  const int source = in->in_place ? 0 : 1 - rank;
  const uint32_t theirs = rank_seed(f.seed, source), mine = rank_seed(f.seed, rank);
  uint32_t* memory = (uint32_t*)arena;
  for (size_t k = 0; k < in->elements; k++)
    for (size_t w = 0; w < words; w++) {
      const uint32_t from = in->from[k] * (uint32_t)words + (uint32_t)w;
      const uint32_t to = in->to[k] * (uint32_t)words + (uint32_t)w;
      if (memory[to] != mix(theirs, from)) {
        snprintf(text, text_bytes,
                 "%s, %zu bytes, rank %d: byte %zu of the received message is wrong (%08x, sent %08x)",
                 in->pattern->name, in->elements * in->pattern->element, rank, (k * words + w) * 4,
                 memory[to], mix(theirs, from));
        return 0;
      }
      memory[to] = mix(mine, to);
    }

  size_t wrong = in->arena_bytes, done = 0;
  const uint32_t base = rank_seed(f.base_seed, rank);
  for (size_t w = 0; w < in->window_count && wrong == in->arena_bytes; w++) {
    const struct window* window = &in->windows[w];
    size_t at = window->begin;
    if (whole) at = first_wrong(arena, done, window->begin, base);
    if (at == window->begin) at = first_wrong(arena, window->begin, window->end, mine);
    if (at != window->end) wrong = at;
    done = window->end;
  }
  if (whole && wrong == in->arena_bytes) wrong = first_wrong(arena, done, in->arena_bytes, base);
  if (wrong == in->arena_bytes) return 1;
  snprintf(
      text, text_bytes,
      "%s, %zu bytes, rank %d: byte %zu of its memory was overwritten though it is not part of the message",
      in->pattern->name, in->elements * in->pattern->element, rank, wrong);
  return 0;
}
