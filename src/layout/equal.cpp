// Equality of memory maps, and a hash that goes with it. The normal form decides most cases at once; lists
// that were cut differently into nodes are walked, so the answer never depends on the constructors.
#include <algorithm>
#include <cstdint>

#include "layout/cursor.h"
#include "layout/layout_impl.h"

namespace tasuki::layout {
namespace {

// Addresses that take part in the hash: enough to tell lists apart, few enough to cost nothing.
constexpr uint64_t kSamples = 64;

bool same_bytes(const Layout* a, const Layout* b) {
  Cursor x(a->root, nullptr, 0), y(b->root, nullptr, 0);
  for (uint64_t left = a->root.size;;) {
    if (x.address() != y.address()) return false;
    const uint64_t n = std::min(x.available(), y.available());
    left -= n;
    if (left == 0) return true;
    x.advance_bytes(n);
    y.advance_bytes(n);
  }
}

}  // namespace

bool equal(const Layout* a, const Layout* b) {
  if (a == b) return true;
  const Node &x = a->root, &y = b->root;
  if (a->lower_bound != b->lower_bound || a->extent != b->extent || x.size != y.size) return false;
  if (x.size == 0) return true;
  if (a->origin != b->origin || x.runs != y.runs || x.min != y.min || x.max != y.max || x.end != y.end)
    return false;
  return same(x, y) || same_bytes(a, b);
}

uint64_t hash(const Layout* l) {
  const Node& n = l->root;
  uint64_t h = mix(0x6c61796f7574, n.size);
  for (const int64_t value : {l->lower_bound, l->extent}) h = mix(h, static_cast<uint64_t>(value));
  if (n.size == 0) return h;
  h = mix(h, n.runs);
  for (const int64_t value : {l->origin, n.min, n.max, n.end}) h = mix(h, static_cast<uint64_t>(value));
  const uint64_t samples = std::min(n.size, kSamples);
  for (uint64_t i = 0; i < samples; i++) {
    const uint64_t at = n.size / samples * i;
    h = mix(h, reinterpret_cast<uintptr_t>(Cursor(n, nullptr, at).address()));
  }
  return h;
}

}  // namespace tasuki::layout
