#include "bench/plot/memory_page.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

#include "base/bytes.h"
#include "bench/driver/benchmarks/memory.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/figures/text.h"
#include "bench/plot/about.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;
using report::Chart;
using report::Comparison;
using report::Curve;
using Rows = std::vector<const json*>;

std::string number(double v, const char* format = nullptr) {
  char text[32];
  snprintf(text, sizeof text, format != nullptr ? format : v < 1000 ? "%.3g" : "%.0f", v);
  return text;
}
std::string percent(const json& r) {
  return number(r["ratio"].get<double>(), "%g") + " %";
}
bool measured(const json& r) {
  return r.contains("seconds") && r["seconds"].is_number();
}
std::string page_of(const json& r) {
  return r["page"].is_number() ? bytes_text(r["page"].get<uint64_t>(), BytesStyle::compact)
                               : r["page"].get<std::string>();
}

std::string kernel_of(const json& r) {
  const std::string part = r["part"], label = r.value("label", "");
  return r["kernel"].get<std::string>() + (part.empty() ? "" : "." + part) + " " +
         r["size"].get<std::string>() + (label.empty() ? "" : ", " + label) +
         (r["threads"] == 1 ? "" : ", " + std::to_string(r["threads"].get<int>()) + " threads");
}

// What may differ between two measurements of cluster memory with the same kernel and local memory.
struct Dimension {
  const char *title, *note;
  std::function<std::string(const json&)> value;
  const char* usual;  // a value that titles need not say; nullptr: none
};

const std::vector<Dimension>& dimensions() {
  static const std::vector<Dimension> all = {
      {"page size", "The DLM-MPI paper's figure 11, and its section 4.5.6: small pages where accesses jump.",
       page_of, nullptr},
      {"protocol", "The DLM-MPI paper's figure 13.",
       [](const json& r) { return r["protocol"].get<std::string>(); }, "ahead"},
      {"number of servers",
       "The DLM-MPI paper's figure 12: with as much local memory the number of servers does not matter.",
       [](const json& r) { return servers_text(r["servers"].get<int>()); }, "1 server"},
      {"network and MPI library", "The DLM-MPI paper's figures 11 and 14 compare networks.",
       [](const json& r) { return r["where"].get<std::string>() + ", " + r["mpi"].get<std::string>(); },
       nullptr},
      {"settings", "",
       [](const json& r) {
         return r["settings"] == "" ? std::string("as they are") : r["settings"].get<std::string>();
       },
       "as they are"}};
  return all;
}

Rows clusters(const json& m) {
  Rows rows;
  for (const json& r : m["rows"])
    if (r["kind"] == "cluster" && measured(r)) rows.push_back(&r);
  return rows;
}

// Lines over the local memory ratio, which falls to the right as in the paper; bars if there is one ratio
// only.
Chart by_ratio(const std::string& title, const std::string& note, const Rows& rows,
               const std::function<std::string(const json&)>& series) {
  std::set<double, std::greater<>> ratios;
  std::vector<std::string> names;
  for (const json* r : rows) {
    ratios.insert((*r)["ratio"].get<double>());
    if (std::find(names.begin(), names.end(), series(*r)) == names.end()) names.push_back(series(*r));
  }
  Chart chart;
  chart.title = title;
  chart.note = note;
  chart.y_label = "time relative to plain malloc";
  chart.ratio = true;
  if (ratios.size() == 1) {
    chart.bars = true;
    chart.x_label = "with " + number(*ratios.begin(), "%g") + " % of the data in local memory";
    chart.groups = names;
    chart.series = {{"", {}}};
    for (const json* r : rows)
      chart.series[0].points.emplace_back(
          static_cast<double>(std::find(names.begin(), names.end(), series(*r)) - names.begin()),
          (*r)["relative"].get<double>());
    return chart;
  }
  chart.x_label = "local memory, % of the data";
  for (const double ratio : ratios) chart.groups.push_back(number(ratio, "%g"));
  for (const std::string& name : names) {
    Curve curve{name, {}};
    for (const json* r : rows)
      if (series(*r) == name)
        curve.points.emplace_back(
            static_cast<double>(std::distance(ratios.begin(), ratios.find((*r)["ratio"]))),
            (*r)["relative"].get<double>());
    std::sort(curve.points.begin(), curve.points.end());
    chart.series.push_back(curve);
  }
  return chart;
}

