#include "schedule/tree.h"

#include <algorithm>

namespace tasuki::schedule {

Tree make_tree(uint32_t ranks) {
  return {std::vector<uint32_t>(ranks, kNoParent), std::vector<int16_t>(ranks, kAnyNic)};
}

Schedule empty_broadcast(const char* algorithm, uint32_t ranks) {
  Schedule s;
  s.algorithm = algorithm;
  s.buffers = {"data"};
  s.steps.resize(ranks);
  return s;
}

void pipeline(Schedule& s, const Tree& tree, uint64_t offset, uint64_t bytes, const Parameters& p) {
  const uint32_t lane = s.lanes++;
  if (bytes == 0) return;
  const uint32_t ranks = static_cast<uint32_t>(tree.parent.size());
  std::vector<std::vector<uint32_t>> children(ranks);
  for (uint32_t r = 0; r < ranks; r++)
    if (tree.parent[r] != kNoParent) children[tree.parent[r]].push_back(r);
  const uint64_t segment = p.segment == 0 ? bytes : std::min(p.segment, bytes);
  const uint64_t segments = (bytes - 1) / segment + 1;
  for (uint32_t r = 0; r < ranks; r++) {
    const bool receives = tree.parent[r] != kNoParent;
    // Round k: receive segment k, send segment k - 1; the root has them all and sends segment k.
    const uint64_t lag = receives ? 1 : 0;
    for (uint64_t k = 0; k < segments + lag; k++) {
      const auto step = [&](Action action, uint32_t peer, uint64_t number, int16_t nic) {
        const uint64_t at = number * segment;
        s.steps[r].push_back({action, 0, nic, peer, lane, static_cast<uint32_t>(k),
                              action == Action::send ? p.gap : 0, offset + at,
                              std::min(segment, bytes - at)});
      };
      if (receives && k < segments) step(Action::receive, tree.parent[r], k, kAnyNic);
      if (k < lag) continue;
      for (const uint32_t child : children[r]) step(Action::send, child, k - lag, tree.nic[child]);
    }
  }
}

}  // namespace tasuki::schedule
