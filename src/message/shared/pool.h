// Memory of one task for its own requests, cells and endpoint. Allocation is a free-list pop; when the
// program has several threads the caller holds the engine's pool lock.
//
// Requests and endpoints are mapped in slabs and never unmapped: other tasks may hold pointers into them
// until the space ends. A cell is nobody else's once it is back, so slabs of cells go back to the system
// after a burst, when more than kMostIdle of them lies idle.
#pragma once

#include "message/shared/memory.h"
#include "message/shared/shared.h"

namespace tasuki::message {

class RequestPool {
 public:
  Request* take();  // zeroed but for `handle`, which stays with a request for life; nullptr: no memory
  void give(Request* r);

 private:
  Request* free_ = nullptr;
};

// What cells of one size are cut from; they follow the structure.
struct alignas(kLine) Slab {
  uint64_t bytes;
  uint32_t used;  // cells that are not free
  uint32_t leaving;
  Slab* next;  // of those that leave
};

class CellPool {
 public:
  // A cell for `bytes`; nullptr when memory is exhausted. `self` is where consumers return it. It counts
  // against the credit of `debtor`, unless that is nullptr.
  Cell* take(uint64_t bytes, Endpoint* self, Ring* debtor);
  // Called by the owner.
  void give(Cell* cell);
  // It counts against nobody's credit any more.
  static void forgive(Cell* cell);
  // Takes back what others returned.
  void collect(Endpoint* self);
  // Bytes charged to the user's attached buffer, the present one, that came back since the last call.
  uint64_t take_released() {
    const uint64_t n = released_;
    released_ = 0;
    return n;
  }
  // Bytes of cells, in use or idle. Without the caller's lock, too.
  uint64_t mapped() const { return mapped_.load(std::memory_order_relaxed); }
  // The user's buffer is detached: what is under way was charged to that one, not to the next. Returns the
  // next one's number.
  uint32_t next_attachment() {
    released_ = 0;
    return ++attachment_;
  }

 private:
  static constexpr uint32_t kClasses =
      11;  // 64 B ... 64 KiB; larger cells are mapped one by one and reused by size
  static constexpr uint32_t kLarge = kClasses;
  static constexpr uint64_t kMostIdle = 4 << 20;
  bool map(uint32_t size_class, uint64_t bytes, Endpoint* self);
  void trim();

  Cell* free_[kClasses + 1] = {};
  std::atomic<uint64_t> mapped_ = 0;
  uint64_t idle_ = 0;                // bytes of free cells
  uint64_t trim_above_ = kMostIdle;  // idle bytes; more if the last time found little to give back
  uint64_t released_ = 0;
  uint32_t attachment_ = 0;
};

// Gives a consumed cell back to its owner, from any task.
void return_cell(Cell* cell);

}  // namespace tasuki::message
