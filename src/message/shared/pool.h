// Memory of one task for its own requests, cells and endpoint. Mapped in slabs and never unmapped: other
// tasks may hold pointers into it until the space ends. Allocation is a free-list pop; when the program has
// several threads the caller holds the engine's pool lock.
#pragma once

#include "message/shared/shared.h"

namespace tasuki::message {

// Zeroed, page-aligned memory that lives as long as the space; nullptr when there is none.
void* map_forever(size_t bytes);

class RequestPool {
 public:
  Request* take();  // zeroed but for `handle`, which stays with a request for life; nullptr: no memory
  void give(Request* r);

 private:
  Request* free_ = nullptr;
};

class CellPool {
 public:
  // A cell for `bytes`; nullptr when memory is exhausted. `self` is where consumers return it.
  Cell* take(uint64_t bytes, Endpoint* self);
  // Called by the owner.
  void give(Cell* cell);
  // Takes back what others returned.
  void collect(Endpoint* self);
  // Bytes charged to the user's attached buffer, the present one, that came back since the last call.
  uint64_t take_released() {
    const uint64_t n = released_;
    released_ = 0;
    return n;
  }
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
  Cell* free_[kClasses + 1] = {};
  uint64_t released_ = 0;
  uint32_t attachment_ = 0;
};

// Gives a consumed cell back to its owner, from any task.
void return_cell(Cell* cell);

}  // namespace tasuki::message
