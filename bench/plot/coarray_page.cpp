#include "bench/plot/coarray_page.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/bytes.h"
#include "bench/driver/benchmarks/coarray.h"
#include "bench/plot/about.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;
using report::Chart;
using report::Curve;
using Rows = std::vector<const json*>;

struct Way {
  const char *column, *name;
};
constexpr Way kWays[] = {{"send_us", "Send and Recv"},
                         {"rma_us", "MPI RMA"},
                         {"host_us", "coarrays, memory of the host"},
                         {"window_us", "coarrays, windows"},
                         {"run_us", "coarrays, tasuki run"}};

Rows rows_of(const json& m, const std::string& operation) {
  Rows rows;
  for (const json& r : m["rows"])
    if (r["operation"] == operation) rows.push_back(&r);
  return rows;
}

std::optional<double> time_of(const json& r, const char* column) {
  if (!r.contains(column) || !r[column].is_number()) return {};
  return r[column].get<double>();
}

// One chart of all rows of an operation: a curve, or a set of bars, for each way.
using Value = std::function<std::optional<double>(const json& row, const char* column)>;
void add(std::vector<Chart>* charts, const json& m, const std::string& operation, Chart chart,
         const Value& value) {
  const Rows rows = rows_of(m, operation);
  if (rows.empty()) return;
  chart.title += ", " + m["versions"]["mpi"].get<std::string>();
  if (m.value("where", "node") == "hosts") chart.title += ", two hosts";
  for (const json* r : rows)
    chart.groups.push_back(chart.bars ? (*r)["section"].get<std::string>()
                                      : bytes_text((*r)["bytes"].get<uint64_t>(), BytesStyle::exact));
  for (const Way& way : kWays) {
    Curve curve{way.name, {}};
    for (size_t i = 0; i < rows.size(); i++)
      if (const auto v = value(*rows[i], way.column)) curve.points.emplace_back(static_cast<double>(i), *v);
    if (!curve.points.empty()) chart.series.push_back(curve);
  }
  if (!chart.series.empty()) charts->push_back(chart);
}

Chart lines(const std::string& title, const std::string& y_label, const std::string& note) {
  Chart chart;
  chart.title = title;
  chart.x_label = "bytes";
  chart.y_label = y_label;
  chart.note = note;
  chart.log_y = true;
  return chart;
}

}  // namespace

std::vector<Chart> coarray_charts(const json& m) {
  std::vector<Chart> charts;
  const auto rate = [](const json& r, const char* column) -> std::optional<double> {
    const auto us = time_of(r, column);
    if (!us || *us <= 0) return {};
    return r["bytes"].get<double>() / *us / 1e3;
  };
  for (const std::string what : {"put", "get"}) {
    const std::string name = "Ping-pong by " + what, operation = what + " ping-pong";
    add(&charts, m, operation,
        lines(name + ": latency", "half a round trip [µs]",
              "Figure 10(a) of the XcalableACC paper: xmp_sync_memory, post and wait; there coarrays are "
              "slower than Send "
              "and Recv below 8 KB."),
        time_of);
    add(&charts, m, operation, lines(name + ": bandwidth", "GB/s", "Figure 10(b) of the XcalableACC paper."),
        rate);
  }
  for (const std::string what : {"put", "get"})
    add(&charts, m, what,
        lines("One " + what, "µs",
              "Until it is complete at the target; no notification, so no Send and Recv."),
        time_of);
  for (const std::string what : {"put", "get"}) {
    Chart chart;
    chart.title = "Sections by " + what;
    chart.x_label = "section of double";
    chart.y_label = "time / the faster packed transfer";
    chart.note =
        "1 is the faster of two hand-written transfers: pack, send, receive, unpack; or pack, MPI_Put, "
        "notify, unpack.";
    chart.bars = chart.ratio = true;
    add(&charts, m, "section " + what, chart, [](const json& r, const char* column) -> std::optional<double> {
      const auto us = time_of(r, column), send = time_of(r, "send_us"), rma = time_of(r, "rma_us");
      if (!us || !send || !rma) return {};
      return *us / std::min(*send, *rma);
    });
  }
  return charts;
}

std::string coarray_page(const std::vector<json>& measurements) {
  report::ChartPage page{.about = about(measurements), .tiles = {}, .numbers = {}, .charts = {}};
  page.about.title = "Puts and gets of coarrays";
  std::string& lead = page.about.lead;
  for (const json& m : measurements) {
    for (Chart& chart : coarray_charts(m)) page.charts.push_back(std::move(chart));
    for (report::Tile& tile : mean_tiles(m, "as fast as the MPI library's own calls, geometric mean"))
      page.tiles.push_back(std::move(tile));
    lead += (lead.empty() ? "Two images " : "; two images ") + coarray_place(m) + ", " + measured_where(m);
  }
  lead += std::string(". ") + kXaccPaper;
  return report::chart_page(page);
}

}  // namespace tasuki::bench
