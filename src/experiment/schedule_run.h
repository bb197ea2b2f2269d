// Executes a schedule on a simulated machine: rank r on node r, as an MPI program would that posts a round's
// receives and sends without blocking and then waits for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "netsim/network/network.h"
#include "netsim/network/statistics.h"
#include "netsim/topology/topology.h"
#include "schedule/schedule.h"

namespace tasuki::experiment {

struct RunOptions {
  netsim::Options network;
  netsim::Time skew = 0;  // ranks start at times spread over [0, skew], by the network's seed
  uint32_t first_sequence = 0, end_sequence = UINT32_MAX;  // only these rounds
};

// When the ranks were in one of the schedule's sequences.
struct SequenceTimes {
  netsim::Time first_begin = 0, last_begin = 0;
  netsim::Time first_end = 0, last_end = 0;
  netsim::Time imbalance() const { return last_end - first_end; }
};

struct RunOutcome {
  netsim::Results results;
  netsim::Time time = 0;                 // from the first rank's start until the last rank's end
  std::vector<SequenceTimes> sequences;  // barriers not counted
};

// The schedule must have as many ranks as the machine has nodes, or fewer. An error as of netsim::simulate(),
// or the rank that waits for a message which nobody sends.
Result<RunOutcome> run_schedule(const netsim::Machine& machine, const netsim::Topology& topology,
                                const schedule::Schedule& schedule, const RunOptions& options);

}  // namespace tasuki::experiment
