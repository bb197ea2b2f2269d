// Schedule files: how a tuned schedule is saved and replayed. They hold what makes a schedule, not its steps.
//
//   {
//     "format": "tasuki-schedule-1",
//     "algorithm": "a2at",
//     "parameters": { "ranks": 81, "shape": [9, 9], "wraps": true, "bytes": 1048576 },
//     "barriers": false,
//     "pace": { "per_hop": 1, "per_sequence": [0.25, 0, ...] }
//   }
//
// The gap of a send is per_hop * hops + its sequence's entry, and never less than 0, in packet times, rounded
// to 1/256. The example has the paper's gap, (hops - 1) + bias, with a bias of 1.25 and 1 and so on. Without
// "pace" all have the gap of the parameters. What is left out has the value that schedule::Parameters begins
// with, but for ranks, which follow from a shape. A key that is not known is an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "schedule/schedule.h"

namespace tasuki::experiment {

// In 1 / schedule::kGapUnit packet times.
struct Pace {
  int32_t per_hop = 0;
  std::vector<int32_t> per_sequence;  // empty: none of this, the gap of the parameters
};

struct SavedSchedule {
  std::string algorithm;
  schedule::Parameters parameters;
  bool barriers = false;  // between all rounds
  Pace pace;
};

// Makes the schedule; an error if there are not as many entries in per_sequence as it has sequences.
Result<schedule::Schedule> replay(const SavedSchedule& saved);

std::string to_text(const SavedSchedule& saved);
// `name` is what errors begin with. Does not check what replay() will.
Result<SavedSchedule> from_text(const std::string& text, const std::string& name);

Status save(const SavedSchedule& saved, const std::string& file);
Result<SavedSchedule> load(const std::string& file);

}  // namespace tasuki::experiment
