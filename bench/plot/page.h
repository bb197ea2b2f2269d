// A page of figures from one or more measurements: one self-contained HTML file, no external resource. Those
// of `memory` do not go together with others.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tasuki::bench {

std::string page(const std::vector<nlohmann::json>& measurements);

}  // namespace tasuki::bench
