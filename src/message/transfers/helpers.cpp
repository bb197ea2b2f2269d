#include "message/transfers/helpers.h"

#include <algorithm>

#include "base/cpu.h"
#include "message/transfers/job.h"
#include "os/process/futex.h"
#include "os/process/signals.h"

namespace tasuki::message {
namespace {

// How long a thread looks before it sleeps: the gap between two packs of a program that does little else. To
// wake a sleeping one costs the announcing rank 2 to 5 us.
constexpr uint32_t kPolls = 20'000;
constexpr size_t kStack = 128 << 10;

}  // namespace

void HelperThreads::start(JobBoard* board, uint32_t count, const os::CpuSet& avoided) {
  board_ = board;
  avoided_ = avoided;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  const os::SignalsBlocked blocked;
  while (count_ < std::min(count, kMost)) {
    if (pthread_create(&threads_[count_], &attributes, &HelperThreads::body, this) != 0) break;
    count_++;
  }
  pthread_attr_destroy(&attributes);
}

void HelperThreads::stop() {
  if (count_ == 0) return;
  ending_.store(true, std::memory_order_seq_cst);
  board_->wakeups.fetch_add(1, std::memory_order_seq_cst);
  os::futex_wake(&board_->wakeups, INT32_MAX);
  for (uint32_t i = 0; i < count_; i++) pthread_join(threads_[i], nullptr);
  count_ = 0;
}

void* HelperThreads::body(void* self) {
  static_cast<HelperThreads*>(self)->run();
  return nullptr;
}

void HelperThreads::avoid() const {
  if (os::count_cores(avoided_) == 0) return;
  os::CpuSet cores;
  os::current_cpu_set(&cores);
  cores.remove_all(avoided_);
  if (os::count_cores(cores) != 0) os::use_cores(cores);
}

void HelperThreads::run() {
  avoid();
  const auto has_work = [&] { return board_->open.load(std::memory_order_relaxed) != 0; };
  uint32_t polls = 0;
  while (!ending_.load(std::memory_order_relaxed)) {
    const uint64_t n = has_work() ? help_others(*board_, End::back) : 0;
    if (n != 0) {
      bytes_.fetch_add(n, std::memory_order_relaxed);
      polls = 0;
      continue;
    }
    cpu_relax();
    if (++polls < kPolls) continue;
    polls = 0;
    const uint32_t seen = board_->wakeups.load(std::memory_order_seq_cst);
    board_->sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (board_->open.load(std::memory_order_seq_cst) == 0 && !ending_.load(std::memory_order_seq_cst))
      os::futex_wait(&board_->wakeups, seen);
    board_->sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace tasuki::message
