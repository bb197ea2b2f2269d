// Pipelined binary tree: half the chain's bandwidth, since a rank sends everything twice, and a depth of
// log2(ranks).
#include "schedule/algorithms.h"
#include "schedule/tree.h"

namespace tasuki::schedule {
namespace {

Result<Schedule> make_binary_tree(const Parameters& p) {
  Schedule s = empty_broadcast(kBinaryTree.name, p.ranks);
  Tree tree = make_tree(p.ranks);
  for (uint64_t v = 1; v < p.ranks; v++)
    tree.parent[(v + p.root) % p.ranks] = static_cast<uint32_t>(((v - 1) / 2 + p.root) % p.ranks);
  pipeline(s, tree, 0, p.bytes, p);
  return s;
}

}  // namespace

const Algorithm kBinaryTree{"binary_tree", "broadcast", "pipelined binary tree", false, &make_binary_tree};

}  // namespace tasuki::schedule
