#include "message/cost/doubt.h"

namespace tasuki::message {

const char* spoiled(const Costs& c) {
  for (size_t i = 0; i < kCostCount; i++)
    if (!(cost_at(c, i) > -cost_at(kBuiltInCosts, i) / 4)) return "a constant is negative";
  // 64 bytes in each cycle of 8 GHz; DDR4's first generation, without any cache.
  if (c.byte < 0.002) return "a copy is faster than a cache can be";
  if (c.byte > 0.2) return "a copy within a core's own cache is slower than memory";
  if (c.staged_byte < c.byte / 2) return "a byte goes from core to core faster than within one";
  // A flag takes 0.5 us between the farthest sockets, a time slice 1 ms and more.
  if (c.handshake > 5000) return "a flag takes as long as a thread that waits for its core";
  if (c.line > 2000 || c.page > 20000 || c.run > 200 || c.staged_byte > 10 || c.unit > 20000)
    return "a constant is that of a machine that did something else";
  return nullptr;
}

}  // namespace tasuki::message
