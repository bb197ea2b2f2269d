// Binomial tree: the number of ranks that have the message doubles in every round. The latency-optimal
// broadcast for short messages.
#include "schedule/algorithms.h"
#include "schedule/steps.h"

namespace tasuki::schedule {
namespace {

Result<Outline> outline(const Parameters& p) {
  return Outline{{{"data", p.bytes}}, {p.bytes == 0 ? 0 : log2_up(p.ranks)}};
}

// Round k: those below 2^k (counted from the root) send to their partner 2^k further on.
void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  const uint64_t distance = uint64_t{1} << round, v = rank_before(rank, p.root, p.ranks);
  const auto rank_of = [&](uint64_t u) { return rank_after(p.root, u, p.ranks); };
  if (v < distance && v + distance < p.ranks)
    out.push_back(send_step(rank_of(v + distance), {0, 0, p.bytes}));
  else if (v >= distance && v < 2 * distance)
    out.push_back(receive_step(rank_of(v - distance), {0, 0, p.bytes}));
}

}  // namespace

const Algorithm kBinomial{"binomial", "broadcast", "binomial tree, whole message", false, &outline, &emit};

}  // namespace tasuki::schedule
