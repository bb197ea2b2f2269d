// The two models behind simulate().
#pragma once

#include "netsim/network/network.h"
#include "netsim/network/statistics.h"
#include "netsim/topology/topology.h"

namespace tasuki::netsim {

Result<Results> run_packet_model(const Machine& machine, const Topology& topology, Driver& driver,
                                 const Options& options);
Result<Results> run_flow_model(const Machine& machine, const Topology& topology, Driver& driver,
                               const Options& options);

// Of the flow model alone, as memory_of().
uint64_t flow_memory(const Machine& machine, uint64_t links, uint64_t nodes);

}  // namespace tasuki::netsim