bool usual(const json& m, const json& r) {
  return r["page"] == "auto" && r["protocol"] == "ahead" && r["servers"] == 1 && r["where"] == "node" &&
         r["mpi"] == m["mpi"] && r["settings"] == "";
}

void add_ratios(const json& m, std::vector<Chart>* charts) {
  Rows rows;
  for (const json* r : clusters(m))
    if (usual(m, *r) && (*r)["threads"] == 1 && r->value("label", "").empty()) rows.push_back(r);
  if (!rows.empty())
    charts->push_back(by_ratio(
        "Relative time by local memory",
        "The DLM-MPI paper's figures 11 and 20 to 27, automatic page size, one server.", rows, kernel_of));
}

void add_dimensions(const json& m, std::vector<Chart>* charts) {
  const std::vector<Dimension>& all = dimensions();
  for (size_t d = 0; d < all.size(); d++) {
    // Families that are alike in everything else; of them, the local memory sizes at which something can be
    // compared.
    std::map<std::string, Rows> families;
    std::vector<std::string> order;
    for (const json* r : clusters(m)) {
      std::string key = kernel_of(*r);
      for (size_t other = 0; other < all.size(); other++) {
        const std::string value = all[other].value(*r);
        if (other == d || (all[other].usual != nullptr && value == all[other].usual)) continue;
        key += std::string(", ") + (std::string(all[other].title) == "page size" ? "page " : "") + value;
      }
      if (!families.contains(key)) order.push_back(key);
      families[key].push_back(r);
    }
    for (const std::string& key : order) {
      std::map<json, std::set<std::string>> values;  // by ratio
      for (const json* r : families[key]) values[(*r)["ratio"]].insert(all[d].value(*r));
      Rows rows;
      for (const json* r : families[key])
        if (values[(*r)["ratio"]].size() > 1) rows.push_back(r);
      if (!rows.empty())
        charts->push_back(
            by_ratio("By " + std::string(all[d].title) + ": " + key, all[d].note, rows, all[d].value));
    }
  }
}

// Stream's four kernels, as the paper's figure 10.
void add_bandwidth(const json& m, std::vector<Chart>* charts) {
  Chart chart;
  chart.title = "STREAM: bandwidth";
  chart.y_label = "GB/s";
  chart.note =
      "The DLM-MPI paper's figure 10 and table 3: 2.7 GB/s plain, 0.61 with 4.2 % of the data in local "
      "memory.";
  chart.bars = true;
  std::map<std::string, size_t> series;
  for (const json& r : m["rows"]) {
    if (r["kernel"] != "stream" || r["threads"] != 1 || !measured(r)) continue;
    if (r["kind"] == "cluster" && !usual(m, r)) continue;
    const std::string group =
        r["part"].get<std::string>() + (r.value("label", "").empty() ? "" : " (beside peers)");
    const std::string name = r["kind"].get<std::string>() + (r["kind"] == "plain" ? "" : " " + percent(r));
    auto at = std::find(chart.groups.begin(), chart.groups.end(), group);
    if (at == chart.groups.end()) at = chart.groups.insert(at, group);
    if (!series.contains(name)) {
      series[name] = chart.series.size();
      chart.series.push_back({name, {}});
    }
    chart.series[series[name]].points.emplace_back(static_cast<double>(at - chart.groups.begin()),
                                                   r["gbps"].get<double>());
  }
  if (!chart.series.empty()) charts->push_back(chart);
}

void add_peers(const json& m, std::vector<Chart>* charts) {
  std::map<std::string, Rows> kernels;
  std::set<std::string> with_peers;
  for (const json& r : m["rows"]) {
    if (r["kind"] == "plain" || !measured(r) || (r["kind"] == "cluster" && !usual(m, r))) continue;
    kernels[kernel_of(r)].push_back(&r);
    if (r["kind"] != "cluster") with_peers.insert(kernel_of(r));
  }
  for (const std::string& kernel : with_peers) {
    Rows rows;
    std::set<json> ratios;  // that peers were measured at
    for (const json* r : kernels[kernel])
      if ((*r)["kind"] != "cluster") ratios.insert((*r)["ratio"]);
    for (const json* r : kernels[kernel])
      if (ratios.contains((*r)["ratio"])) rows.push_back(r);
    charts->push_back(by_ratio("Beside what else there is: " + kernel, "", rows,
                               [](const json& r) { return r["kind"].get<std::string>(); }));
  }
}

