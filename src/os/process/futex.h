// Waiting on a word of memory. The word may be shared by the threads of one address space, hence by all tasks
// of a space; not by processes with address spaces of their own.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::os {

// Sleeps while *word == expected. Returns true when woken, when *word differs or spuriously: the caller looks
// at the word again. Returns false when timeout_ns nanoseconds have passed; a negative timeout waits for
// ever. Signal handlers run and end the wait.
bool futex_wait(const std::atomic<uint32_t>* word, uint32_t expected, int64_t timeout_ns = -1);

// Wakes at most `count` waiters; returns how many there were.
int futex_wake(const std::atomic<uint32_t>* word, int count);

}  // namespace tasuki::os
