#include "message/shared/pool.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "os/memory/mapping.h"

namespace tasuki::message {
namespace {

constexpr size_t kSlab = 64 << 10;
constexpr uint64_t kSmallestCell = 64;

uint32_t class_of(uint64_t bytes) {
  const uint64_t rounded = std::bit_ceil(bytes < kSmallestCell ? kSmallestCell : bytes);
  return static_cast<uint32_t>(std::countr_zero(rounded) - std::countr_zero(kSmallestCell));
}

uint64_t room_of(const Cell* cell) {
  return sizeof(Cell) + cell->capacity;
}

}  // namespace

Request* RequestPool::take() {
  if (free_ == nullptr) {
    char* slab = static_cast<char*>(map_forever(kSlab));
    if (slab == nullptr) return nullptr;
    for (size_t at = 0; at + sizeof(Request) <= kSlab; at += sizeof(Request)) {
      Request* r = new (slab + at) Request{};
      r->next = free_;
      free_ = r;
    }
  }
  Request* r = free_;
  free_ = r->next;
  return r;
}

void RequestPool::give(Request* r) {
  r->next = free_;
  free_ = r;
}

Cell* CellPool::take(uint64_t bytes, Endpoint* self, Ring* debtor) {
  const uint32_t wanted = class_of(bytes);
  const uint32_t size_class = wanted < kClasses ? wanted : kLarge;
  if (free_[size_class] == nullptr) collect(self);
  Cell** at = &free_[size_class];
  if (size_class == kLarge)  // rare: the first that is large enough
    while (*at != nullptr && (*at)->capacity < bytes) at = &(*at)->next;
  if (*at == nullptr) {
    if (!map(size_class, bytes, self)) return nullptr;
    at = &free_[size_class];
  }
  Cell* cell = *at;
  *at = cell->next;
  idle_ -= room_of(cell);
  if (cell->slab != nullptr) cell->slab->used++;
  cell->charged = 0;
  cell->debtor = debtor;
  if (debtor != nullptr) debtor->outstanding += room_of(cell);
  return cell;
}

// More cells of a class, in front of its free ones; a large one is a mapping of its own.
bool CellPool::map(uint32_t size_class, uint64_t bytes, Endpoint* self) {
  const bool large = size_class == kLarge;
  const uint64_t capacity = large ? bytes : kSmallestCell << size_class;
  const size_t each = (sizeof(Cell) + capacity + kLine - 1) / kLine * kLine;
  const size_t size = os::page_ceil(large ? each : sizeof(Slab) + std::max(each * 4, kSlab - sizeof(Slab)));
  char* memory = static_cast<char*>(map_shared(size));
  if (memory == nullptr) return false;
  mapped_.fetch_add(size, std::memory_order_relaxed);
  Slab* slab = nullptr;
  if (!large) {
    slab = new (memory) Slab{};
    slab->bytes = size;
  }
  for (size_t at = large ? 0 : sizeof(Slab); at + each <= size; at += each) {
    Cell* cell = reinterpret_cast<Cell*>(memory + at);
    cell->owner = self;
    cell->capacity = large ? size - sizeof(Cell) : capacity;
    cell->size_class = size_class;
    cell->slab = slab;
    cell->next = free_[size_class];
    free_[size_class] = cell;
    idle_ += room_of(cell);
    if (large) break;
  }
  return true;
}

void CellPool::give(Cell* cell) {
  const uint64_t room = room_of(cell);
  forgive(cell);
  if (cell->slab != nullptr) cell->slab->used--;
  idle_ += room;
  cell->next = free_[cell->size_class];
  free_[cell->size_class] = cell;
}

void CellPool::forgive(Cell* cell) {
  if (cell->debtor != nullptr) cell->debtor->outstanding -= room_of(cell);
  cell->debtor = nullptr;
}

void CellPool::collect(Endpoint* self) {
  if (self->returned.load(std::memory_order_relaxed) == nullptr) return;
  Cell* cell = self->returned.exchange(nullptr, std::memory_order_acquire);
  while (cell != nullptr) {
    Cell* next = cell->next;
    if (cell->attachment == attachment_) released_ += cell->charged;
    give(cell);
    cell = next;
  }
  if (idle_ > trim_above_) trim();
}

// Unmaps idle large cells, and slabs of which every cell is idle, until little is idle. A walk along all idle
// cells: it comes again only when there are twice as many as it has left.
void CellPool::trim() {
  uint64_t left = idle_;
  Slab* leaving = nullptr;
  for (Cell*& list : free_) {
    for (Cell** at = &list; *at != nullptr;) {
      Cell* cell = *at;
      Slab* slab = cell->slab;
      if (slab != nullptr && slab->used == 0 && slab->leaving == 0 && left > kMostIdle / 2) {
        slab->leaving = 1;
        slab->next = leaving;
        leaving = slab;
        left -= std::min(left, slab->bytes);
      }
      if (slab != nullptr ? slab->leaving == 0 : left <= kMostIdle / 2) {
        at = &cell->next;
        continue;
      }
      *at = cell->next;
      idle_ -= room_of(cell);
      if (slab != nullptr) continue;
      const uint64_t bytes = sizeof(Cell) + cell->capacity;
      left -= std::min(left, bytes);
      mapped_.fetch_sub(bytes, std::memory_order_relaxed);
      unmap_shared(cell, bytes);
    }
  }
  while (leaving != nullptr) {
    Slab* slab = leaving;
    leaving = slab->next;
    mapped_.fetch_sub(slab->bytes, std::memory_order_relaxed);
    unmap_shared(slab, slab->bytes);
  }
  trim_above_ = std::max(kMostIdle, 2 * idle_);
}

void return_cell(Cell* cell) {
  std::atomic<Cell*>& stack = cell->owner->returned;
  Cell* top = stack.load(std::memory_order_relaxed);
  do cell->next = top;
  while (!stack.compare_exchange_weak(top, cell, std::memory_order_release, std::memory_order_relaxed));
}

}  // namespace tasuki::message
