// What the all-to-all algorithms share: blocks of Parameters::bytes, block d of the send buffer for rank d,
// block s of the receive buffer from rank s.
#pragma once

#include <algorithm>

#include "schedule/steps.h"

namespace tasuki::schedule {

inline constexpr uint8_t kSendBuffer = 0;
inline constexpr uint8_t kReceiveBuffer = 1;

// At least one round, for the own block.
inline Outline alltoall_outline(const Parameters& p, uint32_t rounds) {
  return {{{"send", p.ranks * p.bytes}, {"receive", p.ranks * p.bytes}},
          {p.bytes == 0 ? 0 : std::max(rounds, 1u)}};
}

inline Range block(const Parameters& p, uint8_t buffer, uint64_t rank) {
  return {buffer, rank * p.bytes, p.bytes};
}

inline Step receive_block(const Parameters& p, uint32_t source) {
  return receive_step(source, block(p, kReceiveBuffer, source));
}

inline Step send_block(const Parameters& p, uint32_t destination, int16_t nic = kAnyNic) {
  return send_step(destination, block(p, kSendBuffer, destination), nic);
}

// The own block does not travel.
inline Step own_block(const Parameters& p, uint32_t rank) {
  return local_step(Action::copy, block(p, kReceiveBuffer, rank), kSendBuffer, rank * p.bytes);
}

// Round k = 0, 1, ... of the exchanges by shifts: to the rank k + 1 further on, from the one as far back.
inline void shift(const Parameters& p, uint32_t rank, uint32_t round, std::vector<Step>& out) {
  if (p.ranks > 1) {
    out.push_back(receive_block(p, rank_before(rank, round + 1, p.ranks)));
    out.push_back(send_block(p, rank_after(rank, round + 1, p.ranks), 0));
  }
  if (round == 0) out.push_back(own_block(p, rank));
}

}  // namespace tasuki::schedule
