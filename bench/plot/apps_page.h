// The figures of `tasuki bench apps`: figures 13, 14 and 16 (time, gain) of the PVAS paper.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/chart_page.h"

namespace tasuki::bench {

std::string apps_page(const std::vector<nlohmann::json>& measurements);
std::vector<report::Chart> apps_charts(const nlohmann::json& measurement);  // for tests

}  // namespace tasuki::bench
