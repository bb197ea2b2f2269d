// Results as JSON for scripts. The only other file with this heavy header is page_data.cpp.
#include <nlohmann/json.hpp>

#include "simmpi/report/data.h"

namespace tasuki::simmpi {
namespace {

using netsim::Results;
using nlohmann::json;

json machine(const SimulationReport& report) {
  const netsim::Machine& m = *report.machine;
  static constexpr const char* kKinds[] = {"torus", "fat_tree", "dragonfly"};
  static constexpr const char* kRouting[] = {"deterministic", "adaptive", "valiant"};
  static constexpr const char* kTies[] = {"positive", "split"};
  static constexpr const char* kUse[] = {"dateline", "balanced", "crossing"};
  static constexpr const char* kArbitration[] = {"injection_first", "round_robin", "through_first",
                                                 "oldest_first"};
  static constexpr const char* kRead[] = {"multiple", "channel", "port"};
  static constexpr const char* kInjection[] = {"per_nic", "shared"};
  json out = {{"name", m.name},
              {"topology", kKinds[static_cast<int>(m.topology)]},
              {"nodes", report.topology->nodes()},
              {"routers", report.topology->routers()},
              {"routing", kRouting[static_cast<int>(m.routing)]},
              {"ties", kTies[static_cast<int>(m.ties)]},
              {"channel_use", kUse[static_cast<int>(m.channel_use)]},
              {"arbitration", kArbitration[static_cast<int>(m.arbitration)]},
              {"buffer_read", kRead[static_cast<int>(m.buffer_read)]},
              {"injection", kInjection[static_cast<int>(m.injection)]},
              {"link_bandwidth", m.link_bandwidth},
              {"cable_delay_s", seconds(m.cable_delay)},
              {"routing_computation_s", seconds(m.routing_computation)},
              {"channel_allocation_s", seconds(m.channel_allocation)},
              {"switch_allocation_s", seconds(m.switch_allocation)},
              {"switch_traversal_s", seconds(m.switch_traversal)},
              {"switch_delay_s", seconds(m.switch_delay)},
              {"channels", m.channels},
              {"buffer_bytes", m.buffer_bytes},
              {"flit_bytes", m.flit_bytes},
              {"packet_bytes", m.packet_bytes},
              {"header_bytes", m.header_bytes},
              {"nics", m.nics},
              {"dma_bandwidth", m.dma_bandwidth},
              {"memory_bandwidth", m.memory_bandwidth},
              {"call_overhead_s", seconds(m.call_overhead)},
              {"eager_bytes", m.eager_bytes},
              {"compute_scale", m.compute_scale}};
  if (m.topology == netsim::TopologyKind::torus) {
    out["extents"] = m.extents;
    out["wraps"] = m.wraps;
  } else if (m.topology == netsim::TopologyKind::fat_tree) {
    out["arity"] = m.arity;
    out["levels"] = m.levels;
  } else {
    out["group_routers"] = m.group_routers;
    out["global_links"] = m.global_links;
    out["router_nodes"] = m.router_nodes;
  }
  return out;
}

json classes(const SimulationReport& report) {
  json out = json::array();
  const auto totals = class_totals(*report.topology, *report.results);
  for (size_t c = 0; c < totals.size(); c++)
    out.push_back({{"name", report.topology->classes()[c]},
                   {"links", report.results->class_links[c]},
                   {"packets", totals[c].packets},
                   {"bytes", totals[c].bytes},
                   {"busy_ratio", totals[c].busy},
                   {"least_busy_ratio", totals[c].least},
                   {"most_busy_ratio", totals[c].most}});
  return out;
}

json links(const SimulationReport& report) {
  json out = json::array();
  const Results& r = *report.results;
  for (const LinkName& l : links_by_class(*report.topology)) {
    const netsim::LinkTotals& t = r.links[l.index];
    const double busy = r.end == 0 ? 0 : static_cast<double>(t.busy) / static_cast<double>(r.end);
    out.push_back({{"class", report.topology->classes()[l.link_class]},
                   {"from", l.from},
                   {"to", l.to},
                   {"packets", t.packets},
                   {"bytes", t.bytes},
                   {"busy_ratio", round_to(busy, 9)}});
  }
  return out;
}

json over_time(const std::vector<Series>& all, double scale) {
  json out = json::object();
  for (const Series& s : all) {
    json values = json::array();
    for (const double v : s.values) values.push_back(round_to(v * scale, 6));
    out[s.name] = std::move(values);
  }
  return out;
}

json latency(const SimulationReport& report) {
  json out = json::array();
  const Results& r = *report.results;
  for (size_t h = 0; h < r.latency.size(); h++) {
    const netsim::Histogram& l = r.latency[h];
    if (l.count() == 0) continue;
    json buckets = json::array();  // pairs: up to this time, packets
    for (uint32_t b = 0; b < l.buckets().size(); b++)
      if (l.buckets()[b] != 0) buckets.push_back({seconds(netsim::Histogram::upper_end(b)), l.buckets()[b]});
    out.push_back({{"hops", h},
                   {"packets", l.count()},
                   {"mean_s", l.mean() * 1e-12},
                   {"min_s", seconds(l.least())},
                   {"p50_s", seconds(l.quantile(.5))},
                   {"p99_s", seconds(l.quantile(.99))},
                   {"max_s", seconds(l.most())},
                   {"buckets", std::move(buckets)}});
  }
  return out;
}

json sequences(const SimulationReport& report) {
  json out = json::array();
  for (size_t i = 0; i < report.sequences->size(); i++) {
    const experiment::SequenceTimes& s = (*report.sequences)[i];
    out.push_back({{"name", sequence_name(report, i)},
                   {"first_begin_s", seconds(s.first_begin)},
                   {"last_begin_s", seconds(s.last_begin)},
                   {"first_end_s", seconds(s.first_end)},
                   {"last_end_s", seconds(s.last_end)},
                   {"imbalance_s", seconds(s.imbalance())}});
  }
  return out;
}

json ranks(const ProgramLog& log) {
  json out = json::array();
  for (size_t i = 0; i < log.ranks.size(); i++) {
    const RankLog& r = log.ranks[i];
    out.push_back({{"node", i < log.node_of.size() ? log.node_of[i] : i},
                   {"calls", r.call_count},
                   {"messages", r.message_count},
                   {"bytes", r.message_bytes},
                   {"in_mpi_s", seconds(r.in_mpi)},
                   {"computing_s", seconds(r.computing)},
                   {"finished_s", seconds(r.finished)}});
  }
  return out;
}

}  // namespace

std::string to_json(const SimulationReport& report) {
  const Results& r = *report.results;
  json settings = json::object();
  for (const auto& [name, value] : report.settings) settings[name] = value;
  json out = {{"title", report.title},
              {"command", report.command},
              {"settings", std::move(settings)},
              {"model", r.model},
              {"machine", machine(report)},
              {"time_s", seconds(report.time)},
              {"time_ps", report.time},
              {"end_s", seconds(r.end)},
              {"ideal_s", seconds(r.ideal)},
              {"messages", r.messages},
              {"packets", r.packets},
              {"packet_hops", r.packet_hops},
              {"payload_bytes", r.payload_bytes},
              {"events", r.events},
              {"wall_s", r.wall_s},
              {"threads", r.threads},
              {"hash", hash_text(r.hash)},
              {"classes", classes(report)},
              {"links", links(report)},
              {"bins", {{"count", bins_of(r)}, {"width_s", seconds(r.bin_width)}}},
              {"link_throughput", over_time(link_use(r), report.machine->link_bandwidth)},
              {"buffer_bytes", over_time(buffer_use(r), 1)},
              {"latency", latency(report)}};
  if (report.sequences != nullptr) out["sequences"] = sequences(report);
  if (report.log != nullptr) {
    out["ranks"] = ranks(*report.log);
    out["log_truncated"] = report.log->truncated;
  }
  // A name with broken UTF-8 must not cost the report.
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tasuki::simmpi
