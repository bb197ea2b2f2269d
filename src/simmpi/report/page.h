// The page of a report: one HTML file, its data inside, no external resource.
#pragma once

#include <string>

#include "simmpi/report/report.h"

namespace tasuki::simmpi {

std::string page(const SimulationReport& report);
// What the page's script reads: JSON; what has many values as base64.
std::string page_data(const SimulationReport& report);

}  // namespace tasuki::simmpi
