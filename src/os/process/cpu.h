// The processor: pauses and the cores that the calling thread may use.
#pragma once

#include <sched.h>

#include <cstdint>

namespace tasuki::os {

// To be called in every turn of a loop that polls memory: frees the core's resources for its other hardware
// thread and ends speculation on the polled line.
inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Asks for a cache line that will be written; a no-operation on processors that lack it.
inline void fetch_to_write(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

// Gives the core to another runnable thread, if there is one.
inline void cpu_yield() {
  sched_yield();
}

// Whether others see the stores of a processor in the program's order, and its loads take place in it.
#if defined(__x86_64__)
inline constexpr bool kKeepsOrder = true;
#else
inline constexpr bool kKeepsOrder = false;
#endif

// A set of cores as the kernel passes it: bit i of word i/64. 8192 is the largest NR_CPUS of the x86 kernels.
struct CpuSet {
  static constexpr int kMaxCores = 8192;
  uint64_t bits[kMaxCores / 64];

  bool has(int core) const { return (bits[core / 64] >> (core % 64) & 1) != 0; }
  void add(int core) { bits[core / 64] |= uint64_t{1} << (core % 64); }
};

// The affinity mask of the calling thread; all bits 0 on failure. Returns the number of cores in it.
int current_cpu_set(CpuSet* set);
int count_cores(const CpuSet& set);
void use_cores(const CpuSet& set);  // binds the calling thread to them
int online_cores();                 // of the machine, also those that this process may not use

}  // namespace tasuki::os
