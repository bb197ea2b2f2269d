// The figures of `tasuki bench coarray`: latency and bandwidth of puts and gets by size (figure 10 of the
// XcalableACC paper), and sections beside packed transfers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/chart_page.h"

namespace tasuki::bench {

std::string coarray_page(const std::vector<nlohmann::json>& measurements);
std::vector<report::Chart> coarray_charts(const nlohmann::json& measurement);  // for tests

}  // namespace tasuki::bench
