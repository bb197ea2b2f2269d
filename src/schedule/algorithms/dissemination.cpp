// Dissemination barrier: in round k every rank tells the one 2^k further on that it, and all that it has
// heard of, have come. After ceil(log2(ranks)) rounds everybody has heard of everybody.
#include "schedule/algorithms.h"
#include "schedule/steps.h"

namespace tasuki::schedule {
namespace {

Result<Outline> outline(const Parameters& p) {
  return Outline{{}, {log2_up(p.ranks)}};
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  const uint64_t distance = uint64_t{1} << round;
  out.push_back(receive_step(rank_before(rank, distance, p.ranks), {0, 0, 0}));
  out.push_back(send_step(rank_after(rank, distance, p.ranks), {0, 0, 0}));
}

}  // namespace

const Algorithm kDissemination{"dissemination", "barrier", "round k: tell rank + 2^k, hear from rank - 2^k",
                               false,           &outline,  &emit};

}  // namespace tasuki::schedule
