#include "message/shared/spin_lock.h"

#include "base/cpu.h"
#include "os/process/cpu.h"

namespace tasuki::message {

void SpinLock::lock() {
  constexpr int kAside = 32;  // looks: longer than a free lock takes to reach another core
  for (int i = 0; i < kAside && __builtin_expect(waiters_.load(std::memory_order_relaxed) != 0, 0); i++)
    cpu_relax();
  if (__builtin_expect(word_.exchange(1, std::memory_order_acquire) == 0, 1)) return;
  waiters_.fetch_add(1, std::memory_order_relaxed);
  uint32_t looks = 0;
  do {
    while (word_.load(std::memory_order_relaxed) != 0) {
      if (++looks % 64 == 0)
        os::cpu_yield();
      else
        cpu_relax();
    }
  } while (word_.exchange(1, std::memory_order_acquire) != 0);
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace tasuki::message
