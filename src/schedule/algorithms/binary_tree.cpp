// Pipelined binary tree: half the chain's bandwidth, since a rank sends everything twice, and a depth of
// log2(ranks).
#include "schedule/algorithms.h"
#include "schedule/algorithms/tree.h"

namespace tasuki::schedule {
namespace {

Result<Outline> outline(const Parameters& p) {
  return broadcast_outline(p, {0, p.bytes});
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  const uint64_t v = rank_before(rank, p.root, p.ranks);
  Place place;
  if (v != 0) place.parent = rank_after(p.root, (v - 1) / 2, p.ranks);
  for (uint64_t child = 2 * v + 1; child <= 2 * v + 2 && child < p.ranks; child++)
    place.children.push_back({rank_after(p.root, child, p.ranks), kAnyNic});
  pipeline(place, {0, 0, p.bytes}, p.segment, round, out);
}

}  // namespace

const Algorithm kBinaryTree{"binary_tree", "broadcast", "pipelined binary tree", false, &outline, &emit};

}  // namespace tasuki::schedule
