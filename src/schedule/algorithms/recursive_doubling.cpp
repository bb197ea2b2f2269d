// Recursive doubling allreduce: in step k rank r and rank r xor 2^k exchange all they have and both combine
// it. log2(ranks) messages of full length: for short messages.
//
// When the number of ranks is not a power of two, the first 2 * (ranks - power) of them go together in pairs:
// the even one gives its contribution to the odd one beforehand and gets the result from it afterwards.
//
// Both partners combine the same two values, so with a commutative operator all ranks get the same bits.
#include "schedule/algorithms.h"
#include "schedule/algorithms/allreduce.h"

namespace tasuki::schedule {
namespace {

// The largest power of two that is not above the number of ranks, as 2^doublings.
struct Power {
  uint32_t doublings;
  uint32_t beyond;  // ranks - 2^doublings

  explicit Power(uint32_t ranks) : doublings(log2_up(ranks)) {
    if ((uint64_t{1} << doublings) > ranks) doublings--;
    beyond = ranks - (uint32_t{1} << doublings);
  }
  // Number of a rank among those that double, and back.
  uint32_t number(uint32_t rank) const { return rank < 2 * beyond ? rank / 2 : rank - beyond; }
  uint32_t rank(uint32_t number) const { return number < beyond ? 2 * number + 1 : number + beyond; }
};

Result<Outline> outline(const Parameters& p) {
  const Power power(p.ranks);
  return allreduce_outline("recursive-doubling", p, p.ranks == 1 ? 0 : p.bytes,
                           2 * power.doublings + (power.beyond != 0 ? 3 : 0));
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  const Power power(p.ranks);
  const Range data{kData, 0, p.bytes}, arrived{kArrivedData, 0, p.bytes};
  const bool paired = rank < 2 * power.beyond, gives = paired && rank % 2 == 0;
  if (power.beyond != 0) {
    const uint32_t after = 2 + 2 * power.doublings;
    if (paired && round == 0)
      out.push_back(gives ? send_step(rank + 1, data) : receive_step(rank - 1, arrived));
    if (paired && round == 1 && !gives) out.push_back(local_step(Action::reduce, data, kArrivedData, 0));
    if (paired && round == after)
      out.push_back(gives ? receive_step(rank + 1, data) : send_step(rank - 1, data));
    if (round < 2 || round == after) return;
    round -= 2;
  }
  if (gives) return;
  if (round % 2 == 1) {
    out.push_back(local_step(Action::reduce, data, kArrivedData, 0));
    return;
  }
  const uint32_t partner = power.rank(power.number(rank) ^ (uint32_t{1} << (round / 2)));
  out.push_back(receive_step(partner, arrived));
  out.push_back(send_step(partner, data));
}

}  // namespace

const Algorithm kRecursiveDoubling{
    "recursive-doubling", "allreduce", "step k: exchange all with rank xor 2^k", false, &outline, &emit};

}  // namespace tasuki::schedule
