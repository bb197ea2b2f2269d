// Ring allreduce: the message is cut into one part a rank; 2 * (ranks - 1) messages of one part each, always
// to the next rank, so that a rank sends and receives hardly more than twice the message: for long ones.
//
// First, in steps t = 0 .. ranks - 2, rank r sends part r - t, receives part r - t - 1 and adds its own to
// it; then part r + 1 is complete at rank r, and in as many steps the complete parts go round once more. Each
// part is combined in one order, once: all ranks get the same bits.
#include <algorithm>

#include "schedule/algorithms.h"
#include "schedule/algorithms/allreduce.h"

namespace tasuki::schedule {
namespace {

uint64_t begin_of(const Parameters& p, uint64_t part) {
  return part_begin(p.bytes / p.element, part, p.ranks) * p.element;
}

Range part(const Parameters& p, uint32_t number) {
  return {kData, begin_of(p, number), begin_of(p, number + uint64_t{1}) - begin_of(p, number)};
}

Result<Outline> outline(const Parameters& p) {
  const uint64_t rounds = 3 * (uint64_t{p.ranks} - 1);
  if (rounds > UINT32_MAX) return Status::error(EINVAL, "ring-allreduce: too many ranks");
  const uint64_t elements = p.element == 0 ? 0 : p.bytes / p.element;
  const uint64_t longest = p.ranks == 1 ? 0 : (elements / p.ranks + (elements % p.ranks != 0)) * p.element;
  return allreduce_outline("ring-allreduce", p, longest, static_cast<uint32_t>(rounds));
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  const uint32_t n = p.ranks, next = rank_after(rank, 1, n), before = rank_before(rank, 1, n);
  const bool combining = round < 2 * (n - 1);
  const uint32_t t = combining ? round / 2 : round - 2 * (n - 1);
  const Range mine = part(p, rank_before(combining ? rank : next, t, n));
  const Range other = part(p, rank_before(combining ? before : rank, t, n));
  if (combining && round % 2 == 1) {
    if (other.bytes != 0) out.push_back(local_step(Action::reduce, other, kArrivedData, 0));
    return;
  }
  if (other.bytes != 0)
    out.push_back(receive_step(before, combining ? Range{kArrivedData, 0, other.bytes} : other));
  if (mine.bytes != 0) out.push_back(send_step(next, mine));
}

}  // namespace

const Algorithm kRingAllreduce{
    "ring-allreduce", "allreduce", "parts go round twice: combined, then complete", false, &outline, &emit};

}  // namespace tasuki::schedule
