// Waiting on a word of memory, which the threads of one address space share, hence all tasks of a space; or
// processes with address spaces of their own, which all name the scope `machine` then.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::os {

// `machine`: the kernel looks up what is mapped there, at each sleep and each wake-up that finds a sleeper.
enum class FutexScope { address_space, machine };

// Sleeps while *word == expected. Returns true when woken, when *word differs or spuriously: the caller looks
// at the word again. Returns false when timeout_ns nanoseconds have passed; a negative timeout waits for
// ever. Signal handlers run and end the wait.
bool futex_wait(const std::atomic<uint32_t>* word, uint32_t expected, int64_t timeout_ns = -1,
                FutexScope scope = FutexScope::address_space);

// Wakes at most `count` waiters; returns how many there were.
int futex_wake(const std::atomic<uint32_t>* word, int count, FutexScope scope = FutexScope::address_space);

}  // namespace tasuki::os
