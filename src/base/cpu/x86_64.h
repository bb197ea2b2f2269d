// See base/cpu.h.
#pragma once

#include <emmintrin.h>

#include <cstddef>

#define TASUKI_WIDE_VECTORS [[gnu::target("avx2")]]

namespace tasuki {

inline void cpu_relax() {
  __builtin_ia32_pause();
}

[[gnu::always_inline]] inline void fetch_to_write(const void* p) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
}

inline constexpr bool kKeepsOrder = true;

[[gnu::always_inline]] inline void stream_line(void* to, const void* from) {
  auto* const t = static_cast<__m128i*>(to);
  const auto* const f = static_cast<const __m128i*>(from);
  for (int i = 0; i < 4; i++) _mm_stream_si128(t + i, _mm_loadu_si128(f + i));
}
inline void finish_streams() {
  _mm_sfence();
}

inline constexpr int kAddressBits = 47;

inline constexpr size_t kLargestPage = 4096;
constexpr size_t page_size() {
  return kLargestPage;
}

inline void prepare_questions() {
  __builtin_cpu_init();
}
[[gnu::always_inline]] inline bool has_wide_vectors() {
  return __builtin_cpu_supports("avx2") != 0;
}
[[gnu::always_inline]] inline bool memcpy_is_slow_behind() {
  return __builtin_cpu_is("amd") != 0;
}

}  // namespace tasuki
