// What --stats tells at the end of a program under `tasuki mem`.
#pragma once

#include <string>

#include "base/status.h"
#include "cluster/api/report.h"

namespace tasuki::cluster::preload {

// A ReportWriter: text and JSON by itself; a page by the program memory-page, which gets the JSON. Ends when
// that has ended.
Status write_report(const Report& report, const std::string& file);

}  // namespace tasuki::cluster::preload
