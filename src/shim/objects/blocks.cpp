#include "shim/objects/blocks.h"

#include <cstdlib>

#include "message/shared/shared.h"

namespace tasuki::shim {
namespace {

using message::kLine;
using message::Locked;
using message::SpinLock;

struct Block {
  uint64_t capacity;
  Block* next;
};
constexpr uint64_t kHeader = kLine;  // keeps the bytes aligned
constexpr uint64_t kSmallestBlock = 16 << 10;
constexpr uint64_t kMostKept = 128 << 20;
// More than this in use at once (many receives posted ahead): the library then needs no memory of its own.
constexpr uint64_t kMostUsed = 512 << 20;

struct Blocks {
  SpinLock lock;
  Block* free = nullptr;
  uint64_t kept = 0, used = 0;
};
Blocks g_blocks;

char* take(uint64_t bytes, uint64_t most_used) {
  uint64_t capacity = kSmallestBlock;
  while (capacity < bytes) capacity *= 2;
  Block* b = nullptr;
  {
    Locked locked(g_blocks.lock);
    if (g_blocks.used + capacity > most_used) return nullptr;
    g_blocks.used += capacity;
    Block** at = &g_blocks.free;
    while (*at != nullptr && (*at)->capacity != capacity) at = &(*at)->next;
    if ((b = *at) != nullptr) {
      *at = b->next;
      g_blocks.kept -= capacity;
    }
  }
  if (b == nullptr) {
    b = static_cast<Block*>(aligned_alloc(kLine, kHeader + capacity));
    if (b == nullptr) {
      Locked locked(g_blocks.lock);
      g_blocks.used -= capacity;
      return nullptr;
    }
    b->capacity = capacity;
  }
  return reinterpret_cast<char*>(b) + kHeader;
}

}  // namespace

char* take_block(uint64_t bytes) {
  return take(bytes, kMostUsed);
}

char* take_needed_block(uint64_t bytes) {
  return take(bytes, UINT64_MAX);
}

void give_block(char* data) {
  Block* b = reinterpret_cast<Block*>(data - kHeader);
  {
    Locked locked(g_blocks.lock);
    g_blocks.used -= b->capacity;
    if (g_blocks.kept + b->capacity <= kMostKept) {
      g_blocks.kept += b->capacity;
      b->next = g_blocks.free;
      g_blocks.free = b;
      return;
    }
  }
  free(b);
}

}  // namespace tasuki::shim
