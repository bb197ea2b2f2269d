// Pipelines along trees, which most broadcasts are made of.
#pragma once

#include <vector>

#include "schedule/steps.h"

namespace tasuki::schedule {

// A rank's place in a tree.
struct Place {
  struct Child {
    uint32_t rank;
    int16_t nic;  // that reaches it
  };
  uint32_t parent = kNoPeer;  // kNoPeer: the root
  std::vector<Child> children;
};

// One tree a lane, lane k with what lies between bounds[k] and bounds[k + 1] of the message.
Result<Outline> broadcast_outline(const Parameters& p, const std::vector<uint64_t>& bounds);

// Round `round` of what flows down a tree in segments (0: whole): a rank receives a segment while it hands
// the one before it on to all its children. `range` is the lane's part of the message.
void pipeline(const Place& place, Range range, uint64_t segment, uint32_t round, std::vector<Step>& out);

}  // namespace tasuki::schedule
