// Helper threads: cores that no rank needs copy parts of large messages and packs of all tasks of the space.
// They take their work from the job board as waiting ranks do (job.h), never call MPI, block every signal,
// and sleep when there is nothing to do.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "message/shared/shared.h"
#include "os/process/cpu.h"

namespace tasuki::message {

class HelperThreads {
 public:
  HelperThreads() = default;
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  // Starts up to `count` threads, fewer when the system gives no more. They run on the cores of the calling
  // thread without `avoided`.
  void start(JobBoard* board, uint32_t count, const os::CpuSet& avoided = {});
  // Ends them and waits for that. The copies that they are in are finished first.
  void stop();
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kMost = 256;
  static void* body(void* self);
  void run();
  void avoid() const;

  JobBoard* board_ = nullptr;
  os::CpuSet avoided_{};
  std::atomic<bool> ending_{false};
  std::atomic<uint64_t> bytes_{0};
  uint32_t count_ = 0;
  pthread_t threads_[kMost];
};

}  // namespace tasuki::message
