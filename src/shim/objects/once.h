// What is done once, whichever thread comes first.
#pragma once

#include <atomic>

#include "os/process/cpu.h"

namespace tasuki::shim {

// `state` is `before` until somebody begins with it, and `after` when it is done, as it is on return; in any
// other state there is nothing to do.
template <typename State, typename What>
void do_once(State& state, State before, State meanwhile, State after, What what) {
  const std::atomic_ref<State> word(state);
  // Every receive comes here: nothing is locked where there is nothing to do.
  State is = word.load(std::memory_order_acquire);
  if (is == before && word.compare_exchange_strong(is, meanwhile, std::memory_order_acquire)) {
    what();
    word.store(after, std::memory_order_release);
  }
  while (word.load(std::memory_order_acquire) == meanwhile) os::cpu_yield();
}

}  // namespace tasuki::shim
