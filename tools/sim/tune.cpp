// `tasuki sim tune`: a gap for each sequence of a schedule, found by search.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/bytes.h"
#include "experiment/tune.h"
#include "os/files/output_file.h"
#include "tools/command.h"
#include "tools/sim/common.h"

namespace tasuki::tool {
namespace {

struct TuneCommand : SimOptions {
  experiment::TuneOptions tune;
  std::string out = "tuned.json", trial_bytes, tolerate = "0 ns";
};

Result<experiment::RunOutcome> check(std::shared_ptr<const netsim::Machine> machine,
                                     const experiment::SavedSchedule& saved,
                                     const experiment::RunOptions& options) {
  Result<schedule::Schedule> s = experiment::replay(saved);
  if (!s.ok()) return s.status();
  return experiment::run({machine, netsim::make_topology(*machine), std::move(s.value()), options});
}

int run(TuneCommand& c, const CLI::App& cmd) {
  if (cmd.count("--skew") != 0)
    return sim_error(
        Status::error(EINVAL, "--skew has no effect here: --tolerate is the start skew of the trials"));
  if (cmd.count("--rounds") != 0 && c.tune.alone)
    return sim_error(
        Status::error(EINVAL, "--rounds has no effect with --alone: there is no chain to go through"));
  if (Status status = os::check_output("--output", c.out); !status.ok()) return sim_error(status);
  Result<netsim::Machine> found = find_machine(c);
  if (!found.ok()) return sim_error(found.status());
  const auto machine = std::make_shared<const netsim::Machine>(std::move(found.value()));
  Result<experiment::ScheduleSpec> spec = schedule_spec(c);
  if (!spec.ok()) return sim_error(spec.status());
  Result<experiment::RunOptions> options = run_options(c);
  if (!options.ok()) return sim_error(options.status());
  if (c.tolerate != "0" && !netsim::parse_time(c.tolerate, &c.tune.skew))
    return sim_error(Status::error(EINVAL, "--tolerate '" + c.tolerate + "': expected a time with its unit"));
  const uint64_t bytes = spec.value().bytes;
  if (!c.trial_bytes.empty() && !parse_bytes(c.trial_bytes, ByteUnits::standard, &spec.value().bytes))
    return sim_error(Status::error(EINVAL, "--trial-bytes '" + c.trial_bytes + "': expected a size"));
  c.tune.workers = c.threads;
  c.tune.seed = c.seed;
  c.tune.model = options.value().network.model;
  options.value().network.threads = 1;
  std::unique_ptr<PointProgress> progress;
  c.tune.progress = [&progress](size_t finished, size_t all) {
    if (!progress) progress = std::make_unique<PointProgress>(all);
    (*progress)(finished);
  };
  Result<experiment::Tuned> tuned = experiment::tune(machine, spec.value(), c.tune);
  if (!tuned.ok()) return sim_error(tuned.status());
  end_progress();
  experiment::SavedSchedule& saved = tuned.value().schedule;
  saved.parameters.bytes = bytes;
  printf("sequence  hops   bias\n");
  for (size_t s = 0; s < tuned.value().sequences.size(); s++)
    printf("%8zu  %4u  %5.3f\n", s + 1, tuned.value().sequences[s].hops, tuned.value().sequences[s].bias);
  printf("\nstart skew        time  of ideal\n");
  for (const netsim::Time skew : {0ull, 10000ull, 100000ull, 1000000ull, 3000000ull}) {
    options.value().skew = skew;
    Result<experiment::RunOutcome> r = check(machine, saved, options.value());
    if (!r.ok()) return sim_error(r.status());
    printf("%7.2f us  %8.3f ms  %6.1f %%\n", static_cast<double>(skew) * 1e-6,
           static_cast<double>(r.value().time) * 1e-9,
           100.0 * static_cast<double>(r.value().time) /
               static_cast<double>(std::max<netsim::Time>(1, r.value().results.ideal)));
  }
  Status status = experiment::save(saved, c.out);
  if (!status.ok()) return sim_error(status);
  printf("\n%s: replay with `tasuki sim --machine %s --replay %s`\n", c.out.c_str(), c.machine.c_str(),
         c.out.c_str());
  return 0;
}

}  // namespace

void add_sim_tune(CLI::App* sim, int* exit_code) {
  CLI::App* cmd =
      sim->add_subcommand("tune", "Find a gap for each sequence of a schedule, and write a schedule file.");
  auto c = std::make_shared<TuneCommand>();
  add_machine_options(cmd, c.get());
  add_schedule_options(cmd, c.get());
  cmd->add_option("--low", c->tune.low, "Smallest bias that is tried; the gap is hops - 1 + bias")
      ->capture_default_str();
  cmd->add_option("--high", c->tune.high, "Greatest bias that is tried")->capture_default_str();
  cmd->add_option("--fine", c->tune.fine, "Step of the last refinement of the bias")->capture_default_str();
  cmd->add_flag("--alone", c->tune.alone,
                "Tune each sequence by itself, as in the paper, not in the chain of all sequences");
  cmd->add_option("--rounds", c->tune.rounds, "How often the tuner goes through the chain")
      ->capture_default_str();
  cmd->add_option("--tolerate", c->tolerate,
                  "Let the ranks start at random times within this time in all trials, e.g. '3 us'")
      ->capture_default_str();
  cmd->add_option("--trial-bytes", c->trial_bytes,
                  "Message size in the trials, to save time (default: that of --bytes)");
  cmd->add_option("-o,--output", c->out, "Write the schedule file here")->capture_default_str();
  cmd->callback([c, cmd, exit_code] { *exit_code = run(*c, *cmd); });
}

}  // namespace tasuki::tool
