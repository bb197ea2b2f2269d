#include "netsim/topology/topology.h"

#include "netsim/topology/topologies.h"

namespace tasuki::netsim {

Topology::Topology(const Machine& machine)
    : nodes_(machine.nodes()),
      routers_(machine.routers()),
      router_nodes_(machine.topology == TopologyKind::fat_tree ? machine.arity : machine.router_nodes),
      channels_(machine.channels),
      routing_(machine.routing) {}

std::unique_ptr<const Topology> make_topology(const Machine& machine) {
  switch (machine.topology) {
    case TopologyKind::torus:
      return make_torus(machine);
    case TopologyKind::fat_tree:
      return make_fat_tree(machine);
    case TopologyKind::dragonfly:
      return make_dragonfly(machine);
  }
  return nullptr;
}

std::vector<uint32_t> coordinates_of(const Machine& machine, uint32_t node) {
  std::vector<uint32_t> c;
  if (machine.topology != TopologyKind::torus) return c;
  uint32_t rest = node / machine.router_nodes;
  for (const uint32_t extent : machine.extents) {
    c.push_back(rest % extent);
    rest /= extent;
  }
  return c;
}

}  // namespace tasuki::netsim
