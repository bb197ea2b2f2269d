#include "netsim/simulate.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "netsim/engine/clock.h"
#include "netsim/engine/partition.h"
#include "netsim/models/models.h"

namespace tasuki::netsim {

Result<Results> simulate(const Machine& machine, const Topology& topology, Driver& driver,
                         const Options& options) {
  Status status = check_machine(machine);
  if (!status.ok()) return status;
  if (options.model == Model::flow && machine.routing == RoutingAlgorithm::adaptive)
    return Status::error(EINVAL, "machine '" + machine.name +
                                     "': 'routing.algorithm': \"adaptive\" has no effect in the flow model, "
                                     "which has no buffers to look at; use \"deterministic\" or \"valiant\"");
  if (options.bins < 2) return Status::error(EINVAL, "what is recorded over time needs at least 2 bins");
  try {
    return options.model == Model::flow ? run_flow_model(machine, topology, driver, options)
                                        : run_packet_model(machine, topology, driver, options);
  } catch (const std::bad_alloc&) {
    return Status::error(
        ENOMEM,
        "not enough memory for this simulation; use a smaller machine or shorter messages, or --model flow");
  }
}

uint64_t memory_of(const Machine& m, const Options& options) {
  uint64_t ports = 2 * m.extents.size(), nodes_of = m.router_nodes, classes = ports;
  if (m.topology == TopologyKind::fat_tree) ports = 2 * m.arity, nodes_of = m.arity, classes = 2 * m.levels;
  if (m.topology == TopologyKind::dragonfly) ports = m.group_routers - 1 + m.global_links, classes = 2;
  const uint64_t routers = m.routers(), nodes = m.nodes(), bins = options.bins;
  uint64_t all =
      routers * ports * (sizeof(Link) + 2 * sizeof(LinkTotals)) + classes * (1 + m.channels) * bins * 16;
  if (options.link_bins) all += routers * ports * bins * (sizeof(uint64_t) + sizeof(double) + 1);
  if (options.model == Model::flow) return all + flow_memory(m, routers * ports, nodes);
  return all + Partition::memory_of(m, routers, ports, nodes_of, nodes);
}

Time zero_load_latency(const Machine& machine, uint32_t hops, uint64_t bytes) {
  const Clock c(machine);
  const uint64_t wire = machine.wire_bytes_of(std::min<uint64_t>(bytes, machine.payload_bytes()));
  const Tick read = std::max(c.by_dma(wire), c.in_memory(wire));
  const Tick write =
      std::max({hops == 0 ? c.by_dma(wire) : c.on_link(wire), c.by_dma(wire), c.in_memory(wire)});
  return (read + c.enter + hops * c.hop + c.leave + write) * c.tick;
}

}  // namespace tasuki::netsim
