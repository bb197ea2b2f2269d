#include "experiment/memory_check.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "base/bytes.h"
#include "netsim/simulate.h"
#include "os/memory/host_memory.h"

namespace tasuki::experiment {
Status check_memory(const netsim::Machine& machine, const netsim::Options& options, uint64_t more) {
  // A wrong machine is for others to refuse, with its key.
  if (!netsim::check_machine(machine).ok()) return Status();
  const uint64_t needed = netsim::memory_of(machine, options) + more, there = os::host_memory().available;
  if (there == 0 || needed <= there) return Status();
  netsim::Options flow = options;
  flow.model = netsim::Model::flow;
  const bool flow_fits = netsim::memory_of(machine, flow) + more <= there;
  return Status::error(
      ENOMEM,
      "machine '" + machine.name + "': " + std::to_string(machine.nodes()) + " nodes and " +
          std::to_string(machine.routers()) + " routers need about " +
          bytes_text(needed, BytesStyle::rounded) + " of memory, and this host has " +
          bytes_text(there, BytesStyle::rounded) +
          " left; use a smaller network, fewer NICs or channels, a schedule with fewer messages at a time" +
          (options.link_bins ? ", no --out" : "") + (flow_fits ? ", or --model flow" : ""));
}

uint64_t memory_of(const schedule::Schedule& s) {
  constexpr uint64_t kTransit = 128, kRank = 256;  // a message under way; a rank by itself
  uint64_t each = kRank;
  std::vector<schedule::Step> steps;
  for (uint32_t lane = 0; lane < s.lanes(); lane++) {
    uint64_t most = 0;
    for (const uint32_t rank : {0u, s.ranks() / 2})
      for (const uint32_t round : {0u, s.rounds(lane) / 2}) {
        s.round(rank, lane, round, steps);
        most = std::max<uint64_t>(most, steps.size());
      }
    each += most * (sizeof(schedule::Step) + kTransit / 2);  // half of them are sends
  }
  return each * s.ranks();
}

}  // namespace tasuki::experiment
