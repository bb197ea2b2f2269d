// How many mappings a task makes. Each takes the lock of the address space that all its tasks share, and
// what is unmapped goes out of the TLBs of all their cores (`tasuki bench space` measures it). A task that
// makes many is told; with TASUKI_STATS the numbers are printed.
//
// Seen are the calls of this library's mmap, munmap, mremap and mprotect that reach the kernel (kept.h),
// and forks. Not seen: what libc maps and unmaps for itself (malloc, free, stacks of threads), madvise, and
// system calls without libc.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::task {

inline constinit std::atomic<uint64_t> g_mappings;

inline void count_mapping() {
  g_mappings.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace tasuki::task
