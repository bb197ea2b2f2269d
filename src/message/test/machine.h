// Machines that are not this one, as hwloc describes them.
#pragma once

#include <stdlib.h>

#include <vector>

#include "os/process/topology.h"

namespace tasuki::message {

// Empty where there is no hwloc.
inline std::vector<os::CorePosition> machine(const char* synthetic) {
  setenv("HWLOC_SYNTHETIC", synthetic, 1);
  Result<std::vector<os::CorePosition>> cores = os::core_positions();
  unsetenv("HWLOC_SYNTHETIC");
  return cores.ok() ? cores.value() : std::vector<os::CorePosition>();
}

}  // namespace tasuki::message
