// How much memory a region touches: what the message layer's cost model counts (message/cost/cost.h).
#include <algorithm>

#include "layout/layout.h"

namespace tasuki::layout {
namespace {

constexpr uint64_t kLine = 64, kPage = 4096;

// Pieces of `size` bytes that the runs touch, each run beginning anywhere in one; no more than lie in the
// span.
uint64_t touched(uint64_t size, uint64_t bytes, uint64_t runs, uint64_t span) {
  return std::min(span / size + 1, runs + (bytes - runs) / size);
}

}  // namespace

Footprint footprint(const Region& r) {
  const uint64_t n = bytes(r);
  if (n == 0) return {};
  const int64_t extent_ = extent(r.layout), true_ = true_extent(r.layout);
  uint64_t runs = r.count * run_count(r.layout);
  if (run_count(r.layout) == 1 && extent_ == static_cast<int64_t>(size(r.layout))) runs = 1;
  const uint64_t step = static_cast<uint64_t>(extent_ < 0 ? -extent_ : extent_);
  const uint64_t span = (r.count - 1) * step + static_cast<uint64_t>(true_);
  return {n, runs, touched(kLine, n, runs, span), touched(kPage, n, runs, span)};
}

}  // namespace tasuki::layout
