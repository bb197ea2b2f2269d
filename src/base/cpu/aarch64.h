// See base/cpu.h.
#pragma once

#include <unistd.h>

#include <cstddef>

// NEON's vectors have 16 bytes, and every processor has them.
#define TASUKI_WIDE_VECTORS

namespace tasuki {

// `yield` is a no-operation on most processors; `isb` waits until the pipeline is empty.
inline void cpu_relax() {
  asm volatile("isb" : : : "memory");
}

[[gnu::always_inline]] inline void fetch_to_write(const void* p) {
  __builtin_prefetch(p, 1);
}

inline constexpr bool kKeepsOrder = false;

[[gnu::always_inline]] inline void stream_line(void* to, const void* from) {
  using Vector [[gnu::vector_size(16), gnu::aligned(1), gnu::may_alias]] = char;
  const auto* const f = static_cast<const Vector*>(from);
  asm volatile(
      "stnp %q[a], %q[b], [%[to]]\n\t"
      "stnp %q[c], %q[d], [%[to], #32]"
      :
      : [to] "r"(to), [a] "w"(f[0]), [b] "w"(f[1]), [c] "w"(f[2]), [d] "w"(f[3])
      : "memory");
}
inline void finish_streams() {
  asm volatile("dmb ishst" : : : "memory");
}

inline constexpr int kAddressBits = 48;

// A kernel has pages of 4, 16 or 64 KiB. glibc says which without a system call, before constructors, too.
inline constexpr size_t kLargestPage = 65536;
inline size_t page_size() {
  return static_cast<size_t>(getpagesize());
}

inline void prepare_questions() {}
constexpr bool has_wide_vectors() {
  return false;
}
constexpr bool memcpy_is_slow_behind() {
  return false;
}

}  // namespace tasuki
