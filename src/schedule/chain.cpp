// Pipelined chain: every rank hands segments on to the next. Time of a long message: that of the message
// once, plus one segment a rank.
#include "schedule/algorithms.h"
#include "schedule/tree.h"

namespace tasuki::schedule {
namespace {

Result<Schedule> make_chain(const Parameters& p) {
  Schedule s = empty_broadcast(kChain.name, p.ranks);
  Tree tree = make_tree(p.ranks);
  for (uint32_t r = 0; r < p.ranks; r++)
    if (r != p.root) tree.parent[r] = (r + p.ranks - 1) % p.ranks;
  pipeline(s, tree, 0, p.bytes, p);
  return s;
}

}  // namespace

const Algorithm kChain{"chain", "broadcast", "pipelined chain", false, &make_chain};

}  // namespace tasuki::schedule
