// Topologies as data: a table of links, and small functions that say where a packet goes next. One file for
// each kind: torus.cpp (tori and meshes of any dimension), fat_tree.cpp, dragonfly.cpp.
//
// Deadlock freedom. Packets hold a buffer while they wait for the next one, so the channels (link, virtual
// channel) that packets may wait for must not form a circle. Each file says why its own do not;
// test/routing_test.cpp follows every route and proves it on the graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "netsim/machine/machine.h"

namespace tasuki::netsim {

inline constexpr uint32_t kNone = UINT32_MAX;

struct Link {
  uint32_t router = kNone;  // where it leads; kNone: no link at this port
  uint16_t port = 0;        // the port at that router where it ends
  uint8_t link_class = 0;   // index into Topology::classes
  bool wraps = false;       // the link of a ring that closes it: its dateline
};

// Where a packet still has to go. Kept small: it travels with the packet.
struct Route {
  union {
    int16_t left[kMostDimensions];  // torus: hops left in each dimension, signed
    uint32_t via;                   // fat tree: ways up, as digits; dragonfly: intermediate group
  };
  uint8_t phase;    // valiant: 0 on the way to the intermediate, 1 beyond
  uint8_t crossed;  // torus: dimensions (bits) whose dateline is behind; dragonfly: global links taken
  uint8_t crosses;  // torus: dimensions whose dateline is on the way
  uint8_t random;   // of this packet
};

struct Choice {
  uint16_t port;    // Topology::ports and above: the ejection ports
  uint8_t channel;  // virtual channel of the link
};
inline constexpr uint32_t kMostChoices = 64;

class Topology {
 public:
  virtual ~Topology() = default;

  const std::vector<std::string>& classes() const { return classes_; }
  uint32_t nodes() const { return nodes_; }
  uint32_t routers() const { return routers_; }
  uint32_t ports() const { return ports_; }  // of a router, ejection not counted
  uint32_t router_of(uint32_t node) const { return node / router_nodes_; }
  uint32_t router_nodes() const { return router_nodes_; }
  const Link& link(uint32_t router, uint32_t port) const { return links_[size_t{router} * ports_ + port]; }
  const std::vector<Link>& links() const { return links_; }

  // The fewest links between two nodes.
  virtual uint32_t hops(uint32_t from, uint32_t to) const = 0;
  // Adds to load[class] how many links of each class a shortest way takes (fractions where ways differ): what
  // an ideal network would carry.
  virtual void add_ideal_load(uint32_t from, uint32_t to, double bytes, std::vector<double>* load) const = 0;

  // The route of one packet. `random` is fresh for each packet.
  virtual Route begin(uint32_t from, uint32_t to, uint64_t random) const = 0;
  // The ways on from `router`, in order of preference, ports of `to`'s router for ejection excluded: none
  // means that the packet has arrived. All but the last are optional: a packet may wait for the last only.
  virtual uint32_t choices(uint32_t router, uint32_t to, Route* route, Choice* out) const = 0;
  // The packet takes this way.
  virtual void take(uint32_t router, const Choice& choice, Route* route) const = 0;

 protected:
  explicit Topology(const Machine& machine);
  Link& link_at(uint32_t router, uint32_t port) { return links_[size_t{router} * ports_ + port]; }

  uint32_t nodes_ = 0, routers_ = 0, ports_ = 0, router_nodes_ = 1, channels_ = 1;
  RoutingAlgorithm routing_;
  std::vector<std::string> classes_;
  std::vector<Link> links_;
};

// The machine must have passed check_machine().
std::unique_ptr<const Topology> make_topology(const Machine& machine);

// A torus or mesh in coordinates, dimension 0 fastest: for pictures and for relative addresses. Empty for
// others.
std::vector<uint32_t> coordinates_of(const Machine& machine, uint32_t node);

}  // namespace tasuki::netsim
