// A machine as the simulator sees it: topology, links, routers, NICs, memory, software. Read from a TOML file
// in which every quantity has its unit; docs/simulator.md describes each key. What table 1 of the paper
// (NSIM, section 4.1) lists is here under the paper's names; what that table leaves open is a choice with a
// documented default.
//
//   node       where ranks run: NICs and a memory, attached to one router
//   router     forwards packets: input buffers for each virtual channel, one arbiter for each output
//   port       where a router's outgoing link and the incoming one beside it end
//   link       one direction of a cable
//   class      what a link is called in results: "+X", "up", "global"
//   tick       the unit of the kernel's time; every delay is a whole number of ticks
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tasuki::netsim {

using Time = uint64_t;  // picoseconds since the start of the simulation

inline constexpr uint32_t kMostDimensions = 6;
inline constexpr uint32_t kMostChannels = 8;
inline constexpr uint32_t kGapUnit = 256;  // gaps are counted in 1/256 of a packet's time on the link

enum class TopologyKind { torus, fat_tree, dragonfly };  // a mesh is a torus that does not wrap

enum class RoutingAlgorithm {
  deterministic,  // dimension order; up by destination, then down; local-global-local
  adaptive,       // minimal, by free buffers
  valiant,        // by way of a random intermediate node, router or group
};

// Which way round a ring when both are equally long.
enum class Ties { positive, split };
// Which of a ring's two channels a packet uses. dateline: the first before it, the second on it and behind
// it; balanced: the same, but a packet that does not cross it may use either; crossing: the second all the
// way if it crosses.
enum class ChannelUse { dateline, balanced, crossing };
enum class Arbitration { injection_first, round_robin, through_first, oldest_first };
// How many packets an input buffer hands to outputs at a time: one for each output, one for each virtual
// channel, one for each port.
enum class BufferRead { multiple, channel, port };
enum class InjectionPorts { per_nic, shared };

struct Machine {
  std::string name;

  TopologyKind topology = TopologyKind::torus;
  std::vector<uint32_t> extents;  // torus: nodes in each dimension, dimension 0 fastest
  std::vector<bool> wraps;        // torus: by dimension
  uint32_t arity = 0;             // fat tree: children of a switch
  uint32_t levels = 0;            // fat tree
  uint32_t group_routers = 0;     // dragonfly: a
  uint32_t global_links = 0;      // dragonfly: h, of each router
  uint32_t router_nodes = 1;      // nodes of a router (dragonfly: p; fat tree: arity)

  RoutingAlgorithm routing = RoutingAlgorithm::deterministic;
  Ties ties = Ties::positive;
  ChannelUse channel_use = ChannelUse::dateline;

  double link_bandwidth = 0;  // bytes a second, one direction
  Time cable_delay = 0;

  Time routing_computation = 0;  // RC
  Time channel_allocation = 0;   // VA
  Time switch_allocation = 0;    // SA
  Time switch_traversal = 0;     // ST, of one flit
  Time switch_delay = 0;
  uint32_t channels = 0;      // virtual channels of a link
  uint64_t buffer_bytes = 0;  // of each virtual channel at a router's input
  uint32_t flit_bytes = 0;
  uint32_t packet_bytes = 0;  // MTU: the longest packet, header included
  uint32_t header_bytes = 0;
  Arbitration arbitration = Arbitration::injection_first;
  BufferRead buffer_read = BufferRead::multiple;

  uint32_t nics = 0;  // of a node; each sends one packet at a time
  double dma_bandwidth = 0;
  InjectionPorts injection = InjectionPorts::per_nic;

  double memory_bandwidth = 0;

  Time call_overhead = 0;    // of every MPI call
  uint64_t eager_bytes = 0;  // longer messages wait for their receive
  double compute_scale = 0;  // 0: computation takes no simulated time unless the program says so

  uint32_t nodes() const;
  uint32_t routers() const;
  uint32_t payload_bytes() const { return packet_bytes - header_bytes; }
  // Packets of a message, and its bytes on a link: payload, headers, last flit filled.
  uint64_t packets_of(uint64_t bytes) const;
  uint64_t wire_bytes_of(uint64_t bytes) const;
};

// Reads a machine file. An error names the file, the line, the key, what is wrong and what is expected.
// `settings` are values that replace the file's: "router.arbitration=round-robin", "topology.extents=[4, 4]".
Result<Machine> load_machine(const std::string& path, const std::vector<std::string>& settings = {});
Result<Machine> parse_machine(std::string_view text, const std::string& path,
                              const std::vector<std::string>& settings = {});

// Whether the values make sense together (also for machines made by code).
Status check_machine(const Machine& machine);
// The same for who can say where the value comes from: the first wrong key of a machine file, null if there
// is none.
struct MachineFault {
  const char* key = nullptr;
  std::string what;
};
MachineFault find_fault(const Machine& machine);

// Every value that a result may depend on, one a line, to the last bit: equal texts, equal machines. The name
// is not one.
std::string values_of(const Machine& machine);

// "4 GB/s" -> 4e9, "78 ns" -> 78000: exact decimal or binary units; false if it is none. Sizes are read by
// parse_bytes (base/bytes.h) with ByteUnits::standard.
bool parse_bandwidth(std::string_view text, double* bytes_per_second);
bool parse_time(std::string_view text, Time* time);

}  // namespace tasuki::netsim
