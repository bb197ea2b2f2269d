// The page with charts that --stats FILE.html writes. In libdlmmpi and in the program memory-page; what is
// preloaded into other people's programs has no pages.
#pragma once

#include <string>

#include "base/status.h"
#include "cluster/api/report.h"

namespace tasuki::cluster {

// What a page says of the program and its pager, beside report_json().
struct PageTitle {
  std::string program, mpi, mechanism, protocol, page_size;
};
std::string report_page(const PageTitle& title, const std::string& json);
std::string report_page(const Report& report);

// A ReportWriter with pages.
Status write_report(const Report& report, const std::string& file);

}  // namespace tasuki::cluster
