#include "tools/run/mem_ranks.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include "os/memory/host_memory.h"
#include "os/process/environment.h"
#include "pager/pager.h"

namespace tasuki::tool {
namespace {

bool is_set_to_other_than(const std::vector<std::string>& environment, const char* name, const char* value) {
  const char* found = os::variable(environment, name);
  return found != nullptr && *found != 0 && strcmp(found, value) != 0;
}

// MPI libraries read and write the pages of other processes (process_vm_readv). The pager sees that only
// where it serves faults of the kernel and moves pages: with copied pages test/mem/each_rank.c gave wrong
// sums, and with faults of user code only the call fails. To switch that off is no way out: Open MPI 4.1
// then has no windows, and MPICH 4.0 sends by TCP and hangs in MPI_Finalize now and then (docs/tasks.md).
Status check_faults(const std::vector<std::string>& environment) {
  const std::string why = "a pager that moves pages and serves faults of the kernel, too, as an MPI program";
  if (is_set_to_other_than(environment, "TASUKI_DLM_FAULTS", "auto") &&
      is_set_to_other_than(environment, "TASUKI_DLM_FAULTS", "userfault"))
    return Status::error(EPERM, why + ": leave out --faults");
  const std::string reason = pager::fault_ways().front().reason;
  return reason.empty() ? Status()
                        : Status::error(EPERM, why + ": " + reason + " (tasuki doctor says what to do)");
}

// "out.json" becomes "out.3.json".
void number_stats(int rank, std::vector<std::string>* environment) {
  const char* file = os::variable(*environment, "TASUKI_DLM_STATS");
  const std::string_view name = file != nullptr ? file : "";
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return;  // on, off
  os::set_variable(
      environment, "TASUKI_DLM_STATS",
      std::string(name.substr(0, dot)) + "." + std::to_string(rank) + std::string(name.substr(dot)));
}

}  // namespace

Status prepare_rank(const task::Job& job, std::vector<std::string>* environment) {
  const Status checked = check_faults(*environment);
  if (!checked.ok()) return checked;
  if (!is_set_to_other_than(*environment, "TASUKI_DLM_LOCAL", "auto") &&
      !is_set_to_other_than(*environment, "TASUKI_DLM_MEMFILE", ""))
    os::set_variable(environment, "TASUKI_DLM_LOCAL",
                     std::to_string(os::host_memory().available / 2 / static_cast<uint64_t>(job.local_size)));
  if (job.world_rank >= 0) number_stats(job.world_rank, environment);
  return {};
}

}  // namespace tasuki::tool
