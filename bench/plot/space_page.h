// The figures of `tasuki bench space`: how much longer each operation takes under `tasuki run`, by ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/chart_page.h"

namespace tasuki::bench {

std::string space_page(const std::vector<nlohmann::json>& measurements);
std::vector<report::Chart> space_charts(const nlohmann::json& measurement);  // for tests

}  // namespace tasuki::bench
