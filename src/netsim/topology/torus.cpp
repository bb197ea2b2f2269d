// Tori and meshes of 1 to 6 dimensions (each may wrap or not, so the 6-D mesh/torus of Tofu is one). Ports 2d
// and 2d + 1 lead in positive and negative direction of dimension d.
//
// Deterministic: dimension order, the shorter way round. A ring is cut at its dateline, the link that closes
// it: packets use channel 0 before it, channel 1 on it and behind it. A shorter way crosses it at most once,
// so channel 0 of a ring never continues over the dateline and channel 1 never reaches it again: neither is a
// circle; and dimensions are taken in order. `balanced`: a packet that does not cross may use channel 1 too;
// it stays within the ring's open part, so the argument holds. `crossing`: a packet that crosses uses channel
// 1 from its first link of the ring. Such packets come no further from the dateline than half of the ring on
// either side, so they leave a gap in it, and the others do not cross.
//
// Adaptive: any shortest way on channels of its own, and the deterministic way on the ordered channels as the
// escape that a packet may wait for (Duato's condition: coming back to an escape channel the packet has no
// fewer dimensions behind it, and a dateline crossed on any channel counts).
//
// Valiant: dimension order to a random node, then to the destination, each half with ordered channels of its
// own.
#include <cstdlib>

#include "netsim/topology/topologies.h"

namespace tasuki::netsim {
namespace {

class Torus final : public Topology {
 public:
  explicit Torus(const Machine& machine) : Topology(machine), ties_(machine.ties), use_(machine.channel_use) {
    dimensions_ = static_cast<uint32_t>(machine.extents.size());
    ports_ = 2 * dimensions_;
    links_.resize(size_t{routers_} * ports_);
    uint32_t stride = 1;
    bool rings = false;
    for (uint32_t d = 0; d < dimensions_; d++) {
      constexpr const char* kAxes[] = {"X", "Y", "Z", "A", "B", "C"};
      classes_.push_back(std::string("+") + kAxes[d]);
      classes_.push_back(std::string("-") + kAxes[d]);
      extent_[d] = machine.extents[d];
      wraps_[d] = machine.wraps[d] && extent_[d] > 1;
      stride_[d] = stride;
      stride *= extent_[d];
      rings = rings || wraps_[d];
    }
    ordered_ = rings ? 2 : 1;
    for (uint32_t r = 0; r < routers_; r++)
      for (uint32_t d = 0; d < dimensions_; d++) {
        connect(r, d, true);
        connect(r, d, false);
      }
  }

  uint32_t hops(uint32_t from, uint32_t to) const override {
    uint32_t h = 0;
    for (uint32_t d = 0; d < dimensions_; d++) h += distance(router_of(from), router_of(to), d);
    return h;
  }

  void add_ideal_load(uint32_t from, uint32_t to, double bytes, std::vector<double>* load) const override {
    for (uint32_t d = 0; d < dimensions_; d++) {
      const double half = bytes * distance(router_of(from), router_of(to), d) / 2;
      (*load)[2 * d] += half;
      (*load)[2 * d + 1] += half;
    }
  }

  Route begin(uint32_t from, uint32_t to, uint64_t random) const override {
    Route route{};
    route.random = static_cast<uint8_t>(random);
    uint32_t target = router_of(to);
    route.phase = 1;
    if (routing_ == RoutingAlgorithm::valiant) {
      target = static_cast<uint32_t>((random >> 8) % routers_);
      route.phase = 0;
    }
    aim(router_of(from), target, &route);
    return route;
  }

  uint32_t choices(uint32_t router, uint32_t to, Route* route, Choice* out) const override {
    uint32_t d = first_left(*route);
    if (d == dimensions_) {
      if (route->phase == 1) return 0;
      route->phase = 1;
      aim(router, router_of(to), route);
      d = first_left(*route);
      if (d == dimensions_) return 0;
    }
    uint32_t n = 0;
    if (routing_ == RoutingAlgorithm::adaptive) {
      for (uint32_t e = d; e < dimensions_; e++)
        for (uint32_t c = ordered_; c < channels_ && route->left[e] != 0; c++)
          out[n++] = {port(*route, e), static_cast<uint8_t>(c)};
    }
    out[n++] = {port(*route, d), ordered_channel(router, *route, d)};
    return n;
  }