void add_stack(const std::string& title, const std::string& note, const Rows& rows,
               const std::vector<std::pair<const char*, const char*>>& components, std::vector<Chart>* charts,
               const std::function<std::string(const json&)>& name) {
  Chart chart;
  chart.title = title;
  chart.note = note;
  chart.y_label = "seconds of a repetition";
  chart.bars = chart.stacked = true;
  for (const json* r : rows) chart.groups.push_back(name(*r));
  for (const auto& [key, text] : components) {
    Curve curve{text, {}};
    for (size_t i = 0; i < rows.size(); i++)
      curve.points.emplace_back(static_cast<double>(i), (*rows[i])["components"][key].get<double>());
    chart.series.push_back(curve);
  }
  charts->push_back(chart);
}

// What the time consists of: the paper's figures 14 to 18.
void add_components(const json& m, std::vector<Chart>* charts) {
  std::vector<std::string> order;
  std::map<std::string, Rows> kernels;
  for (const json* r : clusters(m)) {
    if (!r->contains("components") || (*r)["counters"].value("swaps_in", 0.0) <= 0) continue;
    const std::string kernel = kernel_of(*r);
    if (!kernels.contains(kernel)) order.push_back(kernel);
    kernels[kernel].push_back(r);
  }
  for (const std::string& kernel : order) {
    constexpr size_t kMost = 12;  // that can still be read
    Rows rows = kernels[kernel];
    if (rows.size() > kMost) {  // those of the protocols, else the usual ones
      Rows some;
      for (const json* r : rows)
        if ((*r)["ratio"].get<double>() <= 10 && (*r)["servers"] == 1 && (*r)["where"] == "node")
          some.push_back(r);
      rows = some;
      if (rows.size() > kMost) rows.resize(kMost);
    }
    if (rows.empty()) continue;
    const auto name = [](const json& r) {
      return percent(r) + " " + r["protocol"].get<std::string>() +
             (r["page"] == "auto" ? "" : " " + page_of(r));
    };
    add_stack("Where the program's time goes: " + kernel,
              "The DLM-MPI paper's figures 14 and 16 to 18, computing thread: wait previous is its "
              "sigwait(previous), wait "
              "page its sigwait(swap-in).",
              rows,
              {{"compute", "computing"}, {"wait_previous", "wait previous"}, {"wait_page", "wait page"}},
              charts, name);
    add_stack("What the pager does in that time: " + kernel,
              "The DLM-MPI paper's figures 15 to 18, communication thread.", rows,
              {{"in", "pages in"}, {"out", "pages out"}, {"map", "mapping"}}, charts, name);
  }
}

void add_transport(const json& m, std::vector<Chart>* charts) {
  for (const json& t : m["transport"]) {
    Chart chart;
    chart.title =
        "Moving pages without a pager: " + t["mpi"].get<std::string>() + ", " + t["where"].get<std::string>();
    chart.x_label = "page size";
    chart.y_label = "GB/s";
    chart.note =
        "fetch: request and page (the DLM-MPI paper's figure 19); fetch 4: four on their way; swap: a page "
        "leaves "
        "while the other comes; window: copied from memory that both processes share.";
    for (const json& s : t["sizes"])
      chart.groups.push_back(bytes_text(s["page"].get<uint64_t>(), BytesStyle::compact));
    static constexpr const char* kRates[][2] = {
        {"fetch", "fetch"}, {"fetch4", "fetch 4"}, {"swap", "swap"}, {"window", "window"}, {"copy", "copy"}};
    for (const auto& way : kRates) {
      Curve curve{way[1], {}};
      for (size_t i = 0; i < t["sizes"].size(); i++)
        if (const json& v = t["sizes"][i][way[0]]; v.is_number())
          curve.points.emplace_back(static_cast<double>(i), v.get<double>() / 1e9);
      if (!curve.points.empty()) chart.series.push_back(curve);
    }
    charts->push_back(chart);
  }
}

