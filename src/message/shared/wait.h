// How a task waits: it spins as long as that is likely to pay, then gives its core away, then sleeps on a
// futex.
//
// Sleeping without a lost wake-up and without a fence on the sender's fast path: a sleeper counts itself in
// `sleepers`, runs a process-wide memory barrier (membarrier(2): all tasks of a space share one mm, so it
// reaches all of them; there is another kind for tasks that are apart), looks once more, then sleeps. A waker
// publishes, then reads `sleepers` (a plain load of a line that it already shares). The barrier orders the
// two sides whichever comes first. A time limit on every sleep keeps the MPI library progressing.
#pragma once

#include "base/cpu.h"
#include "message/shared/shared.h"
#include "os/process/cpu.h"
#include "os/process/futex.h"
#include "os/process/membarrier.h"
#include "os/process/yielding.h"

namespace tasuki::message {

// Wakes the tasks that sleep on the endpoint. Call after publishing what they wait for.
inline void wake(Endpoint* e) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(e->sleepers.load(std::memory_order_relaxed) == 0, 1)) return;
  e->wakeups.fetch_add(1, std::memory_order_release);
  os::futex_wake(&e->wakeups, INT32_MAX, os::FutexScope::machine);
}

struct WaitPolicy {
  uint32_t spins;       // polls before the core is given away, if there is one for each task
  bool oversubscribed;  // more tasks than cores: do not insist on a core
  void (*idle)();       // progress of the MPI library; may be nullptr
  // The longest sleep; then the MPI library gets its turn.
  int64_t sleep_nanoseconds = 500'000;
  bool apart = false;  // the tasks have address spaces of their own
};

// Polls `done` until it is true, and not once more: it may take what it finds. `help` does a little work for
// others now and then; not when ranks outnumber cores: whoever waits then gives its core away.
template <typename Done, typename Help>
void wait_until(Endpoint* self, const WaitPolicy& policy, Done done, Help help) {
  constexpr uint32_t kHelpEvery = 32;    // polls between two looks at the job board: about 0.3 us
  constexpr uint32_t kIdleEvery = 256;   // polls between two looks at the MPI library: about 2 us
  constexpr uint32_t kIdleYields = 16;   // the same, when each poll comes with a yield
  constexpr uint32_t kYields = 256;      // before the first sleep: handing the core on costs 0.3 us,
  constexpr uint32_t kYieldsAgain = 16;  //   a sleep and its wake-up 5 us; and before each further sleep
  if (!policy.oversubscribed) {
    for (uint32_t i = 1; i <= policy.spins; i++) {
      if (done()) return;
      cpu_relax();
      if (i % kHelpEvery == 0) help();
      if (i % kIdleEvery == 0 && policy.idle != nullptr) policy.idle();
    }
    os::Yielding yielding;
    for (uint32_t i = 1;; i++) {
      if (done()) return;
      cpu_relax();
      if (i % kHelpEvery == 0) help();
      if (i % kIdleEvery != 0) continue;
      if (policy.idle != nullptr) policy.idle();
      yielding.turn();
    }
  }
  // More looks, for 1.5 us, made small collectives of four ranks on two cores 1.3 to 2 times slower.
  if (done()) return;
  os::CrowdedYielding yielding;
  if (yielding.polls(1)) {
    for (uint32_t i = 1; yielding.polls(i); i++) {
      if (done()) return;
      cpu_relax();
    }
    yielding.restart();
  }
  for (uint32_t yields = kYields;; yields = kYieldsAgain) {
    for (uint32_t i = 1; i <= yields; i++) {
      if (done()) return;
      yielding.turn();
      if (i % kIdleYields == 0 && policy.idle != nullptr) policy.idle();
    }
    const uint32_t seen = self->wakeups.load(std::memory_order_acquire);
    self->sleepers.fetch_add(1, std::memory_order_seq_cst);
    policy.apart ? os::memory_barrier_all_processes() : os::memory_barrier_all_threads();
    const bool finished = done();
    if (!finished) os::futex_wait(&self->wakeups, seen, policy.sleep_nanoseconds, os::FutexScope::machine);
    self->sleepers.fetch_sub(1, std::memory_order_relaxed);
    if (finished) return;
    yielding.restart();
  }
}

}  // namespace tasuki::message