  void take(uint32_t router, const Choice& choice, Route* route) const override {
    const uint32_t d = choice.port / 2;
    route->left[d] = static_cast<int16_t>(route->left[d] + (choice.port % 2 == 0 ? -1 : 1));
    if (link(router, choice.port).wraps) route->crossed = static_cast<uint8_t>(route->crossed | 1u << d);
  }

 private:
  uint32_t coordinate(uint32_t router, uint32_t d) const { return router / stride_[d] % extent_[d]; }

  void connect(uint32_t router, uint32_t d, bool positive) {
    const uint32_t c = coordinate(router, d), end = positive ? extent_[d] - 1 : 0;
    if (extent_[d] == 1 || (c == end && !wraps_[d])) return;
    const uint32_t to = (c + (positive ? 1 : extent_[d] - 1)) % extent_[d];
    Link& l = link_at(router, 2 * d + (positive ? 0 : 1));
    l.router = router - c * stride_[d] + to * stride_[d];
    l.port = static_cast<uint16_t>(2 * d + (positive ? 1 : 0));
    l.link_class = static_cast<uint8_t>(2 * d + (positive ? 0 : 1));
    l.wraps = c == end;
  }

  uint32_t distance(uint32_t a, uint32_t b, uint32_t d) const {
    const uint32_t x = coordinate(a, d), y = coordinate(b, d), straight = x < y ? y - x : x - y;
    return wraps_[d] && extent_[d] - straight < straight ? extent_[d] - straight : straight;
  }

  // Fills in the hops left from `from` to `to`.
  void aim(uint32_t from, uint32_t to, Route* route) const {
    route->crossed = route->crosses = 0;
    for (uint32_t d = 0; d < dimensions_; d++) {
      const int x = static_cast<int>(coordinate(from, d)), y = static_cast<int>(coordinate(to, d));
      const int n = static_cast<int>(extent_[d]);
      int left = y - x;
      if (wraps_[d]) {
        if (2 * left > n || (2 * left == n && !positive_tie(from))) left -= n;
        if (2 * left < -n || (2 * left == -n && positive_tie(from))) left += n;
      }
      route->left[d] = static_cast<int16_t>(left);
      if (x + left < 0 || x + left >= n) route->crosses = static_cast<uint8_t>(route->crosses | 1u << d);
    }
  }

  // Split: half of the nodes go each way, as the squares of a chessboard.
  bool positive_tie(uint32_t from) const {
    if (ties_ == Ties::positive) return true;
    uint32_t sum = 0;
    for (uint32_t d = 0; d < dimensions_; d++) sum += coordinate(from, d);
    return sum % 2 == 0;
  }

  uint32_t first_left(const Route& route) const {
    uint32_t d = 0;
    while (d < dimensions_ && route.left[d] == 0) d++;
    return d;
  }
  static uint16_t port(const Route& route, uint32_t d) {
    return static_cast<uint16_t>(2 * d + (route.left[d] > 0 ? 0 : 1));
  }
  uint8_t ordered_channel(uint32_t router, const Route& route, uint32_t d) const {
    uint32_t c = 0;
    if (ordered_ == 2) {
      const bool behind = (route.crossed >> d & 1) != 0 || link(router, port(route, d)).wraps;
      const bool crosses = (route.crosses >> d & 1) != 0;
      if (use_ == ChannelUse::crossing)
        c = crosses ? 1 : 0;
      else
        c = use_ == ChannelUse::balanced && !crosses ? route.random & 1u : (behind ? 1 : 0);
    }
    if (routing_ == RoutingAlgorithm::valiant && route.phase == 1) c += ordered_;
    return static_cast<uint8_t>(c);
  }

  uint32_t dimensions_ = 0, ordered_ = 1;
  uint32_t extent_[kMostDimensions] = {}, stride_[kMostDimensions] = {};
  bool wraps_[kMostDimensions] = {};
  Ties ties_;
  ChannelUse use_;
};

}  // namespace

std::unique_ptr<const Topology> make_torus(const Machine& machine) {
  return std::make_unique<Torus>(machine);
}

}  // namespace tasuki::netsim
