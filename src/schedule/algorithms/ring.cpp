// Ring all-to-all, the variant in which nobody forwards: in round k = 1 .. ranks - 1 every rank sends its
// block to the rank k further on and receives one from the rank k before it, one message each way at a time.
// (The store-and-forward ring, in which blocks go from neighbour to neighbour, moves ranks / 2 times the
// bytes. The paper on packet pacing compares a "ring" without saying which; this one is the usual one.)
#include "schedule/algorithms.h"
#include "schedule/algorithms/alltoall.h"

namespace tasuki::schedule {
namespace {

Result<Outline> outline(const Parameters& p) {
  return alltoall_outline(p, p.ranks - 1);
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  shift(p, rank, round, out);
}

}  // namespace

const Algorithm kRing{"ring", "alltoall", "round k: send to rank + k, receive from rank - k",
                      false,  &outline,   &emit};

}  // namespace tasuki::schedule
