// Spread all-to-all: everything is posted at once, as in `linear`, but every rank begins with the rank after
// it, so that no rank is everybody's first destination.
#include "schedule/algorithms.h"
#include "schedule/algorithms/alltoall.h"

namespace tasuki::schedule {
namespace {

Result<Outline> outline(const Parameters& p) {
  return alltoall_outline(p, 1);
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t, std::vector<Step>& out) {
  for (uint32_t k = 1; k < p.ranks; k++) out.push_back(receive_block(p, rank_before(rank, k, p.ranks)));
  for (uint32_t k = 1; k < p.ranks; k++) out.push_back(send_block(p, rank_after(rank, k, p.ranks)));
  out.push_back(own_block(p, rank));
}

}  // namespace

const Algorithm kSpread{"spread", "alltoall", "everything at once, each rank beginning after itself",
                        false,    &outline,   &emit};

}  // namespace tasuki::schedule
