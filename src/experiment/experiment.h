// A schedule on a machine with a pace, ready to run, and many of them side by side: what sweeps, the tuner
// and the paper's experiments consist of.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiment/pace.h"
#include "experiment/schedule_run.h"

namespace tasuki::experiment {

struct Experiment {
  std::shared_ptr<const netsim::Machine> machine;
  std::shared_ptr<const netsim::Topology> topology;
  schedule::Schedule schedule;
  RunOptions options;
};

// What makes a schedule on a machine. Ranks: all nodes; shape: the machine's.
struct ScheduleSpec {
  std::string algorithm;
  uint64_t bytes = 1 << 20;
  uint64_t segment = 0;
  uint32_t root = 0;
  bool barriers = false;  // between all sequences
  // Gap by sequence and hops, in 1 / schedule::kGapUnit packet times; null: none.
  std::function<uint32_t(uint32_t sequence, uint32_t hops)> gap;
};

// Fills in shape and wraps of the ranks of all nodes, one on each. An error if the machine has no such shape
// and it is needed.
Status take_shape(const netsim::Machine& machine, bool needed, schedule::Parameters* parameters);

Result<Experiment> make_experiment(std::shared_ptr<const netsim::Machine> machine, const ScheduleSpec& spec);

Result<RunOutcome> run(const Experiment& experiment);

// Calls task(0) ... task(count - 1) on so many threads; each is called once. `done` is called after each by
// one thread at a time; may be null.
void side_by_side(size_t count, uint32_t workers, const std::function<void(size_t)>& task,
                  const std::function<void(size_t finished)>& done);

}  // namespace tasuki::experiment
