#include "simmpi/report/data.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "netsim/simulate.h"

namespace tasuki::simmpi {

using netsim::Results;
using netsim::Time;

uint32_t bins_of(const Results& r) {
  if (r.bin_width == 0 || r.busy.empty()) return 0;
  const Time reached = (r.end + r.bin_width - 1) / r.bin_width;
  return static_cast<uint32_t>(std::min<Time>(reached, r.busy[0].size()));
}

Time bin_length(const Results& r, uint32_t bin) {
  return std::min(r.bin_width, r.end - Time{bin} * r.bin_width);
}

std::vector<Series> link_use(const Results& r) {
  std::vector<Series> out;
  const uint32_t bins = bins_of(r);
  if (bins == 0) return out;
  Series all{"average", std::vector<double>(bins)};
  double links = 0;
  for (size_t c = 0; c < r.classes.size(); c++) {
    links += r.class_links[c];
    Series s{r.classes[c], std::vector<double>(bins)};
    for (uint32_t b = 0; b < bins; b++) {
      const double share = r.busy[c][b] / static_cast<double>(bin_length(r, b));
      all.values[b] += share;
      s.values[b] = r.class_links[c] == 0 ? 0 : share / r.class_links[c];
    }
    out.push_back(std::move(s));
  }
  for (double& v : all.values) v = links == 0 ? 0 : v / links;
  out.push_back(std::move(all));
  return out;
}

std::vector<Series> buffer_use(const Results& r) {
  std::vector<Series> out;
  const uint32_t bins = bins_of(r);
  if (bins == 0 || r.channels == 0 || r.buffered.size() < r.classes.size() * r.channels) return out;
  for (size_t c = 0; c < r.classes.size(); c++)
    for (uint32_t channel = 0; channel < r.channels; channel++) {
      Series s{r.classes[c] + " vc" + std::to_string(channel), std::vector<double>(bins)};
      const std::vector<double>& bytes = r.buffered[c * r.channels + channel];
      for (uint32_t b = 0; b < bins && r.class_links[c] != 0; b++)
        s.values[b] = bytes[b] / r.class_links[c] * static_cast<double>(r.bin_width) /
                      static_cast<double>(bin_length(r, b));
      out.push_back(std::move(s));
    }
  return out;
}

std::vector<ClassTotals> class_totals(const netsim::Topology& topology, const Results& r) {
  std::vector<ClassTotals> out(topology.classes().size());
  std::vector<double> count(out.size());
  for (const LinkName& l : links_by_class(topology)) {
    const netsim::LinkTotals& t = r.links[l.index];
    ClassTotals& c = out[l.link_class];
    const double busy = r.end == 0 ? 0 : static_cast<double>(t.busy) / static_cast<double>(r.end);
    c.packets += t.packets;
    c.bytes += t.bytes;
    c.busy += busy;
    c.least = std::min(c.least, busy);
    c.most = std::max(c.most, busy);
    count[l.link_class]++;
  }
  for (size_t i = 0; i < out.size(); i++) {
    if (count[i] == 0) out[i].least = 0;
    if (count[i] != 0) out[i].busy /= count[i];
  }
  return out;
}

std::vector<LinkName> links_by_class(const netsim::Topology& topology) {
  std::vector<LinkName> out;
  const auto& links = topology.links();
  for (size_t i = 0; i < links.size(); i++)
    if (links[i].router != netsim::kNone)
      out.push_back({i, static_cast<uint32_t>(i / topology.ports()), links[i].router, links[i].link_class});
  std::stable_sort(out.begin(), out.end(),
                   [](const LinkName& a, const LinkName& b) { return a.link_class < b.link_class; });
  return out;
}

Time unloaded_latency(const netsim::Machine& machine, uint32_t hops) {
  const auto read = static_cast<Time>(
      std::llround(machine.packet_bytes / std::min(machine.dma_bandwidth, machine.memory_bandwidth) * 1e12));
  const Time all = netsim::zero_load_latency(machine, hops, machine.payload_bytes());
  return all > read ? all - read : 0;
}

double seconds(Time t) {
  return static_cast<double>(t) * 1e-12;
}

double round_to(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return 0;
  char text[40];
  snprintf(text, sizeof(text), "%.*g", digits, value);
  return strtod(text, nullptr);
}

std::string sequence_name(const SimulationReport& report, size_t sequence) {
  return sequence < report.sequence_names.size() ? report.sequence_names[sequence]
                                                 : "sequence " + std::to_string(sequence);
}

std::string hash_text(uint64_t hash) {
  return print("%016llx", static_cast<unsigned long long>(hash));
}

std::string time_text(double s) {
  const double magnitude = std::fabs(s);
  if (magnitude == 0) return "0 s";
  if (magnitude < 1e-6) return print("%.4g ns", s * 1e9);
  if (magnitude < 1e-3) return print("%.4g us", s * 1e6);
  if (magnitude < 1) return print("%.4g ms", s * 1e3);
  return print("%.4g s", s);
}

std::string print(const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  return std::string(text, static_cast<size_t>(std::clamp(n, 0, static_cast<int>(sizeof(text)) - 1)));
}

}  // namespace tasuki::simmpi
