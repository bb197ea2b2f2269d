// What every page of a benchmark says of its measurements.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/chart_page.h"

namespace tasuki::bench {

inline constexpr char kXaccPaper[] =
    "The XcalableACC paper is Tabuchi, Nakao, Murai, Boku, Sato: \"Implementation and Evaluation of "
    "One-Sided "
    "Communication of the PGAS Language XcalableACC for Accelerator Clusters\" (in Japanese).";

// "Open MPI v4.1.4, Tasuki 0.1.0, <CPU>, <date>"
std::string measured_where(const nlohmann::json& measurement);
// The head of a page of all measurements: remarks (a busy machine), machines, versions, settings, numbers as
// text.
report::Page about(const std::vector<nlohmann::json>& measurements);
// How many times as fast Tasuki is: the mean of all rows, which is `what`, and that of their best rounds.
std::vector<report::Tile> mean_tiles(const nlohmann::json& measurement, const std::string& what);

// A page about whole programs, beside a paper's.
struct ProgramsPage {
  const char* title;
  const char* mean;  // what a measurement's mean says
  const char* paper;
  std::vector<report::Chart> (*charts)(const nlohmann::json& measurement);
  std::vector<report::Comparison> (*numbers)(const nlohmann::json& measurement);
};
std::string page_of_programs(const std::vector<nlohmann::json>& measurements, const ProgramsPage& what);

}  // namespace tasuki::bench
