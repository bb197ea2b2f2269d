// copy: memcpy for runs that may be long, without the C library's slow case.
//
// glibc copies runs of 2 KiB to 1 MiB by `rep movsb` on processors that have it fast (ERMS). On AMD's Zen 3
// and 4 that instruction falls to 3 GB/s when the target lies 1 to 63 bytes behind the source, page offsets
// compared: ((to - from) mod 4096 in 1 .. 63). Halos of arrays with ghost cells do so all the time: the same
// face of the same array in two ranks, one row further. Measured on an EPYC (Zen 4, glibc 2.36), 4 KiB rows
// one after the other, GB/s, memcpy and vectors: offset 0: 27 and 27; 8: 2.9 and 26; 64: 26 and 26; -8: 27
// and 26. NAS_MG_y of 1 MiB: 188 us a message with memcpy, 21 without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tasuki {

// Any length. No overlap.
void copy_by_vectors(char* to, const char* from, size_t n);
// By vectors on AMD's processors, else by memcpy: on an Intel Xeon memcpy needs half the time of vectors
// there (4 KiB, offset 8: 32 and 62 ns; 32 KiB: 676 and 813).
void copy_badly_placed(char* to, const char* from, size_t n);

// Is this what glibc copies badly on some processors? Longer runs than these it copies otherwise.
inline bool is_slow_for_memcpy(const char* to, const char* from, size_t n) {
  const uintptr_t distance = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
  return n > 2048 && n < (size_t{32} << 20) && (distance - 1) % 4096 < 63;
}

// memcpy.
inline void copy_run(void* to, const void* from, size_t n) {
  auto* const t = static_cast<char*>(to);
  const auto* const f = static_cast<const char*>(from);
  if (is_slow_for_memcpy(t, f, n))
    copy_badly_placed(t, f, n);
  else
    memcpy(t, f, n);
}

// memmove.
inline void move_run(void* to, const void* from, size_t n) {
  auto* const t = static_cast<char*>(to);
  const auto* const f = static_cast<const char*>(from);
  const uintptr_t ahead = reinterpret_cast<uintptr_t>(t) - reinterpret_cast<uintptr_t>(f);
  if (is_slow_for_memcpy(t, f, n) && ahead >= n && -ahead >= n)
    copy_badly_placed(t, f, n);
  else
    memmove(t, f, n);
}

}  // namespace tasuki
