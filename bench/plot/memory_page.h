// The figures of `tasuki bench memory`, as DLM-MPI's section 4 has them: relative time by local memory ratio,
// by page size, protocol and number of servers, and what the time consists of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/chart_page.h"

namespace tasuki::bench {

std::string memory_page(const std::vector<nlohmann::json>& measurements);
std::vector<report::Chart> memory_charts(const nlohmann::json& measurement);  // for tests

}  // namespace tasuki::bench
