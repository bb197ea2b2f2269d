#include "bench/plot/about.h"

#include <cmath>
#include <cstdio>

#include "base/bytes.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/figures/text.h"
#include "bench/driver/reports/report.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;
using FactRows = std::vector<std::pair<std::string, std::string>>;

std::string words(const json& list) {
  std::vector<std::string> found;
  for (const json& w : list)
    if (w.is_string()) found.push_back(w);
  return joined(found);
}

FactRows machine_rows(const json& machine) {
  FactRows rows{{"CPU", machine.value("cpu", "unknown") + ", " + std::to_string(machine.value("cores", 0)) +
                            " cores" + (machine.value("hypervisor", false) ? ", virtual machine" : "")}};
  if (machine.contains("memory_bytes")) {
    std::string memory =
        std::to_string(std::lround(machine["memory_bytes"].get<double>() / (1 << 30))) + " GiB";
    const json caches = machine.value("caches", json::object());
    for (const auto& [name, bytes] : caches.items())
      memory += (memory.find("; ") == std::string::npos ? "; " : ", ") + name + " " +
                bytes_text(bytes.get<uint64_t>(), BytesStyle::exact);
    rows.emplace_back("Memory", memory);
  }
  const std::string os = machine.value("os", ""), kernel = machine.value("kernel", "");
  if (!(os + kernel).empty())
    rows.emplace_back("System", os + (os.empty() || kernel.empty() ? "" : ", ") + kernel);
  return rows;
}

FactRows facts_of(const json& m) {
  FactRows rows = machine_rows(m["machine"]);
  const json &versions = m["versions"], settings = m.value("settings", json::object());
  std::string text =
      "Tasuki " + versions["tasuki"].get<std::string>() + ", " + versions["mpi"].get<std::string>();
  if (versions.contains("compiler")) text += ", " + versions["compiler"].get<std::string>();
  rows.emplace_back("Versions", text);
  if (m["benchmark"] != "memory" && m.contains("peers")) {
    text.clear();
    for (const auto& [name, library] : m["peers"].items())
      text += (text.empty() ? "" : "; ") + name + ": " + library.get<std::string>();
    rows.emplace_back("Libraries", text);
  }
  const int rounds = settings.value("rounds", 1);
  text = std::to_string(rounds) + (rounds == 1 ? " round" : " rounds");
  if (const std::string cores = words(settings.value("rank_cores", json::array())); !cores.empty())
    text += ", ranks on cores " + cores;
  if (settings.contains("runner")) text += ", started with \"" + settings["runner"].get<std::string>() + "\"";
  rows.emplace_back("Run", text + ", " + m["date"].get<std::string>());
  const std::string arguments = words(settings.value("launch_args", json::array())),
                    environment = words(settings.value("environment", json::array()));
  if (!(arguments + environment).empty())
    rows.emplace_back("Set", arguments + (arguments.empty() || environment.empty() ? "" : " ") + environment);
  // Measurements of earlier versions do not say.
  if (settings.contains("command")) rows.emplace_back("Command", settings["command"].get<std::string>());
  return rows;
}

// The row of the same program that was started plainly; null: there is none, or `row` is not of `tasuki run`.
const json* plain_of(const json& row, const json& rows) {
  if (row.value("way", "") != "run") return nullptr;
  for (const json& r : rows) {
    bool same = r["way"] == "plain" && r.contains("best_seconds");
    for (const char* key : {"program", "size", "ranks", "version"}) same = same && r[key] == row[key];
    if (same) return &r;
  }
  return nullptr;
}

// plain / Tasuki of the best rounds.
std::vector<double> best_ratios(const json& m) {
  std::vector<double> ratios;
  for (const json& r : m["rows"]) {
    const json plain = r.value("plain_spread_us", json()), tasuki = r.value("tasuki_spread_us", json());
    if (r.contains("ratio") && plain.is_array() && tasuki.is_array() && tasuki[0].get<double>() > 0)
      ratios.push_back(plain[0].get<double>() / tasuki[0].get<double>());
    if (const json* started_plainly = plain_of(r, m["rows"]);
        started_plainly != nullptr && r.value("best_seconds", 0.0) > 0)
      ratios.push_back((*started_plainly)["best_seconds"].get<double>() / r["best_seconds"].get<double>());
  }
  return ratios;
}

}  // namespace

std::string measured_where(const json& m) {
  return m["versions"]["mpi"].get<std::string>() + ", Tasuki " + m["versions"]["tasuki"].get<std::string>() +
         ", " + m["machine"]["cpu"].get<std::string>() + ", " + m["date"].get<std::string>();
}

report::Page about(const std::vector<json>& measurements) {
  report::Page page;
  for (const json& m : measurements) {
    // With several measurements every remark says whose it is.
    const std::string whose = measurements.size() == 1 ? "" : m["versions"]["mpi"].get<std::string>() + ": ";
    for (const json& note : m.value("notes", json::array()))
      page.notes.push_back(whose + note.get<std::string>());
    page.facts.push_back({"How " + whose + "it was measured", facts_of(m)});
    page.numbers += table(m) + "\n";
  }
  return page;
}

std::vector<report::Tile> mean_tiles(const json& m, const std::string& what) {
  std::vector<report::Tile> tiles;
  if (m["geomean"].is_number())
    tiles.push_back({ratio_text(m["geomean"]) + " ×", what + ", " + m["versions"]["mpi"].get<std::string>()});
  if (const std::vector<double> best = best_ratios(m); !best.empty())
    tiles.push_back({ratio_text(geometric_mean(best)) + " ×",
                     "the same of the best rounds, which other programs disturb least"});
  return tiles;
}

std::string page_of_programs(const std::vector<json>& measurements, const ProgramsPage& what) {
  report::ChartPage page{.about = about(measurements), .tiles = {}, .numbers = {}, .charts = {}};
  page.about.title = what.title;
  std::string& lead = page.about.lead;
  lead = "Medians of rounds in turns, every result verified. ";
  for (const json& m : measurements) {
    for (report::Chart& chart : what.charts(m)) page.charts.push_back(std::move(chart));
    for (report::Comparison& c : what.numbers(m)) page.numbers.push_back(std::move(c));
    for (report::Tile& tile : mean_tiles(m, what.mean)) page.tiles.push_back(std::move(tile));
    lead += (&m == &measurements[0] ? "" : "; ") + measured_where(m);
  }
  lead += std::string(". ") + what.paper;
  return report::chart_page(page);
}

}  // namespace tasuki::bench
