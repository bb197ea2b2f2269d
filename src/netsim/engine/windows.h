// Threads that go through the windows of a run together. In each window every part of the network is worked
// on once.
//
// A host may take a core away from a thread for milliseconds, thousands of windows. So a part belongs to no
// thread: each thread begins with a part of its own, because that is in its cache, and where the owner of
// another one does not come, it takes that as well. Nobody then waits but for a thread that has lost its core
// in the middle of a part. Where a part must stay with its thread (Driver::any_thread) all have to be there
// in each window.
//
// Who waits first polls, for longer than a host takes to wake a thread up: what sleeps and is woken for every
// window gets through one window in each of the host's time slices. Then it sleeps.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cpu.h"

namespace tasuki::netsim {

class Windows {
 public:
  static constexpr uint64_t kOver = UINT64_MAX;

  Windows(uint32_t parts, bool any_thread)
      : any_thread_(any_thread),
        crowded_(parts > std::max(1u, std::thread::hardware_concurrency()) && !any_thread),
        parts_(parts),
        left_(parts) {}

  // A thread's life, to be called with another `me` by each: work(part, window) for its share of the parts of
  // each window. The thread that is through with a window's last part calls conclude(window), alone; when
  // that says no, all return.
  template <typename Work, typename Conclude>
  void run(uint32_t me, Work work, Conclude conclude) {
    const uint32_t count = static_cast<uint32_t>(parts_.size());
    for (uint64_t window = now_.load(std::memory_order_acquire); window != kOver;) {
      uint32_t part = me;
      if (claim(me, window))
        parts_[me].away.store(false, std::memory_order_relaxed);
      else
        part = any_thread_ ? take_over(me, window, false) : count;
      for (Wait wait(*this); part == count;) {
        const uint64_t next = wait.once(window);
        if (next != window) {
          window = next;
          break;
        }
        if (any_thread_ && wait.is_long()) part = take_over(me, window, true);
      }
      if (part == count) continue;
      work(part, window);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      window = conclude(window) ? window + 1 : kOver;
      left_.store(count, std::memory_order_relaxed);
      publish(window);
    }
  }

  // Ends it from outside of work(): not all threads could be started.
  void stop() { publish(kOver); }

 private:
  using Clock = std::chrono::steady_clock;

  struct alignas(64) Part {
    std::atomic<uint64_t> next{0};  // the first window for which nobody has claimed it
    std::atomic<bool> away{false};  // its own thread did not come in time, and has not been seen since
  };

  bool claim(uint32_t part, uint64_t window) {
    uint64_t expected = window;
    return parts_[part].next.compare_exchange_strong(expected, window + 1, std::memory_order_acq_rel);
  }

  // A part of another thread; parts_.size(): there is none. `late`: also of one that has come until now.
  uint32_t take_over(uint32_t me, uint64_t window, bool late) {
    const uint32_t count = static_cast<uint32_t>(parts_.size());
    for (uint32_t i = 1; i < count; i++) {
      const uint32_t part = (me + i) % count;
      if (!late && !parts_[part].away.load(std::memory_order_relaxed)) continue;
      if (parts_[part].next.load(std::memory_order_relaxed) != window || !claim(part, window)) continue;
      parts_[part].away.store(true, std::memory_order_relaxed);
      return part;
    }
    return count;
  }

  // Polling must not cost the one that works its core where there are more threads than cores.
  class Wait {
   public:
    explicit Wait(Windows& all) : all_(all) {}
    // Waits for a moment; the window that there is now.
    uint64_t once(uint64_t window) {
      if (all_.crowded_) std::this_thread::yield();
      for (int i = 0; i < kPauses; i++) {
        const uint64_t now = all_.now_.load(std::memory_order_acquire);
        if (now != window) return now;
        if (all_.crowded_) break;
        cpu_relax();
      }
      if (turns_++ < kTurns) return window;
      const auto time = Clock::now();
      if (begun_ == Clock::time_point()) begun_ = time;
      return time - begun_ > kPatience ? all_.sleep(window) : window;
    }
    bool is_long() const { return turns_ > kTurns; }

   private:
    static constexpr int kPauses = 64, kTurns = 4;  // some ten microseconds before a part is taken over
    static constexpr std::chrono::milliseconds kPatience{4};
    Windows& all_;
    int turns_ = 0;
    Clock::time_point begun_;
  };

  uint64_t sleep(uint64_t window) {
    std::unique_lock<std::mutex> lock(mutex_);
    // Whoever publishes reads `sleeping_` after it has written `now_`; here it is the other way round: one of
    // both sees the other, because all four are sequentially consistent.
    sleeping_.store(true);
    while (now_.load() == window) {
      wake_.wait(lock);
      if (now_.load() == window) sleeping_.store(true);
    }
    return now_.load();
  }

  void publish(uint64_t window) {
    now_.store(window);
    if (!sleeping_.load()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    sleeping_.store(false);
    wake_.notify_all();
  }

  const bool any_thread_, crowded_;
  std::vector<Part> parts_;
  alignas(64) std::atomic<uint32_t> left_;
  alignas(64) std::atomic<uint64_t> now_{0};
  std::atomic<bool> sleeping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace tasuki::netsim
