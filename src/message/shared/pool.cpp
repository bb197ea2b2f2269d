#include "message/shared/pool.h"

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

}  // namespace

void* map_forever(size_t bytes) {
  return os::map_memory(os::page_ceil(bytes));
}

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

Cell* CellPool::take(uint64_t bytes, Endpoint* self) {
  const uint32_t wanted = class_of(bytes);
  const uint32_t size_class = wanted < kClasses ? wanted : kLarge;
  if (free_[size_class] == nullptr) collect(self);
  if (size_class == kLarge) {
    // Rare (large buffered sends): first fit, and a mapping of its own when none fits.
    Cell** at = &free_[kLarge];
    while (*at != nullptr && (*at)->capacity < bytes) at = &(*at)->next;
    Cell* cell = *at;
    if (cell != nullptr) {
      *at = cell->next;
      return cell;
    }
    cell = static_cast<Cell*>(map_forever(sizeof(Cell) + bytes));
    if (cell == nullptr) return nullptr;
    cell->owner = self;
    cell->capacity = bytes;
    cell->size_class = kLarge;
    return cell;
  }
  if (free_[size_class] == nullptr) {
    const uint64_t capacity = kSmallestCell << size_class;
    const size_t each = (sizeof(Cell) + capacity + kLine - 1) / kLine * kLine;
    const size_t slab = each > kSlab / 4 ? each * 4 : kSlab;
    char* memory = static_cast<char*>(map_forever(slab));
    if (memory == nullptr) return nullptr;
    for (size_t at = 0; at + each <= slab; at += each) {
      Cell* cell = reinterpret_cast<Cell*>(memory + at);
      cell->owner = self;
      cell->capacity = capacity;
      cell->size_class = size_class;
      cell->next = free_[size_class];
      free_[size_class] = cell;
    }
  }
  Cell* cell = free_[size_class];
  free_[size_class] = cell->next;
  return cell;
}

void CellPool::give(Cell* cell) {
  cell->next = free_[cell->size_class];
  free_[cell->size_class] = cell;
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
}

void return_cell(Cell* cell) {
  std::atomic<Cell*>& stack = cell->owner->returned;
  Cell* top = stack.load(std::memory_order_relaxed);
  do cell->next = top;
  while (!stack.compare_exchange_weak(top, cell, std::memory_order_release, std::memory_order_relaxed));
}

}  // namespace tasuki::message
