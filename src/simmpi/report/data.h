// What the outputs have in common: numbers derived from Results, and text made of numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simmpi/report/report.h"

namespace tasuki::simmpi {

struct Series {
  std::string name;
  std::vector<double> values;  // by bin
};

// Bins that the run reached, and how much of one it covered (all but the last: the whole width).
uint32_t bins_of(const netsim::Results& r);
netsim::Time bin_length(const netsim::Results& r, uint32_t bin);

// Share (0..1) of a bin during which the links of a class were busy, class by class, then their average.
std::vector<Series> link_use(const netsim::Results& r);
// Bytes in one input buffer, the average over the links of a class; class by class, each channel by channel.
std::vector<Series> buffer_use(const netsim::Results& r);

// A class over the whole run.
struct ClassTotals {
  uint64_t packets = 0, bytes = 0;
  double busy = 0;   // share of the run: average over its links,
  double least = 1;  // the least
  double most = 0;   // and the busiest link
};
std::vector<ClassTotals> class_totals(const netsim::Topology& topology, const netsim::Results& r);

// A link in results: one direction of a cable, as Topology::links.
struct LinkName {
  size_t index;
  uint32_t from, to;  // routers
  uint32_t link_class;
};
// Those that exist, class by class, in a class by router.
std::vector<LinkName> links_by_class(const netsim::Topology& topology);

// What Results::latency would hold for a full packet in an empty network: the closed form without the NIC's
// reading of the packet, which comes before it is ready.
netsim::Time unloaded_latency(const netsim::Machine& machine, uint32_t hops);

double seconds(netsim::Time t);
double round_to(double value, int digits);  // significant ones: for text that a page or script reads
std::string sequence_name(const SimulationReport& report, size_t sequence);
std::string hash_text(uint64_t hash);

// "25.83 ms", "1.2 us": four digits.
std::string time_text(double seconds);
[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...);

}  // namespace tasuki::simmpi
