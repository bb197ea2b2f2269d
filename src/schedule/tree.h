// Pipelines along trees, which most broadcasts are made of.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace tasuki::schedule {

inline constexpr uint32_t kNoParent = UINT32_MAX;

struct Tree {
  std::vector<uint32_t> parent;  // by rank; kNoParent: the root
  std::vector<int16_t> nic;      // by rank: how its parent reaches it
};
Tree make_tree(uint32_t ranks);

Schedule empty_broadcast(const char* algorithm, uint32_t ranks);

// Lets `bytes` from `offset` of buffer 0 flow down the tree in a lane of its own, in segments (0: whole): a
// rank receives a segment while it hands the one before it on to all its children.
void pipeline(Schedule& s, const Tree& tree, uint64_t offset, uint64_t bytes, const Parameters& p);

}  // namespace tasuki::schedule
