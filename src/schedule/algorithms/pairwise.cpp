// Pairwise exchange: in round k = 1 .. ranks - 1 rank r exchanges with rank r xor k, which pairs the ranks
// off when their number is a power of two. Otherwise there are no such pairs, and the ranks shift as in
// `ring`.
#include "schedule/algorithms.h"
#include "schedule/algorithms/alltoall.h"

namespace tasuki::schedule {
namespace {

Result<Outline> outline(const Parameters& p) {
  return alltoall_outline(p, p.ranks - 1);
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  const bool power_of_two = (p.ranks & (p.ranks - 1)) == 0;
  if (!power_of_two || p.ranks == 1) return shift(p, rank, round, out);
  const uint32_t partner = rank ^ (round + 1);
  out.push_back(receive_block(p, partner));
  out.push_back(send_block(p, partner, 0));
  if (round == 0) out.push_back(own_block(p, rank));
}

}  // namespace

const Algorithm kPairwise{"pairwise", "alltoall", "round k: exchange with rank xor k, or shift by k",
                          false,      &outline,   &emit,
                          "pwx"};

}  // namespace tasuki::schedule
