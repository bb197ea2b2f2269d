// Synthetic traffic, as networks are compared with it: every node sends messages at random moments, whether
// earlier ones have left or not (open loop), for a warm-up and a measuring interval. What the network
// delivers of the load that is offered to it, and how long messages take, are its two best known curves
// (Dally, Towles, "Principles and practices of interconnection networks", chapter 23).
#pragma once

#include <cstdint>

#include "netsim/network/network.h"
#include "netsim/network/statistics.h"
#include "netsim/topology/topology.h"

namespace tasuki::experiment {

enum class TrafficPattern {
  uniform,         // to any node, each as likely, the sender too
  transpose,       // node (a, b) of n x n to (b, a)
  tornado,         // in every dimension of a torus or mesh almost half-way round
  bit_complement,  // node i of N to N - 1 - i
  hot_spot,        // a share to one node, the rest uniform
};

struct TrafficOptions {
  netsim::Options network;
  TrafficPattern pattern = TrafficPattern::uniform;
  double load = 0.1;   // offered by a node: bytes on the wire, as a share of one link's bandwidth
  uint64_t bytes = 0;  // payload of a message; 0: one full packet
  netsim::Time warm_up = 20'000'000, measure = 50'000'000;  // ps
  uint32_t gap = 0;                                         // pacing, as netsim::Message
  uint32_t hot_node = 0;
  double hot_share = 0.1;
};

struct TrafficOutcome {
  netsim::Results results;
  double offered = 0, accepted = 0;  // in the measuring interval: shares of a link's bandwidth, a node
  // Of messages made in the measuring interval that arrived, from then until all of it is in memory. Beyond
  // saturation they grow with the interval: messages that had not left when it ended are not among them.
  netsim::Histogram latency;
};

// An error if the pattern does not fit the machine, a value is out of range, or as of netsim::simulate().
Result<TrafficOutcome> run_traffic(const netsim::Machine& machine, const netsim::Topology& topology,
                                   const TrafficOptions& options);

}  // namespace tasuki::experiment
