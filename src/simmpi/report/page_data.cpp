// What the page's script reads. Kept within some 5 MB, whatever the machine: rows of links are averaged,
// moments of the picture and records of the timeline are fewer; the page says so.
#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "simmpi/report/data.h"
#include "simmpi/report/page.h"

namespace tasuki::simmpi {
namespace {

using netsim::Results;
using nlohmann::json;

constexpr size_t kMostHeatRows = 1024;
constexpr size_t kMostPictureBytes = 1u << 20;  // moments * links
constexpr size_t kMostRouters = 1u << 15;
constexpr size_t kMostCalls = 50000, kMostMessages = 20000;

std::string base64(const void* data, size_t size) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* in = static_cast<const uint8_t*>(data);
  std::string out;
  out.reserve((size + 2) / 3 * 4);
  for (size_t i = 0; i < size; i += 3) {
    const uint32_t left = static_cast<uint32_t>(std::min<size_t>(3, size - i));
    uint32_t v = 0;
    for (uint32_t k = 0; k < 3; k++) v = v << 8 | (k < left ? in[i + k] : 0u);
    for (uint32_t k = 0; k < 4; k++) out += k <= left ? kDigits[v >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}
template <typename T>
std::string base64(const std::vector<T>& values) {
  return base64(values.data(), values.size() * sizeof(T));  // little-endian, as the page expects
}

json numbers(const std::vector<double>& values) {
  json out = json::array();
  for (const double v : values) out.push_back(round_to(v, 4));
  return out;
}

json over_time(const SimulationReport& report) {
  const Results& r = *report.results;
  json use = json::array(), buffers = json::array();
  for (const Series& s : link_use(r)) use.push_back({{"name", s.name}, {"values", numbers(s.values)}});
  const auto all = buffer_use(r);
  for (size_t i = 0; i < all.size(); i++)
    buffers.push_back(
        {{"link_class", i / r.channels}, {"channel", i % r.channels}, {"values", numbers(all[i].values)}});
  return {{"use", std::move(use)}, {"buffers", std::move(buffers)}};
}

json classes(const SimulationReport& report) {
  json out = json::array();
  const auto totals = class_totals(*report.topology, *report.results);
  for (size_t c = 0; c < totals.size(); c++)
    out.push_back({{"name", report.topology->classes()[c]},
                   {"links", report.results->class_links[c]},
                   {"busy", round_to(totals[c].busy, 4)},
                   {"least", round_to(totals[c].least, 4)},
                   {"most", round_to(totals[c].most, 4)}});
  return out;
}

bool has_link_bins(const Results& r) {
  return bins_of(r) != 0 && !r.link_busy.empty();
}

// Rows: links class by class; of a large machine each the average of neighbours.
json heat(const SimulationReport& report) {
  const Results& r = *report.results;
  if (!has_link_bins(r)) return nullptr;
  const auto links = links_by_class(*report.topology);
  const size_t together = (links.size() + kMostHeatRows - 1) / kMostHeatRows;
  const uint32_t bins = bins_of(r);
  std::vector<uint8_t> data;
  std::vector<uint32_t> first_row(report.topology->classes().size() + 1), row_first;
  size_t rows = 0;
  for (size_t i = 0; i < links.size(); rows++) {
    size_t end = i;
    while (end < links.size() && end - i < together && links[end].link_class == links[i].link_class) end++;
    for (uint32_t b = 0; b < bins; b++) {
      uint32_t sum = 0;
      for (size_t k = i; k < end; k++) sum += r.link_busy[links[k].index][b];
      data.push_back(static_cast<uint8_t>(sum / (end - i)));
    }
    row_first.push_back(static_cast<uint32_t>(i));
    for (size_t c = links[i].link_class + size_t{1}; c < first_row.size(); c++)
      first_row[c] = static_cast<uint32_t>(rows + 1);
    i = end;
  }
  return {{"rows", rows},
          {"bins", bins},
          {"together", together},
          {"class_first_row", first_row},
          {"row_first_link", base64(row_first)},
          {"data", base64(data)}};
}

// Where each router is drawn: in units of a cell.
struct Place {
  uint32_t x = 0, y = 0;
};
std::vector<Place> places(const SimulationReport& report, std::string* kind) {
  const netsim::Machine& m = *report.machine;
  std::vector<Place> out(report.topology->routers());
  constexpr uint32_t kMostColumns = 128;
  for (uint32_t router = 0; router < out.size(); router++) {
    Place& p = out[router];
    switch (m.topology) {
      case netsim::TopologyKind::torus: {
        // Planes of the first two dimensions, side by side for the third, below each other for the fourth,
        // and so on.
        *kind = m.extents.size() <= 2 ? "torus" : "planes";
        const auto c = netsim::coordinates_of(m, router * m.router_nodes);
        uint32_t step[2] = {1, 1};
        for (size_t d = 0; d < c.size(); d++) {
          (d % 2 == 0 ? p.x : p.y) += c[d] * step[d % 2];
          step[d % 2] = step[d % 2] * m.extents[d] + 1;
        }
        break;
      }
      case netsim::TopologyKind::fat_tree: {
        *kind = "fat_tree";
        const uint32_t width = report.topology->routers() / m.levels, columns = std::min(width, kMostColumns);
        const uint32_t rows = (width + columns - 1) / columns, level = router / width;
        p.x = router % width % columns;
        p.y = (m.levels - 1 - level) * (rows + 1) + router % width / columns;
        break;
      }
      case netsim::TopologyKind::dragonfly:
        *kind = "dragonfly";  // a row for each group; of many groups several side by side
        const uint32_t groups = report.topology->routers() / m.group_routers;
        const uint32_t side =
            std::max(1u, groups * m.group_routers > 2048 ? groups * m.group_routers / 2048 : 1);
        const uint32_t group = router / m.group_routers;
        p.x = router % m.group_routers + group % side * (m.group_routers + 1);
        p.y = group / side;
        break;
    }
  }
  return out;
}

json picture(const SimulationReport& report) {
  const Results& r = *report.results;
  if (report.topology->routers() > kMostRouters || r.links.empty()) return nullptr;
  const auto links = links_by_class(*report.topology);
  if (links.empty()) return nullptr;
  std::string kind;
  std::vector<uint16_t> x, y;
  for (const Place& p : places(report, &kind)) {
    x.push_back(static_cast<uint16_t>(p.x));
    y.push_back(static_cast<uint16_t>(p.y));
  }
  std::vector<uint32_t> from, to;
  std::vector<uint8_t> link_class, average;
  for (const LinkName& l : links) {
    from.push_back(l.from);
    to.push_back(l.to);
    link_class.push_back(static_cast<uint8_t>(l.link_class));
    const double busy =
        r.end == 0 ? 0 : static_cast<double>(r.links[l.index].busy) / static_cast<double>(r.end);
    average.push_back(static_cast<uint8_t>(std::min(1.0, busy) * 255 + .5));
  }
  std::vector<uint8_t> data;
  uint32_t together = 1, moments = 0;
  if (has_link_bins(r)) {
    const uint32_t bins = bins_of(r);
    while (links.size() * ((bins + together - 1) / together) > kMostPictureBytes && together < bins)
      together++;
    for (uint32_t b = 0; b < bins; b += together, moments++)
      for (const LinkName& l : links) {
        const uint32_t end = std::min(bins, b + together);
        uint32_t sum = 0;
        for (uint32_t k = b; k < end; k++) sum += r.link_busy[l.index][k];
        data.push_back(static_cast<uint8_t>(sum / (end - b)));
      }
  }
  return {{"kind", kind},
          {"x", base64(x)},
          {"y", base64(y)},
          {"from", base64(from)},
          {"to", base64(to)},
          {"link_class", base64(link_class)},
          {"average", base64(average)},
          {"together", together},
          {"moments", moments},
          {"data", base64(data)}};
}

json latency(const SimulationReport& report) {
  json out = json::array();
  for (size_t h = 0; h < report.results->latency.size(); h++) {
    const netsim::Histogram& l = report.results->latency[h];
    if (l.count() == 0) continue;
    json buckets = json::array();
    for (uint32_t b = 0; b < l.buckets().size(); b++)
      if (l.buckets()[b] != 0)
        buckets.push_back({seconds(b == 0 ? 0 : netsim::Histogram::upper_end(b - 1) + 1),
                           seconds(netsim::Histogram::upper_end(b) + 1), l.buckets()[b]});
    const netsim::Time unloaded = unloaded_latency(*report.machine, static_cast<uint32_t>(h));
    out.push_back({{"hops", h},
                   {"packets", l.count()},
                   {"mean", l.mean() * 1e-12},
                   {"p50", seconds(l.quantile(.5))},
                   {"p99", seconds(l.quantile(.99))},
                   {"min", seconds(l.least())},
                   {"max", seconds(l.most())},
                   {"unloaded", seconds(unloaded)},
                   {"buckets", std::move(buckets)}});
  }
  return out;
}

json sequences(const SimulationReport& report) {
  json out = json::array();
  for (size_t i = 0; i < report.sequences->size(); i++) {
    const experiment::SequenceTimes& s = (*report.sequences)[i];
    if (s.last_end == 0) continue;
    out.push_back({{"name", sequence_name(report, i)},
                   {"begin", {seconds(s.first_begin), seconds(s.last_begin)}},
                   {"end", {seconds(s.first_end), seconds(s.last_end)}}});
  }
  return out;
}

// Keeps the `most` records with the largest weight, in their order.
template <typename Record, typename Weight>
void keep_largest(std::vector<Record>* records, size_t most, Weight weight) {
  if (records->size() <= most) return;
  std::vector<uint64_t> all;
  for (const Record& r : *records) all.push_back(weight(r));
  std::nth_element(all.begin(), all.end() - static_cast<ptrdiff_t>(most), all.end());
  const uint64_t limit = all[all.size() - most];
  size_t larger = 0, n = 0;
  for (const Record& r : *records) larger += weight(r) > limit ? 1 : 0;
  for (const Record& r : *records) {
    const uint64_t w = weight(r);
    if (w < limit || (w == limit && larger >= most)) continue;
    if (w == limit) larger++;
    (*records)[n++] = r;
  }
  records->resize(n);
}

json timeline(const SimulationReport& report) {
  const ProgramLog& log = *report.log;
  const uint64_t end = report.results->end;
  // Times as shares of the run in 32 bits.
  const auto share = [end](uint64_t t) {
    return static_cast<uint32_t>(
        end == 0 ? 0 : static_cast<double>(std::min(t, end)) / static_cast<double>(end) * UINT32_MAX);
  };
  struct Call {
    uint32_t rank;
    const CallRecord* record;
  };
  std::vector<Call> calls;
  std::vector<const MessageRecord*> messages;
  size_t all_calls = 0, all_messages = 0;
  for (size_t r = 0; r < log.ranks.size(); r++) {  // each rank gets its part
    std::vector<Call> mine;
    std::vector<const MessageRecord*> sent;
    for (const CallRecord& c : log.ranks[r].calls) mine.push_back({static_cast<uint32_t>(r), &c});
    for (const MessageRecord& m : log.ranks[r].messages) sent.push_back(&m);
    all_calls += mine.size();
    all_messages += sent.size();
    keep_largest(&mine, std::max<size_t>(1, kMostCalls / log.ranks.size()), [end](const Call& c) {
      return (c.record->end == 0 ? end : c.record->end) - c.record->begin;
    });
    keep_largest(&sent, std::max<size_t>(1, kMostMessages / log.ranks.size()), [](const MessageRecord* m) {
      return m->delivered == 0 ? UINT64_MAX : m->delivered - m->sent;
    });
    calls.insert(calls.end(), mine.begin(), mine.end());
    messages.insert(messages.end(), sent.begin(), sent.end());
  }

  std::map<std::string, uint16_t> numbers;
  json names = json::array();
  std::vector<uint32_t> rank, begin, finish;
  std::vector<uint16_t> name;
  std::vector<int32_t> peer;
  std::vector<float> bytes;
  for (const Call& c : calls) {
    const auto [it, is_new] = numbers.try_emplace(c.record->name, static_cast<uint16_t>(names.size()));
    if (is_new) names.push_back(c.record->name);
    rank.push_back(c.rank);
    name.push_back(it->second);
    begin.push_back(share(c.record->begin));
    finish.push_back(c.record->end == 0 ? UINT32_MAX : share(c.record->end));
    peer.push_back(c.record->peer);
    bytes.push_back(static_cast<float>(c.record->bytes));
  }
  std::vector<uint32_t> from, to, sent, delivered;
  std::vector<float> size;
  for (const MessageRecord* m : messages) {
    from.push_back(m->from);
    to.push_back(m->to);
    sent.push_back(share(m->sent));
    delivered.push_back(m->delivered == 0 ? UINT32_MAX : share(m->delivered));
    size.push_back(static_cast<float>(m->bytes));
  }
  std::vector<float> in_mpi, computing, finished;
  for (const RankLog& r : log.ranks) {
    in_mpi.push_back(static_cast<float>(seconds(r.in_mpi)));
    computing.push_back(static_cast<float>(seconds(r.computing)));
    finished.push_back(static_cast<float>(seconds(r.finished)));
  }
  return {{"ranks", log.ranks.size()},
          {"truncated", log.truncated},
          {"all_calls", all_calls},
          {"all_messages", all_messages},
          {"names", std::move(names)},
          {"call",
           {{"rank", base64(rank)},
            {"name", base64(name)},
            {"begin", base64(begin)},
            {"end", base64(finish)},
            {"peer", base64(peer)},
            {"bytes", base64(bytes)}}},
          {"message",
           {{"from", base64(from)},
            {"to", base64(to)},
            {"sent", base64(sent)},
            {"delivered", base64(delivered)},
            {"bytes", base64(size)}}},
          {"in_mpi", base64(in_mpi)},
          {"computing", base64(computing)},
          {"finished", base64(finished)}};
}

}  // namespace

std::string page_data(const SimulationReport& report) {
  const Results& r = *report.results;
  const netsim::Machine& m = *report.machine;
  json settings = json::array();
  for (const auto& [name, value] : report.settings) settings.push_back({name, value});
  json out = {{"title", report.title},
              {"command", report.command},
              {"settings", std::move(settings)},
              {"machine", m.name},
              {"extents", m.topology == netsim::TopologyKind::torus ? json(m.extents) : json(nullptr)},
              {"wraps", m.topology == netsim::TopologyKind::torus ? json(m.wraps) : json(nullptr)},
              {"nodes", report.topology->nodes()},
              {"routers", report.topology->routers()},
              {"bandwidth", m.link_bandwidth},
              {"buffer_bytes", m.buffer_bytes},
              {"channels", r.channels},
              {"model", r.model},
              {"time", seconds(report.time)},
              {"end", seconds(r.end)},
              {"ideal", seconds(r.ideal)},
              {"messages", r.messages},
              {"packets", r.packets},
              {"packet_hops", r.packet_hops},
              {"payload_bytes", r.payload_bytes},
              {"events", r.events},
              {"wall", r.wall_s},
              {"threads", r.threads},
              {"hash", hash_text(r.hash)},
              {"bin_width", seconds(r.bin_width)},
              {"bins", bins_of(r)},
              {"classes", classes(report)},
              {"series", over_time(report)},
              {"heat", heat(report)},
              {"picture", picture(report)},
              {"latency", latency(report)}};
  if (report.sequences != nullptr && !report.sequences->empty()) out["sequences"] = sequences(report);
  if (report.log != nullptr && !report.log->ranks.empty()) out["timeline"] = timeline(report);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tasuki::simmpi
