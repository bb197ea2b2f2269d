// The cores that the calling thread may use. (What a core does by itself: base/cpu.h.)
#pragma once

#include <sched.h>

#include <cstdint>

namespace tasuki::os {

// Gives the core to another runnable thread, if there is one.
inline void cpu_yield() {
  sched_yield();
}

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
