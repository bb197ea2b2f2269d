// A page of bars from one or more measurements: one self-contained HTML file, no external resource.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tasuki::bench {

std::string page(const std::vector<nlohmann::json>& measurements);

}  // namespace tasuki::bench
