#include "netsim/machine/machine.h"

#include <cerrno>
#include <cstdio>

namespace tasuki::netsim {
namespace {

constexpr uint64_t kMostNodes = 16u << 20;

uint64_t power(uint64_t base, uint32_t exponent) {
  uint64_t p = 1;
  for (uint32_t i = 0; i < exponent && p <= kMostNodes; i++) p *= base;
  return p;
}

uint64_t count_nodes(const Machine& m) {
  uint64_t n = m.router_nodes;
  switch (m.topology) {
    case TopologyKind::torus:
      for (const uint32_t extent : m.extents) {
        n *= extent;
        if (n > kMostNodes) break;
      }
      return n;
    case TopologyKind::fat_tree:
      return power(m.arity, m.levels);
    case TopologyKind::dragonfly: {
      const uint64_t groups = uint64_t{m.group_routers} * m.global_links + 1;
      return groups * m.group_routers * n;
    }
  }
  return 0;
}

MachineFault topology_fault(const Machine& m) {
  switch (m.topology) {
    case TopologyKind::torus:
      if (m.extents.empty() || m.extents.size() > kMostDimensions)
        return {"topology.extents", "a torus or mesh has 1 to " + std::to_string(kMostDimensions) +
                                        " extents, not " + std::to_string(m.extents.size())};
      if (m.wraps.size() != m.extents.size())
        return {"topology.wraps",
                "there must be one value for each of the " + std::to_string(m.extents.size()) + " extents"};
      for (const uint32_t extent : m.extents)
        if (extent == 0 || extent > 32767) return {"topology.extents", "an extent must be 1 to 32767"};
      break;
    case TopologyKind::fat_tree:
      if (m.arity < 2 || m.arity > 64) return {"topology.arity", "the arity of a fat tree is 2 to 64"};
      if (m.levels < 1 || m.levels > 8) return {"topology.levels", "a fat tree has 1 to 8 levels"};
      break;
    case TopologyKind::dragonfly:
      if (m.group_routers < 1 || m.group_routers > 256)
        return {"topology.group_routers", "a group of a dragonfly has 1 to 256 routers"};
      if (m.global_links < 1 || m.global_links > 64)
        return {"topology.global_links", "a router of a dragonfly has 1 to 64 global links"};
      break;
  }
  if (m.router_nodes < 1 || m.router_nodes > 64)
    return {"topology.router_nodes", "a router has 1 to 64 nodes"};
  if (count_nodes(m) > kMostNodes)
    return {"topology", "more than " + std::to_string(kMostNodes) + " nodes; use a smaller network"};
  return {};
}

// What is asked for and would change nothing.
MachineFault idle_choice(const Machine& m) {
  const bool torus = m.topology == TopologyKind::torus;
  if (m.routing == RoutingAlgorithm::adaptive && m.topology == TopologyKind::dragonfly)
    return {
        "routing.algorithm",
        "\"adaptive\" has no effect: there is one shortest way through a dragonfly; use \"deterministic\" or "
        "\"valiant\""};
  bool rings = false;
  for (size_t d = 0; torus && d < m.extents.size(); d++) rings = rings || (m.wraps[d] && m.extents[d] > 1);
  if (m.ties != Ties::positive && !rings)
    return {"routing.ties", "\"split\" has no effect: this network has no ring with two ways round"};
  if (m.channel_use != ChannelUse::dateline && !rings)
    return {"routing.channels", "only \"dateline\" has an effect: this network has no ring"};
  return {};
}

// Channels that the routing needs to be free of deadlock (routing.cpp says why).
uint32_t channels_needed(const Machine& m) {
  if (m.topology == TopologyKind::fat_tree) return 1;
  if (m.topology == TopologyKind::dragonfly) return m.routing == RoutingAlgorithm::valiant ? 3 : 2;
  bool rings = false;
  for (const bool w : m.wraps) rings = rings || w;
  const uint32_t ordered = rings ? 2 : 1;
  switch (m.routing) {
    case RoutingAlgorithm::deterministic:
      return ordered;
    case RoutingAlgorithm::adaptive:
      return ordered + 1;
    case RoutingAlgorithm::valiant:
      return 2 * ordered;
  }
  return ordered;
}

}  // namespace

uint32_t Machine::nodes() const {
  return static_cast<uint32_t>(count_nodes(*this));
}

uint32_t Machine::routers() const {
  switch (topology) {
    case TopologyKind::fat_tree:
      return static_cast<uint32_t>(levels * power(arity, levels - 1));
    default:
      return nodes() / router_nodes;
  }
}

uint64_t Machine::packets_of(uint64_t bytes) const {
  return bytes == 0 ? 1 : (bytes - 1) / payload_bytes() + 1;
}

uint64_t Machine::wire_bytes_of(uint64_t bytes) const {
  const uint64_t full = bytes / payload_bytes(), rest = bytes - full * payload_bytes();
  const auto whole_flits = [this](uint64_t b) { return (b + flit_bytes - 1) / flit_bytes * flit_bytes; };
  uint64_t wire = full * whole_flits(packet_bytes);
  if (rest != 0 || bytes == 0) wire += whole_flits(rest + header_bytes);
  return wire;
}

MachineFault find_fault(const Machine& m) {
  MachineFault fault = topology_fault(m);
  if (fault.key != nullptr) return fault;
  struct Rate {
    const char* key;
    double value;
  };
  for (const Rate& r : {Rate{"link.bandwidth", m.link_bandwidth}, Rate{"nic.dma", m.dma_bandwidth},
                        Rate{"memory.bandwidth", m.memory_bandwidth}})
    if (!(r.value >= 1e3 && r.value <= 1e15)) return {r.key, "must be 1 KB/s to 1 PB/s"};
  struct Delay {
    const char* key;
    Time value;
  };
  constexpr Time kMostDelay = 1000000000000;  // a second
  for (const Delay& d :
       {Delay{"link.cable_delay", m.cable_delay}, Delay{"router.routing_computation", m.routing_computation},
        Delay{"router.channel_allocation", m.channel_allocation},
        Delay{"router.switch_allocation", m.switch_allocation},
        Delay{"router.switch_traversal", m.switch_traversal}, Delay{"router.switch_delay", m.switch_delay},
        Delay{"software.call_overhead", m.call_overhead}})
    if (d.value > kMostDelay) return {d.key, "must not be more than a second"};
  if (m.flit_bytes < 1 || m.flit_bytes > 16384) return {"packet.flit", "a flit has 1 B to 16 KiB"};
  if (uint64_t{m.packet_bytes} + m.flit_bytes > 65535)
    return {"packet.mtu", "the MTU and a flit together must be below 64 KiB"};
  if (m.header_bytes < 1 || m.header_bytes >= m.packet_bytes)
    return {"packet.header", "the header must have at least 1 B and be shorter than the MTU"};
  const uint64_t flits = (uint64_t{m.packet_bytes} + m.flit_bytes - 1) / m.flit_bytes * m.flit_bytes;
  if (m.buffer_bytes < flits)
    return {"router.buffer", "the buffer of a virtual channel (" + std::to_string(m.buffer_bytes) +
                                 " B) must hold a whole packet: virtual cut-through"};
  if (m.buffer_bytes > (1u << 30))
    return {"router.buffer", "the buffer of a virtual channel is larger than 1 GiB"};
  if (m.channels < 1 || m.channels > kMostChannels)
    return {"router.channels", "there are 1 to " + std::to_string(kMostChannels) + " virtual channels"};
  if (m.channels < channels_needed(m))
    return {"router.channels", "this routing needs " + std::to_string(channels_needed(m)) +
                                   " virtual channels to be free of deadlock, not " +
                                   std::to_string(m.channels)};
  if (m.nics < 1 || m.nics > 64) return {"nic.count", "a node has 1 to 64 NICs"};
  return idle_choice(m);
}

std::string values_of(const Machine& m) {
  std::string text;
  const auto whole = [&text](const char* name, uint64_t value) {
    text += std::string(name) + " " + std::to_string(value) + "\n";
  };
  const auto real = [&text](const char* name, double value) {
    char buffer[40];
    snprintf(buffer, sizeof buffer, "%.17g", value);
    text += std::string(name) + " " + buffer + "\n";
  };
  whole("topology", static_cast<uint64_t>(m.topology));
  for (const uint32_t extent : m.extents) whole("extent", extent);
  for (const bool wraps : m.wraps) whole("wraps", wraps ? 1 : 0);
  whole("arity", m.arity);
  whole("levels", m.levels);
  whole("group_routers", m.group_routers);
  whole("global_links", m.global_links);
  whole("router_nodes", m.router_nodes);
  whole("routing", static_cast<uint64_t>(m.routing));
  whole("ties", static_cast<uint64_t>(m.ties));
  whole("channel_use", static_cast<uint64_t>(m.channel_use));
  real("link_bandwidth", m.link_bandwidth);
  whole("cable_delay", m.cable_delay);
  whole("routing_computation", m.routing_computation);
  whole("channel_allocation", m.channel_allocation);
  whole("switch_allocation", m.switch_allocation);
  whole("switch_traversal", m.switch_traversal);
  whole("switch_delay", m.switch_delay);
  whole("channels", m.channels);
  whole("buffer", m.buffer_bytes);
  whole("flit", m.flit_bytes);
  whole("mtu", m.packet_bytes);
  whole("header", m.header_bytes);
  whole("arbitration", static_cast<uint64_t>(m.arbitration));
  whole("buffer_read", static_cast<uint64_t>(m.buffer_read));
  whole("nics", m.nics);
  real("dma", m.dma_bandwidth);
  whole("injection", static_cast<uint64_t>(m.injection));
  real("memory", m.memory_bandwidth);
  whole("call_overhead", m.call_overhead);
  whole("eager", m.eager_bytes);
  real("compute_scale", m.compute_scale);
  return text;
}

Status check_machine(const Machine& m) {
  const MachineFault fault = find_fault(m);
  if (fault.key == nullptr) return Status();
  return Status::error(EINVAL, "machine '" + m.name + "': '" + fault.key + "': " + fault.what);
}

}  // namespace tasuki::netsim
