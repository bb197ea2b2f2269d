// The kernel's constants in ticks.
#pragma once

#include "netsim/engine/wheel.h"
#include "netsim/machine/machine.h"

namespace tasuki::netsim {

struct Clock {
  explicit Clock(const Machine& machine);

  Time tick = 1;   // ps: the largest that divides the flit time and all delays, if that is not absurdly short
  Tick hop = 0;    // from an arbiter's grant until the header may be granted in the next router
  Tick enter = 0;  // from a packet at an injection port until it may be granted: RC, VA
  Tick leave = 0;  // from the last grant until the header is in the NIC: SA, ST, switch
  Tick credit = 0;     // from a packet's end leaving a buffer until the sender knows: cable and a flit
  Tick lookahead = 0;  // nothing that happens in one router is felt in another earlier than this

  Tick on_link(uint64_t bytes) const { return per_bytes(bytes, link_); }
  Tick by_dma(uint64_t bytes) const { return per_bytes(bytes, dma_); }
  Tick in_memory(uint64_t bytes) const { return per_bytes(bytes, memory_); }
  Tick gap(uint32_t gap) const {
    return static_cast<Tick>(static_cast<double>(gap) * static_cast<double>(full_packet_) / kGapUnit + 0.5);
  }
  Tick ticks(Time t) const { return (t + tick - 1) / tick; }

 private:
  static Tick per_bytes(uint64_t bytes, double ticks_per_byte) {
    const double t = static_cast<double>(bytes) * ticks_per_byte;
    const Tick whole = static_cast<Tick>(t);
    return static_cast<double>(whole) + 1e-6 < t ? whole + 1 : whole;
  }
  double link_ = 0, dma_ = 0, memory_ = 0;
  Tick full_packet_ = 0;
};

}  // namespace tasuki::netsim
