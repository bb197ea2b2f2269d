#include "bench/driver/benchmarks/apps.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <map>

#include "bench/driver/figures/stats.h"
#include "bench/driver/figures/text.h"
#include "bench/driver/jobs/child.h"
#include "bench/driver/jobs/hosts.h"
#include "bench/driver/jobs/machine.h"
#include "bench/driver/jobs/whole_program.h"
#include "os/files/temporary_folder.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

// Points in each direction of the classes of wavefront.
const std::map<std::string, uint64_t>& classes() {
  static const std::map<std::string, uint64_t> all = {{"S", 12}, {"W", 33}, {"A", 64}, {"B", 102}};
  return all;
}

// 0: `size` is no number that the program takes.
uint64_t bytes_of(const std::string& program, const std::string& size) {
  if (program == "wavefront") {
    const auto found = classes().find(size);
    return found == classes().end() ? 0 : 5 * sizeof(double) * found->second * found->second * found->second;
  }
  for (uint64_t n = 2; n <= 32768; n *= 2)
    if (size == std::to_string(n)) return 2 * sizeof(double) * n * n;
  return 0;
}

// How one of the two ways to start a program fared.
struct Side {
  std::vector<double> us, communication;
};

// One program in one size, for one library, in one place.
struct App {
  std::string program, size;
  int ranks;
  std::string where;
  const AppsMpi* mpi;
  std::string failure{};  // why it is not run any more
  bool wrong = false;     // it ran, and its result was wrong
  Side plain{}, tasuki{};

  std::string binary() const { return program + "-" + mpi->mpi.name; }
  std::string pattern() const {
    return program + " " + size + ", " + std::to_string(ranks) + " ranks, " + where + ", " + mpi->mpi.name;
  }
};

std::vector<App> apps_of(const AppsOptions& options) {
  std::vector<App> all;
  for (const std::string& text : options.programs)
    for (const std::string& where : options.where)
      for (const int ranks : options.ranks)
        for (const AppsMpi& mpi : options.mpis) {
          const size_t colon = text.find(':');
          all.push_back({text.substr(0, colon), text.substr(colon + 1), ranks, where, &mpi});
        }
  return all;
}

class AppsRunner {
 public:
  explicit AppsRunner(const AppsOptions& options) : options_(options), notes_(load_notes()) {}
  Result<json> run(const std::function<void(const DdtProgress&)>& progress);

 private:
  Status say_hello();
  Status compile(const App& e, std::string* failure);
  Status measure(App* e, bool tasuki);
  json document(const std::vector<App>& all);

  const AppsOptions& options_;
  std::vector<std::string> notes_;
  os::TemporaryFolder folder_;  // for the compiled programs
  TwoHosts hosts_;
  json versions_;
  double moved_ = 0;  // messages of wavefront, collective operations of fft2d
};

// What libraries these are, by the program of `tasuki bench ddt`.
Status AppsRunner::say_hello() {
  for (const AppsMpi& m : options_.mpis) {
    Job job({m.mpi.name, launch_command(m.mpi, 2, 1, options_.launch_args), {}, m.program});
    Answer hello;
    if (Status s = job.start(kStartTimeout, &hello); !s.ok()) return s;
    if (Status s = job.stop(); !s.ok()) return s;
    const json found = versions(hello.values[0]);
    if (versions_.is_null())
      versions_ = found;
    else
      for (const char* key : {"mpi", "mpi_full"})
        versions_[key] = versions_[key].get<std::string>() + " and " + found[key].get<std::string>();
  }
  return Status();
}

Status AppsRunner::compile(const App& e, std::string* failure) {
  std::vector<std::string> command = {e.mpi->mpicc};
  command.insert(command.end(), options_.flags.begin(), options_.flags.end());
  for (const std::string& word : {options_.sources + "/" + e.program + "/" + e.program + ".c",
                                  std::string("-o"), folder_.path() + "/" + e.binary(), std::string("-lm")})
    command.push_back(word);
  return compile_program(e.binary(), command, {}, options_.timeout, failure, &notes_);
}

Status AppsRunner::measure(App* e, bool tasuki) {
  const Mpi& mpi = e->mpi->mpi;
  const bool hosts = e->where == "hosts";
  std::vector<std::string> command = hosts ? hosts_.launch_command(mpi, e->ranks, options_.launch_args)
                                           : launch_command(mpi, e->ranks, 1, options_.launch_args);
  std::vector<std::string> environment = hosts ? hosts_.environment(mpi) : std::vector<std::string>();
  if (tasuki) {
    command.insert(command.end(), options_.runner.begin(), options_.runner.end());
    environment.push_back("TASUKI_STATS=1");
  }
  command.insert(command.end(), {folder_.path() + "/" + e->binary(), e->size});
  if (e->program == "fft2d") command.push_back(std::to_string(options_.repetitions));
  ProgramRun run;
  const json expected = {{"program", e->program}, {"size", e->size}, {"processes", e->ranks}};
  if (Status s = run_program(command, environment, options_.timeout, expected, &run); !s.ok()) return s;
  if (!run.failure.empty()) {
    e->failure = (tasuki ? "Tasuki: " : "plain MPI: ") + run.failure;
    e->wrong = run.wrong;
    return Status();
  }
  const double seconds = run.result["seconds_per_iteration"];
  Side& side = tasuki ? e->tasuki : e->plain;
  side.us.push_back(1e6 * seconds);
  side.communication.push_back(run.result["communication"].get<double>() / std::max(seconds, 1e-9));
  std::string rest;
  if (tasuki) moved_ += messages_sent(run.output, &rest, e->program == "fft2d" ? "collectives" : "sent");
  return Status();
}

