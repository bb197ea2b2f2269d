// Loads and stores. The first three are what most of a long run consists of: without a fault they take less
// than a microsecond.
#include <algorithm>
#include <cstring>

#include "operations.h"

namespace tasuki::stress {
namespace {

constexpr uint64_t kStay = 256;  // so many accesses are near each other, as those of programs are
constexpr size_t kNear = 2 * kPage, kSmall = 64;

Range nearby(Thread& t, Block** block) {
  const uint64_t random = t.random();
  if (random % kStay == 0 || t.place >= t.blocks.size()) {
    t.place = t.random() % t.blocks.size();
    t.from = t.random();
  }
  Block& b = t.blocks[t.place];
  *block = &b;
  const size_t from = (t.from + random / kStay % kNear) % b.bytes;
  return {from, std::min(b.bytes - from, 1 + (random >> 40) % kSmall)};
}

std::atomic_ref<uint64_t> counter(const World& w, uint64_t page, uint64_t word) {
  return std::atomic_ref(w.counters[page % World::kCounters * (kPage / 8) + word % (kPage / 8)]);
}

}  // namespace

void store(World&, Thread& t, Block&) {
  Block* b;
  const Range r = nearby(t, &b);
  const uint64_t word = t.random();
  for (size_t i = 0; i < r.bytes; i++) b->copy[r.from + i] = static_cast<std::byte>(word >> i % 57);
  memcpy(b->at + r.from, b->copy + r.from, r.bytes);
}

void load(World&, Thread& t, Block&) {
  Block* b;
  const Range r = nearby(t, &b);
  check(t, *b, r.from, r.bytes);
}

void add(World& w, Thread& t, Block&) {
  const uint64_t random = t.random();
  if (random % kStay == 0) t.counters = t.random();
  for (int i = 0; i < 4; i++) counter(w, t.counters, random >> (8 + 9 * i)).fetch_add(1);
  t.added += 4;
}

void add_everywhere(World& w, Thread& t, Block&) {
  for (int i = 0; i < 50; i++) counter(w, t.random(), t.random()).fetch_add(1);
  t.added += 50;
}

void store_range(World&, Thread& t, Block& b) {
  const Range r = any_range(t, b);
  fill(t, b.copy + r.from, r.bytes);
  if (t.random() % 2 == 0) {
    memcpy(b.at + r.from, b.copy + r.from, r.bytes);
  } else {
    for (size_t i = r.from; i < r.from + r.bytes; i++) const_cast<volatile std::byte&>(b.at[i]) = b.copy[i];
  }
}

void load_range(World&, Thread& t, Block& b) {
  const Range r = any_range(t, b);
  check(t, b, r.from, r.bytes);
}

void copy_range(World&, Thread& t, Block& b) {
  const Block& from = any_block(t);
  const size_t bytes = 1 + t.random() % std::min(b.bytes, from.bytes);
  memmove(b.at, from.at, bytes);
  memmove(b.copy, from.copy, bytes);
}

}  // namespace tasuki::stress
