// What the cores of this machine share, as hwloc knows it. The library is loaded when it is asked: nothing
// else of Tasuki needs it.
#pragma once

#include <vector>

#include "base/status.h"

namespace tasuki::os {

// A core as the kernel counts them: one of the hardware threads of a core of silicon. Two have the same
// `silicon`, `cache` (the last level) or `package` if they share that; the numbers mean nothing else.
struct CorePosition {
  int core;
  int silicon, cache, package;
};

// All cores of the machine, also those that this process may not use. hwloc reads the machine, or what its
// environment variables HWLOC_XMLFILE and HWLOC_SYNTHETIC describe. Fails where there is no hwloc.
Result<std::vector<CorePosition>> core_positions();

}  // namespace tasuki::os
