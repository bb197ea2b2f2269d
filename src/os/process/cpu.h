// The cores that the calling thread may use. (What a core does by itself: base/cpu.h.)
#pragma once

#include <sched.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

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
  void add_all(const CpuSet& others) {
    for (int i = 0; i < kMaxCores / 64; i++) bits[i] |= others.bits[i];
  }
  void remove_all(const CpuSet& others) {
    for (int i = 0; i < kMaxCores / 64; i++) bits[i] &= ~others.bits[i];
  }
};

template <typename Visit>
void for_each_core(const CpuSet& set, Visit visit) {
  for (int i = 0; i < CpuSet::kMaxCores / 64; i++)
    for (uint64_t word = set.bits[i]; word != 0; word &= word - 1) visit(64 * i + std::countr_zero(word));
}

// The affinity mask of the calling thread; all bits 0 on failure. Returns the number of cores in it.
int current_cpu_set(CpuSet* set);
int count_cores(const CpuSet& set);
void use_cores(const CpuSet& set);  // binds the calling thread to them
int online_cores();                 // of the machine, also those that this process may not use

// What the kernel counts as cores may be hardware threads of one core (SMT). Sets first[core], for each of
// `cores`, to the first thread of the same core: the number itself where each core has one, or where the
// kernel does not say.
void hardware_threads(const CpuSet& cores, uint16_t first[CpuSet::kMaxCores]);

// "0-7,64": as the kernel writes sets of cores.
std::string core_list(const CpuSet& set);
// False if the text is no such list; *set is then as before.
bool parse_core_list(std::string_view text, CpuSet* set);

}  // namespace tasuki::os
