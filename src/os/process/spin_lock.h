// A lock that allocates nothing and may be forked with: for what is short where a mutex is not to be had. For
// std::lock_guard. Signals whose handlers take it too must be blocked.
#pragma once

#include <atomic>

#include "os/process/cpu.h"

namespace tasuki::os {

class SpinLock {
 public:
  void lock() {
    while (busy_.exchange(true, std::memory_order_acquire)) cpu_yield();
  }
  void unlock() { busy_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> busy_{false};
};

}  // namespace tasuki::os
