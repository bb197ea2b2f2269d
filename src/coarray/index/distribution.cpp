#include "coarray/index/distribution.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tasuki::coarray {
namespace {

int64_t modulo(int64_t a, int64_t m) {
  const int64_t r = a % m;
  return r < 0 ? r + m : r;
}

__extension__ using Wide = __int128;

// x with a * x = 1 (mod m), for coprime a and m (Euclid).
int64_t inverse(int64_t a, int64_t m) {
  int64_t r0 = m, r1 = modulo(a, m), x0 = 0, x1 = 1;
  while (r1 != 0) {
    const int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    x0 = std::exchange(x1, x0 - q * x1);
  }
  return modulo(x0, m);
}

Run part(const Run& run, int64_t first, int64_t last, int64_t every = 1) {
  if (last < first) return {run.begin, 0, run.step};
  return {run.at(first), (last - first) / every + 1, run.step * every};
}

}  // namespace

int64_t floor_div(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

int64_t ceil_div(int64_t a, int64_t b) {
  return -floor_div(-a, b);
}

Run clip(const Run& run, int64_t low, int64_t high) {
  if (run.count <= 0 || low > high) return part(run, 0, -1);
  const bool up = run.step > 0;
  const int64_t step = up ? run.step : -run.step;
  const int64_t ahead = up ? low - run.begin : run.begin - high;
  const int64_t room = up ? high - run.begin : run.begin - low;
  return part(run, std::max<int64_t>(0, ceil_div(ahead, step)),
              std::min(run.count - 1, floor_div(room, step)));
}

// begin + k * step = residue (mod m): k is one residue modulo m / gcd(step, m), or there is none.
Run congruent(const Run& run, int64_t m, int64_t residue) {
  if (run.count <= 0) return part(run, 0, -1);
  const int64_t wanted = modulo(residue - run.begin, m), step = modulo(run.step, m);
  const int64_t common_divisor = std::gcd(step, m);
  if (wanted % common_divisor != 0) return part(run, 0, -1);
  const int64_t period = m / common_divisor;
  if (period == 1) return run;
  const auto first = static_cast<int64_t>(static_cast<Wide>(wanted / common_divisor) *
                                          inverse(step / common_divisor, period) % period);
  return part(run, first, run.count - 1, period);
}

Run common(const Run& run, const Run& other) {
  if (other.count <= 0) return part(run, 0, -1);
  const int64_t step = other.step > 0 ? other.step : -other.step;
  return clip(other.count > 1 ? congruent(run, step, other.begin) : run, other.least(), other.most());
}

bool Pieces::any() const {
  for (int64_t r = 0; r < runs; r++)
    if (run(r).count > 0) return true;
  return false;
}

Distribution Distribution::all(int64_t lower, int64_t upper) {
  Distribution d;
  d.lower_ = lower;
  d.upper_ = upper;
  return d;
}

Distribution Distribution::block(int64_t lower, int64_t upper, int nodes, int64_t width) {
  Distribution d = all(lower, upper);
  d.kind_ = Kind::block;
  d.nodes_ = nodes;
  d.width_ = std::max<int64_t>(1, width > 0 ? width : ceil_div(upper - lower + 1, nodes));
  return d;
}

Distribution Distribution::cyclic(int64_t lower, int64_t upper, int nodes, int64_t width) {
  Distribution d = all(lower, upper);
  d.kind_ = Kind::cyclic;
  d.nodes_ = nodes;
  d.width_ = std::max<int64_t>(1, width);
  return d;
}

Distribution Distribution::gblock(int64_t lower, const std::vector<int64_t>& sizes) {
  Distribution d;
  d.kind_ = Kind::gblock;
  d.lower_ = lower;
  d.nodes_ = static_cast<int>(sizes.size());
  d.starts_.push_back(lower);
  for (int64_t size : sizes) d.starts_.push_back(d.starts_.back() + size);
  d.upper_ = d.starts_.back() - 1;
  return d;
}

int Distribution::owner(int64_t x) const {
  switch (kind_) {
    case Kind::all:
      return 0;
    case Kind::block:
      return static_cast<int>((x - lower_) / width_);
    case Kind::cyclic:
      return static_cast<int>((x - lower_) / width_ % nodes_);
    case Kind::gblock:
      break;
  }
  return static_cast<int>(std::upper_bound(starts_.begin(), starts_.end(), x) - starts_.begin()) - 1;
}

int64_t Distribution::begin(int coordinate) const {
  if (kind_ == Kind::gblock) return starts_[static_cast<size_t>(coordinate)];
  if (kind_ == Kind::block) return std::min(lower_ + coordinate * width_, upper_ + 1);
  return coordinate == 0 ? lower_ : upper_ + 1;
}

Pieces Distribution::pieces(int coordinate, const Run& run) const {
  Pieces p;
  p.of = clip(run, lower_, upper_);
  if (p.of.count == 0) return p;
  p.runs = 1;
  p.low = lower_;
  p.high = upper_;
  if (contiguous()) {
    p.low = begin(coordinate);
    p.high = begin(coordinate + 1) - 1;
    return p;
  }
  if (width_ == 1) {
    p.of = congruent(p.of, nodes_, lower_ + coordinate);
    return p;
  }
  // Blocks of this node between the ends of the run, from its first to its last.
  const int64_t least = (p.of.least() - lower_) / width_, most = (p.of.most() - lower_) / width_;
  const int64_t first = least + modulo(coordinate - least, nodes_);
  const int64_t last = most - modulo(most - coordinate, nodes_);
  p.runs = first > last ? 0 : (last - first) / nodes_ + 1;
  const bool up = p.of.step > 0;
  p.low = lower_ + (up ? first : last) * width_;
  p.high = p.low + width_ - 1;
  p.low_step = p.high_step = (up ? 1 : -1) * width_ * nodes_;
  return p;
}

}  // namespace tasuki::coarray
