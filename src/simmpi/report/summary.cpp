// The summary on the terminal.
#include <algorithm>

#include "simmpi/report/data.h"

namespace tasuki::simmpi {
namespace {

double share(double part, double whole) {
  return whole == 0 ? 0 : part / whole;
}

std::string head(const SimulationReport& report) {
  const netsim::Results& r = *report.results;
  std::string out = report.title + (report.title.empty() ? "" : " on ") + report.machine->name;
  out += print(" (%s model, %u nodes)\n", r.model.c_str(), report.topology->nodes());
  for (const auto& [name, value] : report.settings) out += print("  %-10s", name.c_str()) + value + "\n";
  out += print("  %-10s%s", "time", time_text(seconds(report.time)).c_str());
  if (r.ideal != 0)
    out += print(", %.1f %% of the ideal %s", 100 * share(seconds(report.time), seconds(r.ideal)),
                 time_text(seconds(r.ideal)).c_str());
  out += print("\n  %-10s%llu messages, %llu packets, %llu packet hops, %.4g MB payload\n", "traffic",
               static_cast<unsigned long long>(r.messages), static_cast<unsigned long long>(r.packets),
               static_cast<unsigned long long>(r.packet_hops), static_cast<double>(r.payload_bytes) / 1e6);
  return out;
}

std::string links(const SimulationReport& report) {
  const auto totals = class_totals(*report.topology, *report.results);
  if (report.results->packet_hops == 0) return "";
  std::string out = "  links busy       average    least     most\n";
  double sum = 0, count = 0;
  for (size_t c = 0; c < totals.size(); c++) {
    const auto n = report.results->class_links[c];
    out += print("    %-10s %9.1f %% %6.1f %% %6.1f %%\n", report.topology->classes()[c].c_str(),
                 100 * totals[c].busy, 100 * totals[c].least, 100 * totals[c].most);
    sum += totals[c].busy * n;
    count += n;
  }
  if (totals.size() > 1) out += print("    %-10s %9.1f %%\n", "all", 100 * share(sum, count));
  return out;
}

// At most a dozen rows: of a large machine not every number of hops.
std::string latencies(const netsim::Results& r) {
  std::vector<size_t> hops;
  for (size_t h = 0; h < r.latency.size(); h++)
    if (r.latency[h].count() != 0) hops.push_back(h);
  if (hops.empty()) return "";
  std::string out = "  packet latency        mean        p50        p99        max   packets\n";
  const size_t step = (hops.size() + 11) / 12;
  for (size_t i = 0; i < hops.size(); i++) {
    if (i % step != 0 && i + 1 != hops.size()) continue;
    const netsim::Histogram& l = r.latency[hops[i]];
    out += print("    %3zu %-8s %10s %10s %10s %10s %9llu\n", hops[i], hops[i] == 1 ? "hop" : "hops",
                 time_text(l.mean() * 1e-12).c_str(), time_text(seconds(l.quantile(.5))).c_str(),
                 time_text(seconds(l.quantile(.99))).c_str(), time_text(seconds(l.most())).c_str(),
                 static_cast<unsigned long long>(l.count()));
  }
  return out;
}

std::string phases(const SimulationReport& report) {
  if (report.sequences == nullptr || report.sequences->empty()) return "";
  const auto& all = *report.sequences;
  netsim::Time worst = 0, sum = 0;
  size_t at = 0, count = 0;
  for (size_t s = 0; s < all.size(); s++) {
    if (all[s].last_end == 0) continue;  // not run
    count++;
    sum += all[s].imbalance();
    if (all[s].imbalance() < worst) continue;
    worst = all[s].imbalance();
    at = s;
  }
  if (count == 0) return "";
  return print("  %-10s%zu sequences; the ranks end %s apart on average, at most %s (%s)\n", "imbalance",
               count, time_text(seconds(sum) / static_cast<double>(count)).c_str(),
               time_text(seconds(worst)).c_str(), sequence_name(report, at).c_str());
}

std::string ranks(const ProgramLog* log) {
  if (log == nullptr || log->ranks.empty()) return "";
  uint64_t calls = 0, least = UINT64_MAX, most = 0, in_mpi = 0, total = 0;
  for (const RankLog& r : log->ranks) {
    calls += r.call_count;
    least = std::min(least, r.finished);
    most = std::max(most, r.finished);
    in_mpi += r.in_mpi;
    total += r.finished;
  }
  return print("  %-10s%zu, %llu MPI calls, %.1f %% of their time in MPI; they end %s apart\n", "ranks",
               log->ranks.size(), static_cast<unsigned long long>(calls),
               100 * share(static_cast<double>(in_mpi), static_cast<double>(total)),
               time_text(seconds(most - least)).c_str()) +
         (log->truncated ? "            their log is cut: the first records were kept\n" : "");
}

}  // namespace

std::string summary(const SimulationReport& report) {
  const netsim::Results& r = *report.results;
  std::string out = head(report) + links(report) + latencies(r) + phases(report) + ranks(report.log);
  out += print("  %-10s%s on %u thread%s", "simulated", time_text(r.wall_s).c_str(), r.threads,
               r.threads == 1 ? "" : "s");
  if (r.wall_s > 0)
    out += print(": %.3g million packet hops/s, %.3g million events/s",
                 static_cast<double>(r.packet_hops) / r.wall_s * 1e-6,
                 static_cast<double>(r.events) / r.wall_s * 1e-6);
  return out + "\n  result    " + hash_text(r.hash) + "\n";
}

}  // namespace tasuki::simmpi
