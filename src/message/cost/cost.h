// The cost model: which way a message should take, from what both sides' layouts touch and from what it costs
// to move things on this machine. Plain functions of numbers: no state, no MPI.
//
//   alone      the second side copies everything: no waiting for each other
//   direct     both sides copy a half each: half of the lines on either side belong to the other core
//   pipelined  the source's side packs, the destination's unpacks: only dense lines cross, but each byte is copied twice
//
// A line that its owner has touched since the last message has to be fetched from that core's cache; one that
// nobody has touched is still in the cache of the core that copied it last, because claims come from fixed
// ends (job.h). Programs touch what they send and what they receive: the way that is chosen is the one that
// takes least then. Where two take the same by what the model knows, the better one for untouched buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "layout/layout.h"

namespace tasuki::message {

// What moving costs, in nanoseconds. `tasuki tune` measures them. The built-in ones fit the touched messages
// of `tasuki bench ddt` by each way on a virtual machine, while its two cores were near each other; when they
// are far all that crosses takes three times as long, which leaves most choices as they are.
struct Costs {
  double line;         // a cache line of another core's, among many
  double page;         // a page that such lines lie on
  double run;          // one run of a layout, in a loop over many
  double byte;         // of a copy within one's own cache
  double staged_byte;  // through a small buffer that one core writes and another one reads
  double handshake;    // from a flag's store by one core to its sight by the other
  double unit;         // one unit of a pipelined transfer, besides its bytes
};
inline constexpr Costs kBuiltInCosts = {2.7, 1, 0.8, 0.02, 0.105, 100, 30};

// The names of the constants, in the order of the structure: in files, in TASUKI_COSTS and in `tasuki tune`.
inline constexpr const char* kCostNames[] = {"line",        "page",      "run", "byte",
                                             "staged_byte", "handshake", "unit"};
inline constexpr size_t kCostCount = sizeof(Costs) / sizeof(double);
inline double& cost_at(Costs& c, size_t i) {
  return (&c.line)[i];
}
inline double cost_at(const Costs& c, size_t i) {
  return (&c.line)[i];
}
// Numbers that a machine can have: finite, positive, below a millisecond.
bool plausible(const Costs& c);

// "line=4 page=5 ...": how `tasuki run` hands the constants to the shim. Parsing needs all of them, in any
// order, and sets *costs only when it succeeds. No locale, no allocation.
bool parse_costs(std::string_view text, Costs* costs);
// Returns the length of the whole text, like snprintf.
size_t format_costs(const Costs& costs, char* text, size_t capacity);

// ---- the choices

// Sizes at which a message's way changes whatever its layouts are.
struct Thresholds {
  uint64_t buffer_up_to;      // packed into a buffer when its receiver is not in a call of MPI
  uint64_t announce_from;     // idle tasks are told
  uint64_t share_dense_from;  // both sides copy, if both are dense
};
Thresholds thresholds(const Costs& c);

// Each line of a side that its owner has touched goes to the other core and, mostly while its owner does
// something else, back.
inline constexpr double kThereAndBack = 1.5;

enum class Way { alone, direct, pipelined };
// Nanoseconds. `touched`: both sides' owners have used their buffers since the last message.
double time_of(Way way, const Costs& c, const layout::Footprint& source, const layout::Footprint& destination,
               bool touched);
// What each way takes if both sides' buffers are touched, and which is best.
struct Prospects {
  static constexpr size_t kWays = 3;
  double touched[kWays];  // by Way
  Way best;

  double touched_by(Way w) const { return touched[static_cast<size_t>(w)]; }
};
Prospects prospects(const Costs& c, const layout::Footprint& source, const layout::Footprint& destination);
inline Way cheapest(const Costs& c, const layout::Footprint& source, const layout::Footprint& destination) {
  return prospects(c, source, destination).best;
}

// A small message whose receiver waits: its bytes lie so thinly that it costs less to have their owner pack
// them into a buffer than to fetch them from its cache.
bool pack_at_source(const Costs& c, const layout::Footprint& source);

}  // namespace tasuki::message
