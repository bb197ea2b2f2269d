#include "bench/driver/benchmarks/coarray.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <regex>

#include "bench/driver/figures/text.h"
#include "bench/driver/jobs/contest.h"
#include "bench/driver/jobs/hosts.h"
#include "bench/driver/jobs/machine.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

enum Way { messages, windows, on_host, by_window, under_run, kWays };
constexpr const char* kColumns[kWays] = {"send_us", "rma_us", "host_us", "window_us", "run_us"};

// What a row measures: the command of each job; nullptr: the job has no part in it.
struct Operation {
  const char* name;
  const char* command[kWays];
  double parts;   // 2: half round trips
  bool sections;  // for sections, else for transfers in one piece
};
constexpr Operation kOperations[] = {
    {"put ping-pong", {"send", "rma_put", "put", "put", "put"}, 2, false},
    {"get ping-pong", {"send", "rma_get", "get", "get", "get"}, 2, false},
    {"put", {nullptr, "rma_put_alone", "put_alone", "put_alone", "put_alone"}, 1, false},
    {"get", {nullptr, "rma_get_alone", "get_alone", "get_alone", "get_alone"}, 1, false},
    {"section put", {"send_packed", "rma_put_packed", "put", "put", "put"}, 2, true},
    {"section get", {"send_packed", "rma_put_packed", "get", "get", "get"}, 2, true},
};

struct Row {
  const Operation* operation;
  CoarraySection section;
  std::string pattern() const {
    return operation->name + (operation->sections ? " of a " + section.name : std::string());
  }
};

uint64_t elements_of(const CoarraySection& s) {
  return s.extent[0] * s.extent[1] * s.extent[2];
}

std::string shape_command(const CoarraySection& s) {
  std::string text = "shape";
  for (const uint64_t n : s.extent) text += " " + std::to_string(n);
  for (int i = 0; i < 3; i++) text += " " + std::to_string(s.lower[i]) + " " + std::to_string(s.length[i]);
  return text;
}

CoarraySection whole(uint64_t bytes) {
  const uint64_t n = bytes / 8;
  return {std::to_string(n) + (n == 1 ? " double" : " doubles"), {1, 1, n}, {0, 0, 0}, {1, 1, n}};
}

Result<std::vector<Row>> rows_of(const CoarrayOptions& options) {
  std::vector<Row> all;
  const std::regex wanted(options.pattern.empty() ? ".*" : options.pattern);
  std::string names;
  const auto add = [&](const Operation& o, const CoarraySection& s) {
    Row row{&o, s};
    const std::string name = row.pattern() + "/" + std::to_string(s.bytes());
    names += "\n  " + name;
    if (std::regex_search(name, wanted)) all.push_back(row);
  };
  for (const Operation& o : kOperations) {
    if (o.sections)
      for (const CoarraySection& s : coarray_sections()) add(o, s);
    else
      for (const uint64_t bytes : options.sizes) add(o, whole(bytes));
  }
  if (all.empty())
    return Status::error(ENOENT, "--pattern '" + options.pattern + "' matches none of these rows:" + names);
  return all;
}

class Runner {
 public:
  explicit Runner(const CoarrayOptions& options) : options_(options), notes_(load_notes()) {}
  Result<json> run(const std::function<void(const DdtProgress&)>& progress);

 private:
  Status start(uint64_t elements);
  Result<json> row(const Row& row, double budget);
  Status stop();

  const CoarrayOptions& options_;
  TwoHosts hosts_;
  std::map<Way, Job> jobs_;
  std::vector<std::string> notes_;
  std::vector<Answer> hellos_;
  unsigned seed_ = 1;
};

