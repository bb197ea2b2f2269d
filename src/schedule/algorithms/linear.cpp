// Linear all-to-all: everything is posted at once, in the order of the ranks. All begin with rank 0, then
// rank 1: a hot spot that wanders.
#include "schedule/algorithms.h"
#include "schedule/algorithms/alltoall.h"

namespace tasuki::schedule {
namespace {

Result<Outline> outline(const Parameters& p) {
  return alltoall_outline(p, 1);
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t, std::vector<Step>& out) {
  for (uint32_t source = 0; source < p.ranks; source++)
    if (source != rank) out.push_back(receive_block(p, source));
  for (uint32_t destination = 0; destination < p.ranks; destination++)
    if (destination != rank) out.push_back(send_block(p, destination));
  out.push_back(own_block(p, rank));
}

}  // namespace

const Algorithm kLinear{"linear", "alltoall", "everything at once, in the order of the ranks",
                        false,    &outline,   &emit};

}  // namespace tasuki::schedule
