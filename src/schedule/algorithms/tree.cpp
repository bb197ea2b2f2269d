#include "schedule/algorithms/tree.h"

#include <algorithm>
#include <cerrno>

namespace tasuki::schedule {
namespace {

uint64_t segment_bytes(uint64_t segment, uint64_t bytes) {
  return segment == 0 ? bytes : std::min(segment, bytes);
}

}  // namespace

Result<Outline> broadcast_outline(const Parameters& p, const std::vector<uint64_t>& bounds) {
  Outline outline{{{"data", p.bytes}}, {}};
  for (size_t lane = 0; lane + 1 < bounds.size(); lane++) {
    const uint64_t bytes = bounds[lane + 1] - bounds[lane];
    if (bytes == 0 || p.ranks == 1) {
      outline.rounds.push_back(0);
      continue;
    }
    const uint64_t rounds = (bytes - 1) / segment_bytes(p.segment, bytes) + 2;
    if (rounds > UINT32_MAX)
      return Status::error(EINVAL, "segments of " + std::to_string(p.segment) + " bytes are too many for " +
                                       std::to_string(p.bytes) + " bytes");
    outline.rounds.push_back(static_cast<uint32_t>(rounds));
  }
  return outline;
}

void pipeline(const Place& place, Range range, uint64_t segment, uint32_t round, std::vector<Step>& out) {
  segment = segment_bytes(segment, range.bytes);
  const uint64_t segments = (range.bytes - 1) / segment + 1;
  const auto piece = [&](uint64_t number) {
    const uint64_t at = number * segment;
    return Range{range.buffer, range.offset + at, std::min(segment, range.bytes - at)};
  };
  // Round k: receive segment k, send segment k - 1; the root has them all and sends segment k.
  const bool receives = place.parent != kNoPeer;
  if (receives && round < segments) out.push_back(receive_step(place.parent, piece(round)));
  if (receives && round == 0) return;
  const uint64_t number = receives ? round - 1 : round;
  if (number >= segments) return;
  for (const Place::Child& child : place.children)
    out.push_back(send_step(child.rank, piece(number), child.nic));
}

}  // namespace tasuki::schedule
