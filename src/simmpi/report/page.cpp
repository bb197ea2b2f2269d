#include "simmpi/report/page.h"

#include "report/page.h"

namespace tasuki::simmpi {

extern const char run_js[], lines_js[], heat_js[], picture_js[], phases_js[], timeline_js[], main_js[];

std::string page(const SimulationReport& report) {
  std::string lead = report.machine->name + ", " + std::to_string(report.topology->nodes()) + " nodes, " +
                     report.results->model + " model";
  for (size_t i = 0; i < report.settings.size(); i++)
    lead += (i == 0 ? "; " : ", ") + report.settings[i].first + " " + report.settings[i].second;
  return report::page(
      {.title = report.title.empty() ? "Simulation" : report.title,
       .lead = lead + ".",
       .notes = {},
       .data = page_data(report),
       .scripts = {report::charts_js, run_js, lines_js, heat_js, picture_js, phases_js, timeline_js, main_js},
       .facts = {},
       .numbers = ""});
}

}  // namespace tasuki::simmpi
