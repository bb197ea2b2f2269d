// Dragonfly: groups of a routers, all joined to each other; each router has h global links; a*h + 1 groups,
// one global link between any two. Ports 0 .. a-2 are local, then the global ones.
//
// Deterministic: local, global, local: the only shortest way. Valiant: by way of a random group. The virtual
// channel is the number of global links behind the packet: it rises along a route, and within a number local
// links come before the global one or end the route, so no circle closes.
#include "netsim/topology/topologies.h"

namespace tasuki::netsim {
namespace {

enum : uint8_t { kLocal, kGlobal };

class Dragonfly final : public Topology {
 public:
  explicit Dragonfly(const Machine& machine)
      : Topology(machine), a_(machine.group_routers), h_(machine.global_links), groups_(a_ * h_ + 1) {
    ports_ = a_ - 1 + h_;
    classes_ = {"local", "global"};
    links_.resize(size_t{routers_} * ports_);
    for (uint32_t r = 0; r < routers_; r++) {
      const uint32_t group = r / a_, me = r % a_;
      for (uint32_t other = 0; other < a_; other++)
        if (other != me)
          link_at(r, local_port(me, other)) = {group * a_ + other, local_port(other, me), kLocal, false};
      for (uint32_t j = 0; j < h_; j++) {
        const uint32_t q = me * h_ + j, to = (group + q + 1) % groups_, back = a_ * h_ - 1 - q;
        link_at(r, a_ - 1 + j) = {to * a_ + back / h_, static_cast<uint16_t>(a_ - 1 + back % h_), kGlobal,
                                  false};
      }
    }
  }

  uint32_t hops(uint32_t from, uint32_t to) const override {
    uint32_t router = router_of(from), n = 0;
    Route route = begin(from, to, 0);
    route.phase = 1;
    for (Choice c; choices(router, to, &route, &c) != 0; n++) {
      const Link& l = link(router, c.port);
      take(router, c, &route);
      router = l.router;
    }
    return n;
  }

  void add_ideal_load(uint32_t from, uint32_t to, double bytes, std::vector<double>* load) const override {
    const uint32_t global = router_of(from) / a_ == router_of(to) / a_ ? 0 : 1;
    (*load)[kGlobal] += bytes * global;
    (*load)[kLocal] += bytes * (hops(from, to) - global);
  }

  Route begin(uint32_t from, uint32_t to, uint64_t random) const override {
    Route route{};
    route.random = static_cast<uint8_t>(random);
    route.phase = 1;
    if (routing_ == RoutingAlgorithm::valiant && router_of(from) / a_ != router_of(to) / a_) {
      route.via = static_cast<uint32_t>((random >> 8) % groups_);
      route.phase = 0;
    }
    return route;
  }

  uint32_t choices(uint32_t router, uint32_t to, Route* route, Choice* out) const override {
    const uint32_t target = router_of(to), group = router / a_;
    if (route->phase == 0 && (group == route->via || group == target / a_)) route->phase = 1;
    const uint32_t aim = route->phase == 0 ? route->via : target / a_;
    uint16_t port = 0;
    if (aim != group) {
      const uint32_t q = (aim + groups_ - group - 1) % groups_;
      port = q / h_ == router % a_ ? static_cast<uint16_t>(a_ - 1 + q % h_) : local_port(router % a_, q / h_);
    } else {
      if (router == target) return 0;
      port = local_port(router % a_, target % a_);
    }
    out[0] = {port, route->crossed};
    return 1;
  }

  void take(uint32_t, const Choice& choice, Route* route) const override {
    if (choice.port >= a_ - 1) route->crossed++;
  }

 private:
  uint16_t local_port(uint32_t me, uint32_t other) const {
    return static_cast<uint16_t>(other < me ? other : other - 1);
  }
  uint32_t a_, h_, groups_;
};

}  // namespace

std::unique_ptr<const Topology> make_dragonfly(const Machine& machine) {
  return std::make_unique<Dragonfly>(machine);
}

}  // namespace tasuki::netsim
