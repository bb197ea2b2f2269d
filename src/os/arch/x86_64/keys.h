// See os/memory/keys.h.
#pragma once

#include <cpuid.h>

#include <cstdint>

namespace tasuki::os {

namespace arch {
inline bool have_keys() {
  unsigned a, b, c, d;
  constexpr unsigned kEnabledByKernel = 1u << 4;  // OSPKE
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & kEnabledByKernel) != 0;
}
}  // namespace arch

inline uint32_t key_rights() {
  uint32_t rights, high;
  asm volatile("rdpkru" : "=a"(rights), "=d"(high) : "c"(0));
  return rights;
}
inline void set_key_rights(uint32_t rights) {
  asm volatile("wrpkru" : : "a"(rights), "c"(0), "d"(0) : "memory");
}

}  // namespace tasuki::os
