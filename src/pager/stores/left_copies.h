// Copies that the thread which has the turn leaves to be made after it (Store::get_later, put_later), so that
// others have their turns meanwhile. add(), settle() and busy() are for whoever has the turn; add() and
// copy() for one thread, which makes the copies.
#pragma once

#include <atomic>

#include "pager/stores/store.h"

namespace tasuki::pager {

class LeftCopies {
 public:
  struct Copy {
    Slot slot;
    uint32_t units;
    std::byte* to;          // nullptr: a put
    const std::byte* from;  // nullptr: a get
    Ticket ticket;
  };

  void add(const Copy& copy) {
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<ptrdiff_t>(settled_));
    made_.store(made_.load(std::memory_order_relaxed) - settled_, std::memory_order_relaxed);
    settled_ = 0;
    copies_.push_back(copy);
  }

  // `make(copy)` moves the bytes. It runs beside the turns of others, and may use only what they do not
  // change.
  template <class Make>
  Status copy(const Make& make) {
    for (size_t i = made_.load(std::memory_order_relaxed); i < copies_.size(); i++) {
      const Status status = make(copies_[i]);
      if (!status.ok()) return status;
      made_.store(i + 1, std::memory_order_release);
    }
    return {};
  }

  // `over(ticket)` for each that has been made since the last call.
  template <class Over>
  void settle(const Over& over) {
    const size_t made = made_.load(std::memory_order_acquire);
    for (; settled_ < made; settled_++) over(copies_[settled_].ticket);
  }

  bool busy() const { return settled_ < copies_.size(); }

 private:
  OwnVector<Copy> copies_;
  std::atomic<size_t> made_{0};
  size_t settled_ = 0;
};

}  // namespace tasuki::pager
