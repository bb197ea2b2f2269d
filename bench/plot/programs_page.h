// The figures of `tasuki bench coarray --programs`: figures 13, 14, 17, 18 (performance; time of an
// iteration) and table 2 (source lines) of the XcalableACC paper.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/chart_page.h"

namespace tasuki::bench {

std::string programs_page(const std::vector<nlohmann::json>& measurements);
std::vector<report::Chart> programs_charts(const nlohmann::json& measurement);  // for tests

}  // namespace tasuki::bench
