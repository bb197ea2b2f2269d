// The sleep of the kernel, without a time limit: whoever is not woken sleeps for ever, which the checker finds.
#pragma once

#define MODEL_SLEEP

#include "model.h"
#include "os/process/futex.h"
#include "os/process/membarrier.h"

namespace tasuki::model {

constexpr int kMostSleeps = 6;
inline int g_queue;  // the kernel's lock of its queue
inline struct {
  const std::atomic<uint32_t>* word;
  std::atomic<uint32_t> woken;
} g_sleep[kMostSleeps];
inline int g_sleeps;

}  // namespace tasuki::model

// The kernel looks at the word under the lock of the queue, which whoever wakes takes, too.
bool tasuki::os::futex_wait(const std::atomic<uint32_t>* word, uint32_t expected, int64_t, FutexScope) {
  using namespace tasuki::model;
  __VERIFIER_mutex_lock(&g_queue);
  if (word->load(std::memory_order_relaxed) != expected) {
    __VERIFIER_mutex_unlock(&g_queue);
    return true;
  }
  const int me = g_sleeps++;
  CHECK(me < kMostSleeps);
  g_sleep[me].word = word;
  __VERIFIER_mutex_unlock(&g_queue);
  while (g_sleep[me].woken.load(std::memory_order_acquire) == 0) {
  }
  return true;
}

int tasuki::os::futex_wake(const std::atomic<uint32_t>* word, int, FutexScope) {
  using namespace tasuki::model;
  __VERIFIER_mutex_lock(&g_queue);
  for (int i = 0; i < g_sleeps; i++)
    if (g_sleep[i].word == word) g_sleep[i].woken.store(1, std::memory_order_release);
  __VERIFIER_mutex_unlock(&g_queue);
  return 0;
}

// membarrier(2) makes each other thread of the address space execute a fence somewhere between its two
// neighbouring instructions. A fence on either side is what that comes to (Goldblatt's asymmetric fences,
// P1202): the script makes wait.h's for the compiler one for the processor, too.
bool tasuki::os::memory_barrier_all_threads() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}
bool tasuki::os::memory_barrier_all_processes() {
  return memory_barrier_all_threads();
}