Status Runner::start(uint64_t elements) {
  static constexpr struct {
    const char *name, *way, *setting;
  } kJobs[kWays] = {{"MPI", "messages", nullptr},
                    {"MPI RMA", "window", nullptr},
                    {"coarrays", "coarrays", "TASUKI_COARRAY=host"},
                    {"coarrays by windows", "coarrays", "TASUKI_COARRAY=window"},
                    {"coarrays under tasuki run", "coarrays", "TASUKI_COARRAY=auto"}};
  const bool between = options_.where == "hosts";
  if (between)
    if (Status s = hosts_.make(); !s.ok()) return s;
  for (const Way way : {messages, windows, on_host, by_window, under_run}) {
    if (between && (way == on_host || way == under_run)) continue;
    JobSpec spec{kJobs[way].name,
                 between ? hosts_.launch_command(options_.mpi, 2, options_.launch_args)
                         : launch_command(options_.mpi, 2, 1, options_.launch_args),
                 {},
                 options_.program,
                 between ? hosts_.environment(options_.mpi) : std::vector<std::string>()};
    if (kJobs[way].setting != nullptr) spec.environment.emplace_back(kJobs[way].setting);
    if (way == under_run) spec.runner = options_.runner;
    jobs_.try_emplace(way, spec);
  }
  for (auto& [way, job] : jobs_) {
    Answer hello, opened;
    if (Status s = job.start(kStartTimeout, &hello); !s.ok()) return s;
    const std::string command = std::string("open ") + kJobs[way].way + " " + std::to_string(elements);
    if (Status s = job.ask(command, kAnswerTimeout, &opened); !s.ok()) return s;
    hellos_.push_back(hello);
  }
  return Status();
}

Status Runner::stop() {
  for (auto& [way, job] : jobs_) {
    if (Status s = job.stop(); !s.ok()) return s;
    note_output(job.name(), job.output(), &notes_);
  }
  return Status();
}

Result<json> Runner::row(const Row& row, double budget) {
  const double start = monotonic_seconds();
  std::vector<Job*> taking_part;
  std::vector<Way> ways;
  std::map<const Job*, std::string> commands;
  for (auto& [way, job] : jobs_) {
    if (row.operation->command[way] == nullptr) continue;
    taking_part.push_back(&job);
    ways.push_back(way);
    commands[&job] = row.operation->command[way];
  }
  Contest contest(taking_part);
  const auto verify = [&] {
    seed_++;
    for (Job* job : taking_part) {
      Answer answer;
      const std::string command = "verify " + commands[job] + " " + std::to_string(seed_);
      if (Status s = contest.ask(job, command, &answer); !s.ok()) return s;
    }
    return Status();
  };
  const auto command = [&](const Job& job, const Repetitions& r) {
    return "time " + commands[&job] + " " + std::to_string(r.warm) + " " + std::to_string(r.n) + " " +
           std::to_string(r.blocks);
  };
  if (Status s = contest.ask_all(shape_command(row.section)); !s.ok()) return s;
  if (Status s = verify(); !s.ok()) return s;
  if (contest.failure().empty()) {
    const Turns turns{std::max(0.02, budget - (monotonic_seconds() - start)), options_.rounds, 0,
                      row.operation->parts};
    if (Status s = contest.take_turns(turns, command, [] { return Status(); }); !s.ok()) return s;
    if (Status s = verify(); !s.ok()) return s;
  }

  json r = {{"operation", row.operation->name},     {"pattern", row.pattern()}, {"section", row.section.name},
            {"bytes", row.section.bytes()},         {"plain_us", nullptr},      {"tasuki_us", nullptr},
            {"verified", contest.failure().empty()}};
  if (!contest.failure().empty()) r["failure"] = contest.failure();
  std::map<Way, double> us;
  bool noisy = false;
  for (size_t i = 0; i < contest.size(); i++) {
    const Contestant& c = contest.contestant(i);
    if (c.medians.empty()) return r;
    us[ways[i]] = c.median_us();
    r[kColumns[ways[i]]] = round4(c.median_us());
    noisy = noisy || c.noisy();
  }
  const Contestant &plain = contest.contestant(0), &tasuki = contest.contestant(contest.size() - 1);
  r["plain_us"] = round4(plain.median_us());
  r["tasuki_us"] = round4(tasuki.median_us());
  r["plain_spread_us"] = plain.spread();
  r["tasuki_spread_us"] = tasuki.spread();
  r["ratio"] = round4(plain.median_us() / tasuki.median_us());
  r["noisy"] = noisy;
  const double faster = us.contains(messages) ? std::min(us[messages], us[windows]) : us[windows];
  if (us.contains(messages) && us.contains(under_run))
    r["of_send"] = round4(us[under_run] / (row.operation->sections ? faster : us[messages]));
  r["of_rma"] = round4(us[by_window] / (row.operation->sections ? faster : us[windows]));
  return r;
}

