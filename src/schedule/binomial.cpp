// Binomial tree: the number of ranks that have the message doubles in every round. The latency-optimal
// broadcast for short messages.
#include "schedule/algorithms.h"
#include "schedule/tree.h"

namespace tasuki::schedule {
namespace {

Result<Schedule> make_binomial(const Parameters& p) {
  Schedule s = empty_broadcast(kBinomial.name, p.ranks);
  s.lanes = 1;
  if (p.bytes == 0) return s;
  const auto rank_of = [&](uint64_t v) { return static_cast<uint32_t>((v + p.root) % p.ranks); };
  // Round k: those below 2^k (counted from the root) send to their partner 2^k further on.
  uint32_t round = 0;
  for (uint64_t distance = 1; distance < p.ranks; distance *= 2, round++) {
    for (uint64_t v = 0; v < distance && v + distance < p.ranks; v++) {
      const uint32_t from = rank_of(v), to = rank_of(v + distance);
      s.steps[from].push_back({Action::send, 0, kAnyNic, to, 0, round, p.gap, 0, p.bytes});
      s.steps[to].push_back({Action::receive, 0, kAnyNic, from, 0, round, 0, 0, p.bytes});
    }
  }
  return s;
}

}  // namespace

const Algorithm kBinomial{"binomial", "broadcast", "binomial tree, whole message", false, &make_binomial};

}  // namespace tasuki::schedule
