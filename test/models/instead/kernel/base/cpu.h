// Stands for src/base/cpu.h: what a processor does changes nothing that a model could see.
#pragma once

#include <atomic>
#include <cstddef>

// A model may say how long is long enough.
extern "C" [[gnu::weak]] void model_relax() {}

// What wake() has between its store and its look (wait.h). Only in models of sleeping is it more than nothing:
// it would hide that another order is missing.
inline void model_fence() {
#ifdef MODEL_SLEEP
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

namespace tasuki {

inline void cpu_relax() {
  model_relax();
}
inline void fetch_to_write(const void*) {}
inline constexpr size_t kLargestPage = 4096;
constexpr size_t page_size() {
  return kLargestPage;
}

}  // namespace tasuki
