// Simulates messages on a machine, by one of two models (network/network.h). No globals: any number of
// simulations can run in a process, also side by side. The same machine, driver and seed give the same
// results to the last bit, on any number of threads.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "netsim/machine/machine.h"
#include "netsim/network/network.h"
#include "netsim/network/statistics.h"
#include "netsim/topology/topology.h"

namespace tasuki::netsim {

// Raised with every change that changes a result: what keeps results (`tasuki sim paper`) does not use those
// of another version. The test sim.golden holds the hashes of some runs, and fails when it should have been
// raised.
inline constexpr uint32_t kResultsVersion = 1;

// Runs until nothing is left to happen. An error: the driver failed, or packets wait for each other (a
// deadlock of the network, with the channels that wait), or memory ran out.
Result<Results> simulate(const Machine& machine, const Topology& topology, Driver& driver,
                         const Options& options);

// What simulate() and the topology will take before the first message is sent, about.
uint64_t memory_of(const Machine& machine, const Options& options);

// Time of one message of one packet between two nodes through an empty network, NIC to memory: the closed
// form that the packet model must meet exactly.
Time zero_load_latency(const Machine& machine, uint32_t hops, uint64_t bytes);

}  // namespace tasuki::netsim
