// Pipelined chain: every rank hands segments on to the next. Time of a long message: that of the message
// once, plus one segment a rank.
#include "schedule/algorithms.h"
#include "schedule/algorithms/tree.h"

namespace tasuki::schedule {
namespace {

Result<Outline> outline(const Parameters& p) {
  return broadcast_outline(p, {0, p.bytes});
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  Place place;
  if (rank != p.root) place.parent = rank_before(rank, 1, p.ranks);
  const uint32_t next = rank_after(rank, 1, p.ranks);
  if (next != p.root) place.children.push_back({next, kAnyNic});
  pipeline(place, {0, 0, p.bytes}, p.segment, round, out);
}

}  // namespace

const Algorithm kChain{"chain", "broadcast", "pipelined chain", false, &outline, &emit};

}  // namespace tasuki::schedule
