// A trace for ui.perfetto.dev: protobuf TrackEvent.
#pragma once

#include <ostream>

#include "simmpi/report/report.h"

namespace tasuki::simmpi {

void write_trace(const SimulationReport& report, std::ostream& out);

}  // namespace tasuki::simmpi
