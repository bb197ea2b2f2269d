#include "base/copy.h"

#include "base/cpu.h"

namespace tasuki {
namespace {

template <size_t kBytes>
struct Vector {
  using Type [[gnu::vector_size(kBytes), gnu::aligned(1), gnu::may_alias]] = long long;
};

// The last four vectors may overlap those before, and are loaded first. From four vectors on.
// From four vectors on: the last ones may overlap those before.
template <size_t kBytes>
[[gnu::always_inline]] inline void copy(char* to, const char* from, size_t n) {
  using Type = typename Vector<kBytes>::Type;
  const size_t last = n - 4 * kBytes;
  for (size_t i = 0;; i = i + 4 * kBytes < last ? i + 4 * kBytes : last) {
    const Type* f = reinterpret_cast<const Type*>(from + i);
    Type* t = reinterpret_cast<Type*>(to + i);
    const Type a = f[0], b = f[1], c = f[2], d = f[3];
    t[0] = a;
    t[1] = b;
    t[2] = c;
    t[3] = d;
    if (i == last) break;
  }
}

TASUKI_WIDE_VECTORS void copy_wide(char* to, const char* from, size_t n) {
  copy<32>(to, from, n);
}

// Until it is initialised, no: right, only slower.
const bool g_memcpy_is_slow = [] {
  prepare_questions();
  return memcpy_is_slow_behind();
}();

}  // namespace

void copy_badly_placed(char* to, const char* from, size_t n) {
  if (g_memcpy_is_slow)
    copy_by_vectors(to, from, n);
  else
    memcpy(to, from, n);
}

void copy_by_vectors(char* to, const char* from, size_t n) {
  if (n < 128)
    memcpy(to, from, n);
  else if (has_wide_vectors())
    copy_wide(to, from, n);
  else
    copy<16>(to, from, n);
}

}  // namespace tasuki