Result<json> Runner::run(const std::function<void(const DdtProgress&)>& progress) {
  const Result<std::vector<Row>> wanted = rows_of(options_);
  if (!wanted.ok()) return wanted.status();
  const std::vector<Row>& all = wanted.value();
  uint64_t elements = 0;
  for (const Row& r : all) elements = std::max(elements, elements_of(r.section));
  if (Status s = start(elements); !s.ok()) return s;
  if (usable_cores() < 2) notes_.push_back("there is one core only: the two images take turns on it");

  json rows = json::array();
  bool verified = true;
  std::vector<double> ratios;
  const double seconds = options_.seconds > 0 ? options_.seconds : static_cast<double>(all.size());
  const double end = monotonic_seconds() + seconds, fair = seconds / static_cast<double>(all.size());
  for (size_t i = 0; i < all.size(); i++) {
    progress({static_cast<int>(i + 1), static_cast<int>(all.size()), end - monotonic_seconds(),
              all[i].pattern() + ", " + std::to_string(all[i].section.bytes()) + " bytes"});
    // A slow row must not take away what the later ones need for a sound median.
    Result<json> measured =
        row(all[i], std::max(fair / 2, (end - monotonic_seconds()) / static_cast<double>(all.size() - i)));
    if (!measured.ok()) return measured.status();
    const json& r = measured.value();
    verified = verified && r["verified"].get<bool>();
    if (r.contains("ratio")) ratios.push_back(r["ratio"]);
    rows.push_back(r);
  }
  if (Status s = stop(); !s.ok()) return s;

  json cores = json::array();
  for (const Fields& rank : hellos_[0].values) cores.push_back(text(rank, "cores"));
  return json{{"benchmark", "coarray"},
              {"format", 1},
              {"date", utc_time()},
              {"mpi", options_.mpi.name},
              {"where", options_.where},
              {"machine", describe_machine()},
              {"versions", versions(hellos_[0].values[0])},
              {"settings",
               {{"rounds", options_.rounds},
                {"seconds", seconds},
                {"rank_cores", cores},
                {"runner", options_.default_runner ? "tasuki run" : joined(options_.runner)},
                {"launch_args", options_.launch_args},
                {"environment", environment_settings()}}},
              {"rows", rows},
              {"contiguous", json::array()},
              {"geomean", ratios.empty() ? json() : json(round4(geometric_mean(ratios)))},
              {"verified", verified},
              {"notes", notes_}};
}

}  // namespace

const std::vector<CoarraySection>& coarray_sections() {
  static const std::vector<CoarraySection> all = {
      {"column of 64 x 64", {1, 64, 64}, {0, 0, 5}, {1, 64, 1}},
      {"column of 1024 x 1024", {1, 1024, 1024}, {0, 0, 5}, {1, 1024, 1}},
      {"pair of columns of 1024 x 1024", {1, 1024, 1024}, {0, 0, 5}, {1, 1024, 2}},
      {"inner square of 256 x 256", {1, 256, 256}, {0, 1, 1}, {1, 254, 254}},
      {"ik plane of 16 x 16 x 16", {16, 16, 16}, {0, 1, 0}, {16, 1, 16}},
      {"ij plane of 16 x 16 x 16", {16, 16, 16}, {0, 0, 1}, {16, 16, 1}},
      {"ik plane of 64 x 64 x 256", {64, 64, 256}, {1, 1, 1}, {62, 1, 254}},
      {"ij plane of 64 x 64 x 256", {64, 64, 256}, {1, 1, 1}, {62, 62, 1}},
  };
  return all;
}

Result<json> run_coarray(const CoarrayOptions& options,
                         const std::function<void(const DdtProgress&)>& progress) {
  catch_interrupts();
  permit_root();
  return Runner(options).run(progress);
}

}  // namespace tasuki::bench
