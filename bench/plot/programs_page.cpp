#include "bench/plot/programs_page.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "bench/driver/benchmarks/programs.h"
#include "bench/plot/about.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;
using report::Chart;
using report::Comparison;
using report::Curve;

std::string label_of(const json& r) {
  for (const ProgramVersion& v : program_versions())
    if (r["version"] == v.name) return v.label;
  return r["version"];
}

std::string name_of(const std::string& program) {
  return program == "cg" ? "NPB CG" : "Himeno benchmark";
}

// Rows with times of one program in one size.
using Rows = std::vector<const json*>;
std::vector<Rows> groups_of(const json& m) {
  std::vector<Rows> groups;
  for (const json& r : m["rows"]) {
    if (!r.contains("seconds")) continue;
    const auto same = [&r](const Rows& g) {
      return (*g[0])["program"] == r["program"] && (*g[0])["size"] == r["size"];
    };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(groups.end(), Rows{});
    group->push_back(&r);
  }
  return groups;
}

bool several_ranks(const Rows& rows) {
  std::vector<int> ranks;
  for (const json* r : rows)
    if ((*r)["version"] != "seq") ranks.push_back((*r)["ranks"]);
  return std::adjacent_find(ranks.begin(), ranks.end(), std::not_equal_to<>()) != ranks.end();
}

std::string of_size(const json& r) {
  return (r["program"] == "cg" ? ", class " : ", size ") + r["size"].get<std::string>();
}

Chart performance(const Rows& rows, const std::string& library) {
  const json& first = *rows[0];
  Chart chart;
  chart.bars = true;
  chart.title = name_of(first["program"]) + of_size(first) + ": performance, " + library;
  chart.x_label = several_ranks(rows) ? "version, ranks" : "version";
  chart.y_label = first["unit"];
  chart.note = first["program"] == "cg" ? "The XcalableACC paper's figures 17(a), 18(a)."
                                        : "The XcalableACC paper's figures 13(a), 14(a).";
  chart.note += " s/r: Send/Recv; get: one-sided get; G: global view; L: local view; nb: nonblocking.";
  for (const ProgramWay& way : program_ways()) chart.series.push_back({way.title, {}});
  std::string last;
  for (const json* r : rows) {
    const std::string label =
        label_of(*r) + (several_ranks(rows) ? " " + std::to_string((*r)["ranks"].get<int>()) : "");
    if (label != last) chart.groups.push_back(label);
    last = label;
    for (size_t w = 0; w < chart.series.size(); w++)
      if ((*r)["way"] == program_ways()[w].name)
        chart.series[w].points.emplace_back(static_cast<double>(chart.groups.size() - 1),
                                            (*r)["performance"]);
  }
  std::erase_if(chart.series, [](const Curve& c) { return c.points.empty(); });
  return chart;
}

Chart times(const Rows& rows, int ranks, const std::string& library) {
  const json& first = *rows[0];
  Chart chart;
  chart.bars = chart.stacked = true;
  chart.title = name_of(first["program"]) + of_size(first) + ": time of an iteration, " +
                std::to_string(ranks) + (ranks == 1 ? " rank, " : " ranks, ") + library;
  chart.x_label = "version; win: by windows, run: under tasuki run";
  chart.y_label = "milliseconds";
  chart.note = first["program"] == "cg" ? "The XcalableACC paper's figures 17(b), 18(b)."
                                        : "The XcalableACC paper's figures 13(b), 14(b).";
  chart.series = {{"compute", {}}, {"communication", {}}, {"reduction", {}}};
  for (const json* r : rows) {
    if ((*r)["ranks"] != ranks && (*r)["version"] != "seq") continue;
    const std::string way = (*r)["way"];
    chart.groups.push_back(label_of(*r) + (way == "plain" ? "" : way == "windows" ? " win" : " run"));
    for (Curve& part : chart.series)
      part.points.emplace_back(static_cast<double>(chart.groups.size() - 1),
                               1e3 * (*r)[part.name].get<double>());
  }
  return chart;
}

Chart source_lines(const json& m) {
  Chart chart;
  chart.bars = chart.stacked = true;
  chart.title = "Source lines";
  chart.x_label = "version";
  chart.y_label = "lines";
  chart.note =
      "The XcalableACC paper's table 2, which counts whole programs. Lines that are not empty and not only "
      "comment: of "
      "the version's file, and of the "
      "headers that versions share, where they are compiled for it.";
  chart.series = {{"the version's file", {}}, {"shared headers", {}}};
  for (const json& l : m["lines"]) {
    chart.groups.push_back((l["program"] == "cg" ? "CG " : "H ") + label_of(l));
    const double x = static_cast<double>(chart.groups.size() - 1);
    chart.series[0].points.emplace_back(x, l["own"]);
    chart.series[1].points.emplace_back(x, l["shared"]);
  }
  return chart;
}

struct Claim {
  const char *program, *version, *paper;
};
constexpr Claim kClaims[] = {
    {"himeno", "global", "97 % (M), 98 % (L) and more"},   {"himeno", "local", "85 % (M), 92 % (L) to 102 %"},
    {"himeno", "nonblock", "89 % (M), 93 % (L) and more"}, {"cg", "global", "below the local view"},
    {"cg", "local", "97 % (C), 99 % (D) and more"},
};

// Performance against Send/Recv of plain MPI, for each way lowest to highest.
std::vector<Comparison> comparisons(const json& m) {
  std::vector<Comparison> found;
  for (const Claim& claim : kClaims) {
    std::string ours;
    for (const ProgramWay& way : program_ways()) {
      std::vector<double> all;
      for (const json& r : m["rows"])
        if (r["program"] == claim.program && r["version"] == claim.version && r["way"] == way.name &&
            r.contains("of_send"))
          all.push_back(100 * r["of_send"].get<double>());
      if (all.empty()) continue;
      const auto [low, high] = std::minmax_element(all.begin(), all.end());
      char text[96];
      if (all.size() == 1)
        snprintf(text, sizeof text, "%s %.1f %%", way.title, *low);
      else
        snprintf(text, sizeof text, "%s %.1f to %.1f %%", way.title, *low, *high);
      ours += (ours.empty() ? "" : "; ") + std::string(text);
    }
    if (ours.empty()) continue;
    std::string title;
    for (const ProgramVersion& v : program_versions())
      if (std::string(v.name) == claim.version) title = v.title;
    found.push_back({name_of(claim.program) + ", " + title + ", of Send/Recv's performance", claim.paper,
                     ours, m["versions"]["mpi"].get<std::string>()});
  }
  return found;
}

}  // namespace

std::vector<Chart> programs_charts(const json& m) {
  const std::string library = m["versions"]["mpi"];
  std::vector<Chart> charts;
  for (const Rows& rows : groups_of(m)) {
    charts.push_back(performance(rows, library));
    std::vector<int> drawn;
    for (const json* r : rows) {
      const int ranks = (*r)["ranks"];
      const bool only_sequential = (*r)["version"] == "seq" && rows.size() > 1;
      if (only_sequential || std::find(drawn.begin(), drawn.end(), ranks) != drawn.end()) continue;
      drawn.push_back(ranks);
      charts.push_back(times(rows, ranks, library));
    }
  }
  if (!m["lines"].empty()) charts.push_back(source_lines(m));
  return charts;
}

std::string programs_page(const std::vector<json>& measurements) {
  return page_of_programs(
      measurements,
      {"Himeno and CG with coarrays", "the speed under tasuki run, of that started plainly, geometric mean",
       kXaccPaper, &programs_charts, &comparisons});
}

}  // namespace tasuki::bench
