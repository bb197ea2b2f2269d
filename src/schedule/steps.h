// What algorithms emit; lane, round, sequence and gap are filled in by Schedule::round().
#pragma once

#include "schedule/schedule.h"

namespace tasuki::schedule {

// A range of a buffer.
struct Range {
  uint8_t buffer;
  uint64_t offset;
  uint64_t bytes;
};

inline Step send_step(uint32_t peer, Range range, int16_t nic = kAnyNic) {
  return {Action::send, range.buffer, nic, peer, 0, 0, 0, range.offset, range.bytes};
}

inline Step receive_step(uint32_t peer, Range range) {
  return {Action::receive, range.buffer, kAnyNic, peer, 0, 0, 0, range.offset, range.bytes};
}

inline Step local_step(Action action, Range to, uint8_t from_buffer, uint64_t from_offset) {
  return {action, to.buffer, kAnyNic, kNoPeer, 0, 0, 0, to.offset, to.bytes, 0, from_buffer, from_offset};
}

// The smallest k with 2^k >= ranks.
inline uint32_t log2_up(uint32_t ranks) {
  uint32_t k = 0;
  while ((uint64_t{1} << k) < ranks) k++;
  return k;
}

// The rank that is `by` further on, or back, cyclically; by <= ranks.
inline uint32_t rank_after(uint32_t rank, uint64_t by, uint32_t ranks) {
  return static_cast<uint32_t>((rank + by) % ranks);
}
inline uint32_t rank_before(uint32_t rank, uint64_t by, uint32_t ranks) {
  return static_cast<uint32_t>((rank + (ranks - by)) % ranks);
}

// Where part k of `parts` begins when `units` are cut as evenly as possible.
inline uint64_t part_begin(uint64_t units, uint64_t k, uint64_t parts) {
  return units / parts * k + units % parts * k / parts;
}

}  // namespace tasuki::schedule
