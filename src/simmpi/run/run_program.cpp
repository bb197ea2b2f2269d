#include "simmpi/run/run_program.h"

#include <cerrno>
#include <cstdlib>

#include "experiment/memory_check.h"
#include "netsim/simulate.h"
#include "os/process/executable.h"
#include "schedule/schedule.h"
#include "simmpi/run/crash.h"
#include "simmpi/run/output.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;  // who loads it says what is wrong with it
  Result<std::string> found = os::find_in_path(name, getenv("PATH"));
  return found.ok() ? found : Status::error(ENOENT, name + ": not found in PATH");
}

Status check_collectives(const std::map<std::string, std::string>& collectives) {
  for (const auto& [operation, name] : collectives) {
    if (operation != "alltoall" && operation != "broadcast" && operation != "allreduce" &&
        operation != "barrier")
      return Status::error(
          EINVAL,
          operation +
              ": not an operation whose schedule can be chosen (alltoall, broadcast, allreduce, barrier)");
    const schedule::Algorithm* a = schedule::find(name);
    if (a == nullptr || a->operation != operation) {
      std::string known;
      for (const schedule::Algorithm* x : schedule::algorithms())
        if (x->operation == operation) known += (known.empty() ? "" : ", ") + std::string(x->name);
      return Status::error(EINVAL, name + ": not a schedule for " + operation + "; there are: " + known);
    }
  }
  return {};
}

}  // namespace

Result<ProgramOutcome> run_program(const netsim::Machine& machine, const ProgramOptions& options,
                                   const Simulate& simulate) {
  if (options.command.empty()) return Status::error(EINVAL, "which program?");
  Status status = check_collectives(options.collectives);
  if (!status.ok()) return status;
  constexpr uint64_t kRank = 40 << 10;  // stack, variables and queues of a small program
  status = experiment::check_memory(machine, options.network, uint64_t{options.ranks} * kRank);
  if (!status.ok()) return status;
  const auto path = find_program(options.command[0]);
  if (!path.ok()) return path.status();
  setenv("OMP_NUM_THREADS", "1", 0);  // a rank is one fiber

  ProgramOutcome outcome;
  // Before the program's libraries are loaded: they keep the streams that they see then.
  const RankStreams streams;
  Simulation simulation(machine, options, path.value());
  status = simulation.prepare();
  if (!status.ok()) return status;
  const auto topology = netsim::make_topology(machine);
  Result<netsim::Results> results = [&] {
    const CrashHandlers handlers;
    const Patience patience(simulation);
    return simulate(machine, *topology, simulation, options.network);
  }();
  if (!results.ok()) {
    outcome.failure = results.status().message();
    outcome.exit_code = simulation.failure_code();
  } else if (!simulation.all_ended()) {
    outcome.failure = simulation.who_waits();
    outcome.exit_code = 1;
    outcome.network = std::move(results.value());
  } else {
    outcome.exit_code = simulation.exit_code();
    outcome.network = std::move(results.value());
  }
  outcome.log = simulation.take_log();
  outcome.reproducible = machine.compute_scale == 0;
  return outcome;
}

Result<ProgramOutcome> run_program(const netsim::Machine& machine, const ProgramOptions& options) {
  return run_program(machine, options, netsim::simulate);
}

}  // namespace tasuki::simmpi
