// How many use an object: operations in progress, and who made it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::shim {

// Counts exactly whatever threads do; where only one thread calls at a time, without locked instructions: the
// four of a small message were a tenth of its time. Zeros are a valid count of none.
class Users {
 public:
  // Before the first count: whether several threads of this process call at once.
  static void set_threads(bool threads) { shared_ = threads; }

  void set(uint32_t n) { n_.store(n, std::memory_order_relaxed); }
  void add() {
    if (shared_)
      n_.fetch_add(1, std::memory_order_relaxed);
    else
      set(n_.load(std::memory_order_relaxed) + 1);
  }
  // True: nobody is left.
  bool remove() {
    if (shared_) return n_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    const uint32_t left = n_.load(std::memory_order_relaxed) - 1;
    set(left);
    return left == 0;
  }

 private:
  static inline bool shared_ = true;
  std::atomic<uint32_t> n_;
};

}  // namespace tasuki::shim
