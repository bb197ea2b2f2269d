// Finds a gap for each sequence of a schedule by search: what the paper does by hand in its section 4.4, and
// as its section 4.5 does for ranks that do not start together.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/schedule_file.h"

namespace tasuki::experiment {

// Two ways. `alone`: each sequence by itself, as in the paper; on the edge of congestion that misleads, for
// the ranks of a chain do not start a sequence together. Otherwise all sequences in their chain: first the
// best bias for all, then, in rounds, one sequence after the other gets the bias with which the whole
// schedule ends earliest.
struct TuneOptions {
  bool alone = false;
  double low = -1, high = 3;  // bias: the gap is hops - 1 + bias, in packet times, and never negative
  double coarse = 0.25, fine = 0.125;
  uint32_t rounds = 2;    // of the chain
  netsim::Time skew = 0;  // start skew of every trial
  uint32_t workers = 1;   // trials side by side
  uint64_t seed = 1;
  netsim::Model model = netsim::Model::packet;
  std::function<void(size_t finished, size_t all)> progress;  // of sequences; may be empty
};

struct Trial {
  double bias;
  netsim::Time time;  // of the sequence, if alone; else of the whole schedule
};

struct TunedSequence {
  uint32_t hops = 0;  // of its longest messages
  double bias = 0;    // the best
  netsim::Time time = 0;
  std::vector<Trial> trials;  // by bias
};

struct Tuned {
  std::vector<TunedSequence> sequences;
  SavedSchedule schedule;
};

// Needs a schedule with a shape whose messages of one sequence all have the same number of hops, such as
// A2AT.
Result<Tuned> tune(std::shared_ptr<const netsim::Machine> machine, const ScheduleSpec& spec,
                   const TuneOptions& options);

// The gap of a bias, in 1 / schedule::kGapUnit packet times.
uint32_t gap_of_bias(double bias, uint32_t hops);

}  // namespace tasuki::experiment