// The paper's numbers beside the nearest measurement of ours.
std::vector<Comparison> numbers(const json& m) {
  static constexpr struct {
    const char *what, *kernel, *part;
    double ratio;
    const char *value, *paper, *remark;
  } kPaper[] = {{"STREAM triad, 4.2 % local", "stream", "triad", 5, "gbps", "0.59 GB/s",
                 "Myri-10G, four links, 1 MiB pages"},
                {"Himeno, 6.9 % local", "himeno", "", 7, "relative", "2.3 times plain",
                 "Myri-10G, four links, size XL"},
                {"IS, 2 % local", "is", "", 2, "relative", "4.34 times plain", "class D"},
                {"MG, 6 % local", "mg", "", 5, "relative", "3.55 times plain", "class C"},
                {"CG, below 40 % local", "cg", "", 10, "relative", "3 to 4 times plain", "class C"},
                {"FT, 15 % local", "ft", "", 10, "relative", "54.1 times plain", "class C, 1 MiB pages"},
                {"BT, 25 % local", "bt", "", 25, "relative", "684.5 times plain",
                 "class B, 1 MiB pages; with 16 KiB 5.5 times"},
                {"SP, 16 % local", "sp", "", 10, "relative", "427 times plain", "class C, 1 MiB pages"}};
  std::vector<Comparison> found;
  for (const auto& p : kPaper) {
    for (const json* r : clusters(m)) {
      if ((*r)["kernel"] != p.kernel || (*r)["part"] != p.part || !usual(m, *r) || (*r)["threads"] != 1)
        continue;
      if ((*r)["ratio"].get<double>() > p.ratio * 1.5 || (*r)["ratio"].get<double>() < p.ratio / 1.5)
        continue;
      const bool rate = std::string(p.value) == "gbps";
      found.push_back({p.what, p.paper,
                       number((*r)[p.value].get<double>()) + (rate ? " GB/s" : " times plain") + " (" +
                           percent(*r) + ", " + (*r)["size"].get<std::string>() + ")",
                       p.remark});
      break;
    }
  }
  return found;
}

}  // namespace

std::vector<Chart> memory_charts(const json& m) {
  std::vector<Chart> charts;
  add_ratios(m, &charts);
  add_peers(m, &charts);
  add_bandwidth(m, &charts);
  add_dimensions(m, &charts);
  add_components(m, &charts);
  add_transport(m, &charts);
  return charts;
}

namespace {

// Times with cluster memory beside those of plain malloc: of the medians, and of the best repetitions.
void add_means(const json& m, std::vector<report::Tile>* tiles) {
  std::vector<double> medians, best;
  for (const json* r : clusters(m)) {
    if (!usual(m, *r) || !r->contains("relative") || (*r)["ratio"].get<double>() >= 100) continue;
    medians.push_back((*r)["relative"]);
    for (const json& plain : m["rows"])
      if (plain["kind"] == "plain" && kernel_of(plain) == kernel_of(*r) && plain.contains("best_seconds"))
        best.push_back(r->value("best_seconds", 0.0) / plain["best_seconds"].get<double>());
  }
  if (!medians.empty())
    tiles->push_back({ratio_text(geometric_mean(medians)) + " ×",
                      "the time of plain malloc, geometric mean of " + std::to_string(medians.size()) +
                          " measurements with less local memory than data"});
  if (!best.empty())
    tiles->push_back({ratio_text(geometric_mean(best)) + " ×",
                      "the same of the best rounds, which other programs disturb least"});
}

}  // namespace

std::string memory_page(const std::vector<json>& measurements) {
  report::ChartPage page{.about = about(measurements), .tiles = {}, .numbers = {}, .charts = {}};
  page.about.title = "Programs with more data than local memory";
  std::string& lead = page.about.lead;
  for (const json& m : measurements) {
    std::vector<Chart> some = memory_charts(m);
    // With several measurements every figure says whose it is.
    const std::string whose = measurements.size() == 1 ? ""
                                                       : " — " + m["versions"]["mpi"].get<std::string>() +
                                                             ", " + m["date"].get<std::string>();
    for (Chart& c : some) c.title += whose;
    page.charts.insert(page.charts.end(), some.begin(), some.end());
    add_means(m, &page.tiles);
    if (page.numbers.empty()) page.numbers = numbers(m);
    lead += (lead.empty() ? "" : " ") + measured_where(m) + ". " +
            (m["verified"].get<bool>() ? "All results were verified."
                                       : "NOT all results are right: see the tables.");
  }
  lead +=
      " The DLM-MPI paper is Midorikawa, Saito, Sato, Boku: \"A Fast and Portable Virtual Memory System "
      "Utilizing Memory Resource of a Cluster\".";
  return report::chart_page(page);
}

}  // namespace tasuki::bench
