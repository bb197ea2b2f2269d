#include "bench/plot/space_page.h"

#include <algorithm>

#include "bench/driver/benchmarks/space.h"
#include "bench/plot/about.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;
using report::Chart;
using report::Curve;

// The place of a name in a list, at the end of which it is put if it is not there.
size_t place_of(const std::string& name, std::vector<std::string>* list) {
  const auto at = std::find(list->begin(), list->end(), name);
  if (at != list->end()) return static_cast<size_t>(at - list->begin());
  list->push_back(name);
  return list->size() - 1;
}

// Bars of the operations, one for each number of ranks.
Chart chart_of_library(const json& m, const std::string& mpi) {
  Chart chart;
  chart.title = "Time under `tasuki run` / time of plain MPI, " + mpi;
  chart.x_label = "operation";
  chart.y_label = "Tasuki / plain MPI";
  chart.note = "1 is plain MPI; a longer bar takes more time in an address space that the ranks share.";
  chart.bars = chart.ratio = true;
  std::vector<std::string> curves;
  for (const json& r : m["rows"]) {
    if (r["mpi"] != mpi || !r.contains("ratio")) continue;
    const int ranks = r["ranks"];
    const size_t group = place_of(space_operation_text(r), &chart.groups);
    const size_t curve = place_of(std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"), &curves);
    if (curve == chart.series.size()) chart.series.push_back({curves[curve], {}});
    chart.series[curve].points.emplace_back(static_cast<double>(group), 1 / r["ratio"].get<double>());
  }
  return chart;
}

}  // namespace

std::vector<Chart> space_charts(const json& m) {
  std::vector<std::string> libraries;
  for (const json& r : m["rows"]) place_of(r["mpi"], &libraries);
  std::vector<Chart> charts;
  for (const std::string& mpi : libraries)
    if (Chart chart = chart_of_library(m, mpi); !chart.series.empty()) charts.push_back(std::move(chart));
  return charts;
}

std::string space_page(const std::vector<json>& measurements) {
  report::ChartPage page{.about = about(measurements), .tiles = {}, .numbers = {}, .charts = {}};
  page.about.title = "What a shared address space costs: plain MPI and Tasuki";
  page.about.lead =
      "Page faults, mappings, threads, started programs, and the start and end of the job: all ranks do the "
      "same at the same time. The programs ran in turns; each operation was checked.";
  for (const json& m : measurements) {
    for (Chart& chart : space_charts(m)) page.charts.push_back(std::move(chart));
    for (report::Tile& tile : mean_tiles(m, "as fast as plain MPI, geometric mean of all rows"))
      page.tiles.push_back(std::move(tile));
  }
  return report::chart_page(page);
}

}  // namespace tasuki::bench
