#include "cluster/api/report_page.h"

#include "os/files/output_file.h"
#include "report/page.h"

namespace tasuki::cluster {

extern const char memory_js[];  // the page's script; it reads report_json()

std::string report_page(const PageTitle& t, const std::string& json) {
  return report::page(
      {.title = "Cluster memory of " + t.program,
       .lead = t.mpi + "; " + t.mechanism + "; protocol " + t.protocol + "; pages " + t.page_size + ".",
       .notes = {},
       .data = json,
       .scripts = {memory_js},
       .facts = {},
       .numbers = ""});
}

std::string report_page(const Report& r) {
  return report_page({r.program, r.mpi, r.mechanism, r.protocol, r.page_size}, report_json(r));
}

Status write_report(const Report& report, const std::string& file) {
  if (!is_page(file)) return write_plain_report(report, file);
  return os::write_output("--stats", file, report_page(report));
}

}  // namespace tasuki::cluster
