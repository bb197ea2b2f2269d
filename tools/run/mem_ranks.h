// `tasuki mem --store DIR` for an MPI program: each of its ranks has a pager of its own, and nobody lends.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "task/examine/launcher.h"

namespace tasuki::tool {

// What one rank needs to be told: its part of the host's memory, where nothing else is set, and its own
// file of --stats. EPERM: the MPI library's copies between processes would be wrong or fail on this
// machine, or with these settings.
Status prepare_rank(const task::Job& job, std::vector<std::string>* environment);

}  // namespace tasuki::tool
