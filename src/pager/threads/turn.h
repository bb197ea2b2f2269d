// Whose turn it is to change what the pager knows: its own thread's, or that of a thread which serves its own
// fault. Whoever has the turn blocks signals, touches no cluster memory and makes no call that may wait for
// another thread of the program.
#pragma once

#include <atomic>
#include <mutex>

#include "base/cpu.h"
#include "os/process/cpu.h"

namespace tasuki::pager {

class Turn {
 public:
  // For std::lock_guard; the pager's thread, again and again: those who wait in a fault come first, for a
  // while. Without an end to it two threads that fault all the time kept it waiting for up to .4 s.
  void lock() {
    for (int i = 0; i < kYields && waiting_.load(std::memory_order_relaxed) > 0; i++) os::cpu_yield();
    held_up_.store(true, std::memory_order_relaxed);
    mutex_.lock();
    held_up_.store(false, std::memory_order_relaxed);
  }
  void unlock() { mutex_.unlock(); }

  // A thread in a fault.
  class Urgent {
   public:
    explicit Urgent(Turn* turn) : turn_(turn) {
      turn_->waiting_.fetch_add(1, std::memory_order_relaxed);
      turn_->take();
      turn_->waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    ~Urgent() { turn_->mutex_.unlock(); }
    Urgent(const Urgent&) = delete;
    Urgent& operator=(const Urgent&) = delete;

   private:
    Turn* turn_;
  };

 private:
  // A turn takes some 10 us, 50 where an interrupt of the other core is slow; so long it takes to wake a
  // thread that sleeps.
  void take() {
    while (held_up_.load(std::memory_order_relaxed)) os::cpu_yield();
    for (int i = 0; i < kLooks; i++) {
      if (mutex_.try_lock()) return;
      cpu_relax();
    }
    mutex_.lock();
  }

  static constexpr int kLooks = 1500;  // some 60 us
  static constexpr int kYields = 64;
  std::mutex mutex_;
  std::atomic<int> waiting_{0};
  std::atomic<bool> held_up_{false};  // the pager's thread has waited long enough
};

}  // namespace tasuki::pager
