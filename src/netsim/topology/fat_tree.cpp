// Fat tree: the k-ary n-tree. k^(n-1) switches on each of n levels; switch w of level l is joined to those of
// level l + 1 whose number differs from w in digit l (base k) only. Leaf switches come first; node i hangs on
// leaf i / k.
//
// Up until the destination is below, then down. Up ports by the destination's digit (deterministic: shifts do
// not collide), by free buffers (adaptive), or at random (Valiant). Free of deadlock with one channel: down
// links never lead to up links. The channel is spread by the packet's random number when there are more.
#include "netsim/topology/topologies.h"

namespace tasuki::netsim {
namespace {

class FatTree final : public Topology {
 public:
  explicit FatTree(const Machine& machine)
      : Topology(machine), arity_(machine.arity), levels_(machine.levels) {
    for (uint32_t l = 0; l < levels_; l++) power_[l] = l == 0 ? 1 : power_[l - 1] * arity_;
    width_ = power_[levels_ - 1];
    ports_ = 2 * arity_;
    links_.resize(size_t{routers_} * ports_);
    for (uint32_t l = 0; l + 1 < levels_; l++) classes_.push_back("up" + std::to_string(l));
    for (uint32_t l = 0; l + 1 < levels_; l++) classes_.push_back("down" + std::to_string(l));
    for (uint32_t l = 0; l + 1 < levels_; l++)
      for (uint32_t w = 0; w < width_; w++)
        for (uint32_t j = 0; j < arity_; j++) {
          const uint32_t below = l * width_ + w, above = (l + 1) * width_ + with_digit(w, l, j);
          const uint32_t back = digit(w, l);
          link_at(below, arity_ + j) = {above, static_cast<uint16_t>(back), static_cast<uint8_t>(l), false};
          link_at(above, back) = {below, static_cast<uint16_t>(arity_ + j),
                                  static_cast<uint8_t>(levels_ - 1 + l), false};
        }
  }

  uint32_t hops(uint32_t from, uint32_t to) const override {
    return 2 * top_level(router_of(from), router_of(to));
  }

  void add_ideal_load(uint32_t from, uint32_t to, double bytes, std::vector<double>* load) const override {
    for (uint32_t l = 0; l < top_level(router_of(from), router_of(to)); l++) {
      (*load)[l] += bytes;
      (*load)[levels_ - 1 + l] += bytes;
    }
  }

  Route begin(uint32_t, uint32_t, uint64_t random) const override {
    Route route{};
    route.random = static_cast<uint8_t>(random);
    route.via = static_cast<uint32_t>(random >> 8);
    return route;
  }

  uint32_t choices(uint32_t router, uint32_t to, Route* route, Choice* out) const override {
    const uint32_t level = router / width_, w = router % width_, leaf = router_of(to);
    const uint8_t channel = static_cast<uint8_t>(route->random % channels_);
    if (top_level_of(w, leaf) > level) {
      const uint32_t by_destination = to / power_[level] % arity_;
      uint32_t n = 0;
      if (routing_ == RoutingAlgorithm::adaptive)
        for (uint32_t j = 1; j < arity_; j++)
          out[n++] = {static_cast<uint16_t>(arity_ + (by_destination + j) % arity_), channel};
      const uint32_t j =
          routing_ == RoutingAlgorithm::valiant ? route->via / power_[level] % arity_ : by_destination;
      out[n++] = {static_cast<uint16_t>(arity_ + j), channel};
      return n;
    }
    if (level == 0) return 0;
    out[0] = {static_cast<uint16_t>(digit(leaf, level - 1)), channel};
    return 1;
  }

  void take(uint32_t, const Choice&, Route*) const override {}

 private:
  uint32_t digit(uint32_t w, uint32_t place) const { return w / power_[place] % arity_; }
  uint32_t with_digit(uint32_t w, uint32_t place, uint32_t value) const {
    return w - digit(w, place) * power_[place] + value * power_[place];
  }
  // The lowest level of a switch from which both leaves are below.
  uint32_t top_level(uint32_t a, uint32_t b) const { return top_level_of(a, b); }
  uint32_t top_level_of(uint32_t w, uint32_t leaf) const {
    uint32_t level = 0;
    for (uint32_t l = 0; l + 1 < levels_; l++)
      if (digit(w, l) != digit(leaf, l)) level = l + 1;
    return level;
  }

  uint32_t arity_, levels_, width_ = 1;
  uint32_t power_[9] = {};
};

}  // namespace

std::unique_ptr<const Topology> make_fat_tree(const Machine& machine) {
  return std::make_unique<FatTree>(machine);
}

}  // namespace tasuki::netsim
