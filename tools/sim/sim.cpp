// `tasuki sim`: schedules and MPI programs on a machine that need not exist.
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/bytes.h"
#include "experiment/memory_check.h"
#include "experiment/schedule_file.h"
#include "os/files/output_file.h"
#include "schedule/schedule.h"
#include "simmpi/report/report.h"
#include "simmpi/run/run_program.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/sim/common.h"

namespace tasuki::tool {
namespace {

struct SimCommand : SimOptions {
  std::string pace = "0", json, out, replay, sequences, command;
  std::vector<std::string> program;  // and its arguments
  uint32_t ranks = 0;                // 0: one on each node
  bool no_payload = false;
  std::string stack = "8MiB", patience = "600 s";
  std::vector<std::string> collectives;
};

// "3:7": sequences 3, 4, 5, 6; "14": that one. Counted from 1, as the paper does.
Status take_sequences(const std::string& text, experiment::RunOptions* options) {
  if (text.empty()) return Status();
  unsigned first = 0, end = 0;
  char rest = 0;
  const int n = sscanf(text.c_str(), "%u:%u%c", &first, &end, &rest);
  if (n == 1 && text.find(':') == std::string::npos) end = first + 1;
  if (n < 1 || n > 2 || first == 0 || end <= first)
    return Status::error(EINVAL, "--sequences '" + text + "': expected N or FIRST:END, counted from 1");
  options->first_sequence = first - 1;
  options->end_sequence = end - 1;
  return Status();
}

// A file's gaps go by hops in its own shape.
Status fits_machine(const experiment::SavedSchedule& saved, const netsim::Machine& machine,
                    const std::string& file) {
  const schedule::Parameters& p = saved.parameters;
  const auto text = [](const std::vector<uint32_t>& shape) {
    std::string t;
    for (const uint32_t extent : shape) t += (t.empty() ? "" : "x") + std::to_string(extent);
    return t;
  };
  schedule::Parameters here;
  if (p.shape.empty()) return Status();
  if (Status status = experiment::take_shape(machine, true, &here); !status.ok()) return status;
  if (here.shape == p.shape && here.wraps == p.wraps) return Status();
  return Status::error(EINVAL, file + ": is for a " + (p.wraps ? "torus" : "mesh") + " of " + text(p.shape) +
                                   " nodes; machine '" + machine.name + "' is a " +
                                   (here.wraps ? "torus" : "mesh") + " of " + text(here.shape));
}

Result<experiment::Experiment> experiment_of(const SimCommand& c) {
  Result<netsim::Machine> machine = find_machine(c);
  if (!machine.ok()) return machine.status();
  auto shared = std::make_shared<const netsim::Machine>(std::move(machine.value()));
  Result<experiment::RunOptions> options = run_options(c);
  if (!options.ok()) return options.status();
  Status status = take_sequences(c.sequences, &options.value());
  if (!status.ok()) return status;
  Result<experiment::Experiment> e = Status::error(EINVAL, "");
  if (!c.replay.empty()) {
    Result<experiment::SavedSchedule> saved = experiment::load(c.replay);
    if (!saved.ok()) return saved.status();
    Result<schedule::Schedule> s = experiment::replay(saved.value());
    if (!s.ok()) return s.status();
    if (status = fits_machine(saved.value(), *shared, c.replay); !status.ok()) return status;
    if (Status fits = experiment::check_memory(*shared, options.value().network); !fits.ok()) return fits;
    e = experiment::Experiment{shared, netsim::make_topology(*shared), std::move(s.value()), {}};
  } else {
    Result<experiment::ScheduleSpec> spec = schedule_spec(c);
    if (!spec.ok()) return spec.status();
    Result<experiment::PaceExpression> pace = experiment::PaceExpression::parse(c.pace);
    if (!pace.ok()) return pace.status();
    if (c.pace != "0") spec.value().gap = [p = pace.value()](uint32_t, uint32_t hops) { return p.gap(hops); };
    e = experiment::make_experiment(shared, spec.value());
  }
  if (e.ok()) e.value().options = options.value();
  return e;
}

// What was asked for and would change nothing: an error, not silence.
Status check_options(const CLI::App& cmd, const SimCommand& c) {
  std::vector<std::pair<const char*, const char*>> idle;  // option, in which case
  const auto refuse = [&](std::initializer_list<const char*> options, const char* where) {
    for (const char* o : options)
      if (cmd.count(o) != 0) idle.push_back({o, where});
  };
  if (!c.replay.empty())
    refuse({"--schedule", "--bytes", "--segment", "--root", "--barriers", "--pace"},
           "with --replay, whose file has all of a schedule");
  if (!c.schedule.empty() || !c.replay.empty())
    refuse({"-n", "--no-payload", "--collective", "--stack", "--patience"}, "without a program");
  else
    refuse({"--bytes", "--segment", "--root", "--barriers", "--skew", "--sequences"}, "with a program");
  if (c.model == "flow" && c.threads != 1)
    refuse({"--threads"}, "with --model flow, which runs on one thread");
  if (idle.empty()) return Status();
  return Status::error(EINVAL, std::string(idle[0].first) + " has no effect " + idle[0].second);
}

Status check_outputs(const SimCommand& c) {
  Status status = os::check_output("--json", c.json);
  return status.ok() && !c.out.empty() ? simmpi::prepare_report(c.out) : status;
}

int write(const SimCommand& c, const simmpi::SimulationReport& report) {
  // A program's own output is its user's: what the simulator says about it goes to the other stream.
  fputs(simmpi::summary(report).c_str(), c.program.empty() ? stdout : stderr);
  Status status;
  if (!c.json.empty()) status = os::write_output("--json", c.json, simmpi::to_json(report) + "\n");
  if (!status.ok()) return sim_error(status);
  if (c.out.empty()) return 0;
  status = simmpi::write_report(report, c.out);
  if (!status.ok()) return sim_error(status);
  printf("\n%s/report.html: the report; trace.perfetto-trace beside it opens in ui.perfetto.dev\n",
         c.out.c_str());
  return 0;
}

void add_settings(const SimCommand& c, simmpi::SimulationReport* report) {
  std::string all;
  for (const std::string& s : c.settings) all += (all.empty() ? "" : ", ") + s;
  if (!all.empty()) report->settings.push_back({"set", all});
}

int run_schedule(const SimCommand& c) {
  Result<experiment::Experiment> experiment = experiment_of(c);
  if (!experiment.ok()) return sim_error(experiment.status());
  experiment::Experiment& e = experiment.value();
  e.options.network.link_bins = !c.out.empty();
  show_progress(&e.options.network);
  Result<experiment::RunOutcome> outcome = experiment::run(e);
  if (!outcome.ok()) return sim_error(outcome.status());
  end_progress();
  const experiment::RunOutcome& x = outcome.value();
  simmpi::SimulationReport report;
  report.machine = e.machine.get();
  report.topology = e.topology.get();
  report.results = &x.results;
  report.time = x.time;
  report.title = e.schedule.algorithm();
  report.command = c.command;
  report.settings = {{"schedule", e.schedule.algorithm()},
                     {"bytes", c.replay.empty() ? c.bytes : "as in " + c.replay},
                     {"pace", c.replay.empty() ? c.pace : "as in " + c.replay},
                     {"model", c.model},
                     {"start skew", c.skew},
                     {"seed", std::to_string(c.seed)}};
  add_settings(c, &report);
  report.sequences = &x.sequences;
  // Counted from 1, as by --sequences and by the paper.
  for (size_t i = 0; i < x.sequences.size(); i++)
    report.sequence_names.push_back("sequence " + std::to_string(i + 1));
  return write(c, report);
}

Status take_collectives(const SimCommand& c, simmpi::ProgramOptions* options) {
  for (const std::string& choice : c.collectives) {
    const size_t equals = choice.find('=');
    if (equals == std::string::npos)
      return Status::error(
          EINVAL, "--collective '" + choice + "': expected OPERATION=SCHEDULE, for example alltoall=a2at");
    if (!options->collectives.emplace(choice.substr(0, equals), choice.substr(equals + 1)).second)
      return Status::error(EINVAL, "--collective " + choice + ": " + choice.substr(0, equals) +
                                       " has been given a schedule before");
  }
  return Status();
}

int run_program(const SimCommand& c) {
  Result<netsim::Machine> machine = find_machine(c);
  if (!machine.ok()) return sim_error(machine.status());
  Result<experiment::RunOptions> options = run_options(c);
  if (!options.ok()) return sim_error(options.status());
  Result<experiment::PaceExpression> pace = experiment::PaceExpression::parse(c.pace);
  if (!pace.ok()) return sim_error(pace.status());
  if (Status fits = experiment::check_memory(machine.value(), options.value().network); !fits.ok())
    return sim_error(fits);
  const auto topology = netsim::make_topology(machine.value());
  simmpi::ProgramOptions o;
  o.command = c.program;
  o.ranks = c.ranks == 0 ? machine.value().nodes() : c.ranks;
  o.payload = !c.no_payload;
  if (!parse_bytes(c.stack, ByteUnits::standard, &o.stack_bytes) || o.stack_bytes < (64 << 10) ||
      o.stack_bytes > (1ull << 36))
    return sim_error(Status::error(EINVAL, "--stack '" + c.stack + "': expected 64KiB to 64GiB"));
  netsim::Time patience = 0;
  if (!netsim::parse_time(c.patience, &patience))
    return sim_error(Status::error(
        EINVAL, "--patience '" + c.patience + "': expected a time with its unit, for example '600 s'"));
  o.patience_s = static_cast<double>(patience) * 1e-12;
  o.network = options.value().network;
  o.network.link_bins = !c.out.empty();
  o.log = !c.out.empty();
  if (c.pace != "0")
    o.gap = [&](uint32_t from, uint32_t to) { return pace.value().gap(topology->hops(from, to)); };
  Status status = take_collectives(c, &o);
  if (!status.ok()) return sim_error(status);
  show_progress(&o.network);
  Result<simmpi::ProgramOutcome> outcome = simmpi::run_program(machine.value(), o);
  if (!outcome.ok()) return sim_error(outcome.status());
  end_progress();
  const simmpi::ProgramOutcome& x = outcome.value();
  if (!x.failure.empty()) {
    sim_error(Status::error(ECANCELED, x.failure));
    return x.exit_code == 0 ? 1 : x.exit_code;
  }
  simmpi::SimulationReport report;
  report.machine = &machine.value();
  report.topology = topology.get();
  report.results = &x.network;
  report.time = x.network.end;
  report.title = c.program[0];
  report.command = c.command;
  report.settings = {{"ranks", std::to_string(o.ranks)},
                     {"pace", c.pace},
                     {"model", c.model},
                     {"payload", o.payload ? "moved" : "not moved"},
                     {"seed", std::to_string(c.seed)}};
  add_settings(c, &report);
  for (const auto& [operation, name] : o.collectives) report.settings.push_back({operation, name});
  if (!x.reproducible) report.settings.push_back({"computation", "of the host's CPU time: not reproducible"});
  if (o.log) report.log = &x.log;
  const int code = write(c, report);
  return code != 0 ? code : x.exit_code;
}

}  // namespace

void add_sim(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand("sim", kAboutSim);
  auto c = std::make_shared<SimCommand>();
  add_machine_options(cmd, c.get());
  add_schedule_options(cmd, c.get());
  cmd->add_option("--pace", c->pace,
                  "Time between two packets of a message, in packet times: 0, or an expression of hops such "
                  "as hops-1+1.25")
      ->capture_default_str();
  cmd->add_option("--sequences", c->sequences,
                  "Simulate only these sequences of the schedule: N or FIRST:END, counted from 1");
  cmd->add_option(
      "--replay", c->replay,
      "Carry out the schedule of this file, which `tasuki sim tune` wrote, in place of --schedule");
  cmd->add_option("-n", c->ranks, "Number of ranks of the program (default: one on each node)")
      ->check(CLI::Range(1, 16 << 20));
  cmd->add_flag(
      "--no-payload", c->no_payload,
      "Move no data in messages: they take the same time, but the results of the program are wrong");
  cmd->add_option("--stack", c->stack,
                  "Stack size of a rank of the program; untouched parts of it take no memory")
      ->capture_default_str();
  cmd->add_option(
         "--patience", c->patience,
         "End the run if no rank has sent, received or ended for so long by the wall's clock; '0 s': never")
      ->capture_default_str();
  cmd->add_option("--collective", c->collectives,
                  "OPERATION=SCHEDULE: carry out a collective operation of the program by this schedule, "
                  "e.g. alltoall=a2at; may be repeated")
      ->allow_extra_args(false);
  cmd->add_option("--json", c->json, "Write all results to this file");
  cmd->add_option("--out", c->out, "Write a report to this folder: report.html, JSON, CSV, a Perfetto trace");
  add_sim_machines(cmd, exit_code);
  add_sim_sweep(cmd, exit_code);
  add_sim_paper(cmd, exit_code);
  add_sim_traffic(cmd, exit_code);
  add_sim_tune(cmd, exit_code);
  cmd->prefix_command();
  cmd->callback([c, cmd, exit_code] {
    if (!cmd->get_subcommands().empty()) return;
    c->command = command_line();
    c->program = cmd->remaining();
    if (!c->program.empty() && c->program.front() == "--") c->program.erase(c->program.begin());
    const bool scheduled = !c->schedule.empty() || !c->replay.empty();
    if (c->program.empty() == !scheduled) {
      *exit_code = 2;
      fprintf(stderr,
              "tasuki sim: %s (tasuki sim --machine FILE --schedule NAME | --replay FILE | PROGRAM "
              "[arguments])\n",
              scheduled ? "a schedule or a program, not both" : "which schedule or program?");
      return;
    }
    Status status = check_options(*cmd, *c);
    if (status.ok()) status = check_outputs(*c);
    *exit_code = !status.ok() ? sim_error(status) : scheduled ? run_schedule(*c) : run_program(*c);
  });
}

}  // namespace tasuki::tool
