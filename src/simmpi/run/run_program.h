// Runs an MPI program on a simulated machine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "netsim/network/network.h"
#include "netsim/network/statistics.h"
#include "netsim/topology/topology.h"
#include "simmpi/run/rank_log.h"

namespace tasuki::simmpi {

struct ProgramOptions {
  std::vector<std::string> command;  // the program (searched in PATH if it has no slash) and its arguments
  uint32_t ranks = 1;
  bool payload = true;  // false: messages have their size and time, but no content
  netsim::Options network;
  // By operation ("alltoall", "broadcast", "allreduce", "barrier"): the name of the schedule that does it.
  std::map<std::string, std::string> collectives;
  // Pacing of a message between two nodes, in 1 / netsim::kGapUnit packet times; empty: none.
  std::function<uint32_t(uint32_t from, uint32_t to)> gap;
  bool log = true;                   // keep a record of each call and message
  uint64_t most_records = 1u << 20;  // of each kind and of all ranks together
  // By the wall's clock, in seconds: a run in which no rank sends, receives or ends for so long is ended. 0:
  // never.
  double patience_s = 600;
  uint64_t stack_bytes = uint64_t{8} << 20;  // of each rank; only what is touched takes memory
};

struct ProgramOutcome {
  int exit_code = 0;        // what `tasuki sim` ends with
  std::string failure;      // several lines; empty: all ranks ended by themselves
  netsim::Results network;  // of a run that did not fail
  ProgramLog log;
  bool reproducible = true;  // false: the host's CPU time was part of it (compute_scale)
};

// Ranks to nodes in blocks: rank r on node r where there are as many nodes as ranks. An error: the program
// cannot be loaded, the ranks cannot be mapped, an option is wrong. What goes wrong within the program is an
// outcome. One at a time in a process: the program's output goes through the process's stdout and stderr.
Result<ProgramOutcome> run_program(const netsim::Machine& machine, const ProgramOptions& options);

// The same with another network, for tests: as netsim::simulate().
using Simulate = std::function<Result<netsim::Results>(const netsim::Machine&, const netsim::Topology&,
                                                       netsim::Driver&, const netsim::Options&)>;
Result<ProgramOutcome> run_program(const netsim::Machine& machine, const ProgramOptions& options,
                                   const Simulate& simulate);

}  // namespace tasuki::simmpi
