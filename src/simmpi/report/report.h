// What a simulation tells its user: a summary for the terminal, JSON, tables, a Perfetto trace and a page
// that needs no network. All of it from one SimulationReport; docs/simulator.md, "What comes out", describes
// each file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "experiment/schedule_run.h"
#include "netsim/network/network.h"
#include "netsim/network/statistics.h"
#include "netsim/topology/topology.h"
#include "simmpi/run/rank_log.h"

namespace tasuki::simmpi {

// Points to what the caller keeps; only the first three are needed.
struct SimulationReport {
  const netsim::Machine* machine = nullptr;
  const netsim::Topology* topology = nullptr;
  const netsim::Results* results = nullptr;
  netsim::Time time = 0;  // from the first rank's start until the last rank's end
  std::string title;      // "a2at on 9x9"
  std::string command;    // what the user typed
  // What was chosen, shown as it is: {"schedule", "a2at"}, {"bytes", "1 MiB"}, {"pace", "hops-1+1.25"}.
  std::vector<std::pair<std::string, std::string>> settings;
  const std::vector<experiment::SequenceTimes>* sequences = nullptr;
  std::vector<std::string> sequence_names;  // may be empty: they are counted from 0
  const ProgramLog* log = nullptr;          // of an MPI program
};

// For the terminal: some twenty lines.
std::string summary(const SimulationReport& report);

// The complete result, one object. Times in seconds unless the key says otherwise. Also for scripts: keys
// stay.
std::string to_json(const SimulationReport& report);

// Creates the directory; an error if a report cannot be written there: to be known before the run.
Status prepare_report(const std::string& directory);

// Writes report.html, results.json, links.csv, throughput.csv, latency.csv, trace.perfetto-trace, and of a
// program ranks.csv, calls.csv and messages.csv. Creates the directory. The page and links over time want
// Options::link_bins.
Status write_report(const SimulationReport& report, const std::string& directory);

}  // namespace tasuki::simmpi
