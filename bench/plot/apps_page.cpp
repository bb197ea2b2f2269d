#include "bench/plot/apps_page.h"

#include <algorithm>
#include <cstdio>

#include "bench/driver/benchmarks/apps.h"
#include "bench/plot/about.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;
using report::Chart;
using report::Comparison;
using report::Curve;

constexpr char kPvasPaper[] =
    "The PVAS paper is Shimada, Sutoh, Hori, Ishikawa, Kono: \"Accelerating MPI Intra-node Communication "
    "Using "
    "Derived Data Types on Many-core\" (in Japanese); it measured fft2d_datatype and NAS LU on a Xeon Phi.";

// What tells a row from others of its library.
std::string row_label(const json& r) {
  return r["program"].get<std::string>() + " " + r["size"].get<std::string>() + ", " +
         std::to_string(r["ranks"].get<int>()) + (r["where"] == "hosts" ? " on two hosts" : "");
}

// Rows with times, of one library.
std::vector<const json*> rows_of(const json& m, const std::string& mpi) {
  std::vector<const json*> found;
  for (const json& r : m["rows"])
    if (r["mpi"] == mpi && r.contains("ratio")) found.push_back(&r);
  return found;
}

std::vector<std::string> libraries_of(const json& m) {
  std::vector<std::string> found;
  for (const json& r : m["rows"])
    if (std::find(found.begin(), found.end(), r["mpi"]) == found.end()) found.push_back(r["mpi"]);
  return found;
}

Chart gains(const json& m) {
  Chart chart;
  chart.bars = chart.ratio = true;
  chart.title = "Speed under tasuki run, of that by plain MPI";
  chart.x_label = "program and size, ranks";
  chart.y_label = "plain / Tasuki";
  chart.note = "The lower graphs of the PVAS paper's figures 13, 14 and 16.";
  for (const std::string& mpi : libraries_of(m)) {
    Curve curve{mpi, {}};
    for (const json* r : rows_of(m, mpi)) {
      const std::string label = row_label(*r);
      auto group = std::find(chart.groups.begin(), chart.groups.end(), label);
      if (group == chart.groups.end()) group = chart.groups.insert(group, label);
      curve.points.emplace_back(static_cast<double>(group - chart.groups.begin()), (*r)["ratio"]);
    }
    if (!curve.points.empty()) chart.series.push_back(std::move(curve));
  }
  return chart;
}

Chart app_times(const std::vector<const json*>& rows, const std::string& program, const std::string& mpi) {
  Chart chart;
  chart.bars = chart.stacked = true;
  chart.title = program + ": time of " + (program == "fft2d" ? "a transform, " : "an iteration, ") + mpi;
  chart.x_label = "size, ranks; run: under tasuki run";
  chart.y_label = "milliseconds";
  chart.note = program == "fft2d" ? "The upper graph of the PVAS paper's figure 13."
                                  : "Of the PVAS paper's figure 14, which shows the performance of NAS LU.";
  chart.series = {{"compute", {}}, {"communication", {}}};
  for (const json* r : rows) {
    if ((*r)["program"] != program) continue;
    for (const std::string way : {"plain", "tasuki"}) {
      const double x = static_cast<double>(chart.groups.size()), ms = (*r)[way + "_us"].get<double>() / 1e3,
                   communication = ms * (*r)[way + "_communication"].get<double>();
      chart.groups.push_back(row_label(*r).substr(program.size() + 1) + (way == "plain" ? "" : " run"));
      chart.series[0].points.emplace_back(x, ms - communication);
      chart.series[1].points.emplace_back(x, communication);
    }
  }
  return chart;
}

// Gains inside a node, lowest to highest.
std::vector<Comparison> gains_beside(const json& m) {
  std::vector<Comparison> found;
  for (const std::string& mpi : libraries_of(m))
    for (const std::string program : {"fft2d", "wavefront"}) {
      std::vector<double> all;
      std::string paper;
      for (const json* r : rows_of(m, mpi))
        if ((*r)["program"] == program && r->contains("paper")) {
          all.push_back(100 * ((*r)["ratio"].get<double>() - 1));
          paper = (*r)["paper"];
        }
      if (all.empty()) continue;
      const auto [low, high] = std::minmax_element(all.begin(), all.end());
      char text[64];
      if (all.size() == 1)
        snprintf(text, sizeof text, "%.1f %%", *low);
      else
        snprintf(text, sizeof text, "%.1f to %.1f %%", *low, *high);
      found.push_back({program + ", gain inside a node", paper, text, mpi});
    }
  return found;
}

}  // namespace

std::vector<Chart> apps_charts(const json& m) {
  std::vector<Chart> charts = {gains(m)};
  for (const std::string program : {"fft2d", "wavefront"})
    for (const std::string& mpi : libraries_of(m)) {
      Chart chart = app_times(rows_of(m, mpi), program, mpi);
      if (!chart.groups.empty()) charts.push_back(std::move(chart));
    }
  return charts;
}

std::string apps_page(const std::vector<json>& measurements) {
  return page_of_programs(measurements, {"Programs whose messages have datatypes: plain MPI and Tasuki",
                                         "the speed under tasuki run, of that by plain MPI, geometric mean",
                                         kPvasPaper, &apps_charts, &gains_beside});
}

}  // namespace tasuki::bench
