// The proxy: what the `tasuki run` process that the launcher started does for its rank. It joins the space of
// its node, has its task started there, relays signals to it and ends as it ends.
#pragma once

#include "task/examine/launcher.h"
#include "task/meet/host.h"
#include "task/start/request.h"

namespace tasuki::task {

// Does not return if the task was started: the process ends as the task ended. Otherwise the reason why the
// program must run as a plain process.
Status run_as_proxy(const Job& job, TaskRequest request, const HostOptions& options);

struct Away {
  bool first = true;  // no other one has stayed away for the same reason: the user is told once
  os::Fd segment;     // shared by those that stay away (segment.h); invalid: there is none
};
// Tells the ranks of this node not to wait for this one.
Away stay_away(const Job& job, const std::string& why, const HostOptions& options);

}  // namespace tasuki::task
