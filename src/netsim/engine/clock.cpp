#include "netsim/engine/clock.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tasuki::netsim {

Clock::Clock(const Machine& m) {
  constexpr double kPerSecond = 1e12;
  const Time flit =
      std::max<Time>(1, static_cast<Time>(std::llround(m.flit_bytes / m.link_bandwidth * kPerSecond)));
  Time common = flit;
  for (const Time delay : {m.cable_delay, m.routing_computation, m.channel_allocation, m.switch_allocation,
                           m.switch_traversal, m.switch_delay})
    common = std::gcd(common, delay);
  // Ticks much shorter than a flit buy nothing and make the wheel large: delays are rounded up then.
  tick = std::max(common, std::max<Time>(1, flit / 64));
  link_ = kPerSecond / m.link_bandwidth / static_cast<double>(tick);
  dma_ = kPerSecond / m.dma_bandwidth / static_cast<double>(tick);
  memory_ = kPerSecond / m.memory_bandwidth / static_cast<double>(tick);
  full_packet_ = on_link((uint64_t{m.packet_bytes} + m.flit_bytes - 1) / m.flit_bytes * m.flit_bytes);
  enter = ticks(m.routing_computation) + ticks(m.channel_allocation);
  leave = ticks(m.switch_allocation) + ticks(m.switch_traversal) + ticks(m.switch_delay);
  hop = std::max<Tick>(1, leave + ticks(m.cable_delay) + enter);
  credit = std::max<Tick>(1, ticks(m.cable_delay) + ticks(m.switch_traversal));
  const uint64_t shortest = (uint64_t{m.header_bytes} + m.flit_bytes - 1) / m.flit_bytes * m.flit_bytes;
  lookahead = std::min(hop, on_link(shortest) + credit);
}

}  // namespace tasuki::netsim