json row_of(const App& e) {
  json r = {{"program", e.program},
            {"size", e.size},
            {"ranks", e.ranks},
            {"where", e.where},
            {"mpi", e.mpi->mpi.name},
            {"pattern", e.pattern()},
            {"bytes", bytes_of(e.program, e.size)},
            {"plain_us", nullptr},
            {"tasuki_us", nullptr},
            {"verified", e.failure.empty()}};
  if (e.where == "node") r["paper"] = e.program == "fft2d" ? "5 to 27 %" : "4 to 6 %";
  if (!e.failure.empty()) {
    r["failure"] = e.failure;
    r["finished"] = e.wrong;
    return r;
  }
  r["noisy"] = false;
  for (const auto& [name, side] : {std::pair("plain", &e.plain), std::pair("tasuki", &e.tasuki)}) {
    const std::string way = name;
    const auto [low, high] = std::minmax_element(side->us.begin(), side->us.end());
    r[way + "_us"] = round4(median(side->us));
    r[way + "_spread_us"] = {round4(*low), round4(*high)};
    r[way + "_communication"] = round4(median(side->communication));
    if (*high > 1.5 * *low) r["noisy"] = true;
  }
  r["ratio"] = round4(median(e.plain.us) / median(e.tasuki.us));
  return r;
}

json AppsRunner::document(const std::vector<App>& all) {
  json rows = json::array();
  std::vector<double> ratios;
  bool verified = true;
  std::string names;
  for (const App& e : all) {
    rows.push_back(row_of(e));
    verified = verified && e.failure.empty();
    if (rows.back().contains("ratio")) ratios.push_back(rows.back()["ratio"]);
  }
  for (const AppsMpi& m : options_.mpis) names += (names.empty() ? "" : ",") + m.mpi.name;
  if (*std::max_element(options_.ranks.begin(), options_.ranks.end()) > usable_cores())
    notes_.push_back("more ranks than cores: they take turns");
  if (options_.default_runner && moved_ == 0 && !ratios.empty() &&
      std::count(options_.where.begin(), options_.where.end(), "node") > 0)
    notes_.push_back("Tasuki moved no message: both columns are plain MPI; see `tasuki doctor`");
  return {{"benchmark", "apps"},
          {"format", 1},
          {"date", utc_time()},
          {"mpi", names},
          {"machine", describe_machine()},
          {"versions", versions_},
          {"settings",
           {{"rounds", options_.rounds},
            {"repetitions", options_.repetitions},
            {"flags", joined(options_.flags)},
            {"runner", options_.default_runner ? "tasuki run" : joined(options_.runner)},
            {"launch_args", options_.launch_args},
            {"environment", environment_settings()}}},
          {"rows", rows},
          {"contiguous", json::array()},
          {"geomean", ratios.empty() ? json() : json(round4(geometric_mean(ratios)))},
          {"verified", verified},
          {"tasuki_messages", moved_},
          {"notes", notes_}};
}

Result<json> AppsRunner::run(const std::function<void(const DdtProgress&)>& progress) {
  std::vector<App> all = apps_of(options_);
  if (std::count(options_.where.begin(), options_.where.end(), "hosts") > 0)
    if (Status s = hosts_.make(); !s.ok()) return s;
  if (Status s = folder_.make("tasuki-bench"); !s.ok()) return s;
  if (Status s = say_hello(); !s.ok()) return s;

  std::map<std::string, std::string> compiled;  // binary -> why there is none
  for (App& e : all) {
    if (!compiled.contains(e.binary()))
      if (Status s = compile(e, &compiled[e.binary()]); !s.ok()) return s;
    e.failure = compiled[e.binary()];
  }
  const int steps = static_cast<int>(all.size()) * options_.rounds;
  const double start = monotonic_seconds();
  int step = 0;
  // The two ways of a program follow each other, and each round begins with the other one.
  for (int round = 0; round < options_.rounds; round++)
    for (App& e : all) {
      for (const bool tasuki : {round % 2 == 1, round % 2 == 0})
        if (e.failure.empty())
          if (Status s = measure(&e, tasuki); !s.ok()) return s;
      step++;
      progress({step, steps, (monotonic_seconds() - start) / step * (steps - step), e.pattern()});
    }
  return document(all);
}

}  // namespace

Result<std::string> app_with_size(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string program = text.substr(0, colon);
  if (program != "fft2d" && program != "wavefront")
    return Status::error(EINVAL, "--programs " + text + ": the programs are fft2d and wavefront");
  const std::string size = colon != std::string::npos ? text.substr(colon + 1)
                           : program == "fft2d"       ? "1024"
                                                      : "A";
  if (bytes_of(program, size) == 0)
    return Status::error(EINVAL,
                         "--programs " + text + ": " +
                             (program == "fft2d" ? "the sizes of fft2d are powers of two from 2 to 32768"
                                                 : "wavefront has the sizes S W A B"));
  return program + ":" + size;
}

Result<json> run_apps(const AppsOptions& options, const std::function<void(const DdtProgress&)>& progress) {
  catch_interrupts();
  permit_root();
  return AppsRunner(options).run(progress);
}

}  // namespace tasuki::bench
