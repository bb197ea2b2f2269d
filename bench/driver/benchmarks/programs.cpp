#include "bench/driver/benchmarks/programs.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>

#include "bench/driver/benchmarks/source_lines.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/figures/text.h"
#include "bench/driver/jobs/child.h"
#include "bench/driver/jobs/machine.h"
#include "bench/driver/jobs/whole_program.h"
#include "os/files/temporary_folder.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

struct Program {
  const char *name, *unit;
  std::vector<std::string> sizes;
  const char *size, *size_macro, *rows_macro, *columns_macro;  // `size` is measured if none is given
  std::vector<std::string> versions;
  std::map<std::string, int> paper_lines;  // its table 2
};

const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
      {"himeno",
       "MFLOPS",
       {"XS", "S", "M", "L"},
       "M",
       "SIZE",
       "NDI",
       "NDJ",
       {"seq", "mpi", "mpi_get", "global", "local", "nonblock"},
       {{"seq", 146}, {"mpi", 398}, {"global", 198}, {"local", 395}}},
      {"cg",
       "Mop/s",
       {"S", "W", "A", "B", "C"},
       "A",
       "CLASS",
       "PROWS",
       "PCOLS",
       {"seq", "mpi", "mpi_get", "global", "local", "nonblock"},
       {{"seq", 444}, {"mpi", 769}, {"global", 609}, {"local", 768}}},
  };
  return all;
}

const Program* find_program(const std::string& name) {
  for (const Program& p : programs())
    if (name == p.name) return &p;
  return nullptr;
}

struct Grid {
  int rows = 1, columns = 1;
  std::string text() const { return std::to_string(rows) + "x" + std::to_string(columns); }
};

// As many rows as columns or more for Himeno, whose planes of i are whole; CG wants it the other way round,
// and powers of two.
Grid grid_of(const std::string& program, int ranks) {
  int small = 1;
  for (int n = 1; n * n <= ranks; n++)
    if (ranks % n == 0) small = n;
  return program == "cg" ? Grid{small, ranks / small} : Grid{ranks / small, small};
}

bool has_coarrays(const std::string& version) {
  return version == "global" || version == "local" || version == "nonblock";
}

template <typename Items>
std::string title_of(const Items& items, const std::string& name) {
  for (const auto& item : items)
    if (name == item.name) return item.title;
  return name;
}

// One version of one program in one size on one grid, and how it is started.
struct Entry {
  const Program* program;
  std::string size, version, way;
  int ranks;
  std::string failure{};                               // why it is not run, or not any more
  bool wrong = false;                                  // it ran, and its result was wrong
  std::map<std::string, std::vector<double>> times{};  // by the JSON's names
  std::vector<double> performance{};

  Grid grid() const { return grid_of(program->name, ranks); }
  std::string binary() const {
    return std::string(program->name) + "_" + version + "-" + size + "-" + grid().text();
  }
  std::string pattern() const {
    return std::string(program->name) + " " + size + ", " + std::to_string(ranks) +
           (ranks == 1 ? " rank, " : " ranks, ") + title_of(program_versions(), version) + ", " +
           title_of(program_ways(), way);
  }
};

Result<std::vector<Entry>> entries_of(const ProgramsOptions& options) {
  std::vector<Entry> all;
  const std::regex wanted(options.pattern.empty() ? ".*" : options.pattern);
  std::string names;
  const auto add = [&](const Entry& entry) {
    names += "\n  " + entry.pattern();
    if (std::regex_search(entry.pattern(), wanted)) all.push_back(entry);
  };
  for (const std::string& text : options.programs) {
    const size_t colon = text.find(':');
    const Program* program = find_program(text.substr(0, colon));
    const std::string size = text.substr(colon + 1);
    add({program, size, "seq", "plain", 1});
    for (const int ranks : options.ranks)
      for (const std::string& version : program->versions) {
        if (version == "seq") continue;
        for (const ProgramWay& way : program_ways())
          if (strcmp(way.name, "windows") != 0 || has_coarrays(version))
            add({program, size, version, way.name, ranks});
      }
  }
  if (all.empty())
    return Status::error(ENOENT, "--pattern '" + options.pattern + "' matches none of these rows:" + names);
  return all;
}

class Runner {
 public:
  explicit Runner(const ProgramsOptions& options) : options_(options), notes_(load_notes()) {}
  Result<json> run(const std::function<void(const DdtProgress&)>& progress);

 private:
  Status say_hello();
  std::string source_of(const Entry& e) const {
    return options_.sources + "/" + e.program->name + "/" + e.program->name + "_" + e.version + ".c";
  }
  Status compile(const Entry& e, std::string* failure);
  Status measure(Entry* e);
  std::vector<std::string> command_of(const Entry& e) const;
  json row(const Entry& e, const std::vector<Entry>& all) const;
  json lines(const std::vector<Entry>& all) const;

  const ProgramsOptions& options_;
  std::vector<std::string> notes_;
  os::TemporaryFolder folder_;  // for the compiled programs
  Answer hello_;
};

// What library this is, by the program of `tasuki bench coarray`.
Status Runner::say_hello() {
  Job job({"MPI", launch_command(options_.mpi, 2, 1, options_.launch_args), {}, options_.program});
  if (Status s = job.start(kStartTimeout, &hello_); !s.ok()) return s;
  return job.stop();
}

Status Runner::compile(const Entry& e, std::string* failure) {
  const Grid grid = e.grid();
  std::vector<std::string> command = {has_coarrays(e.version) ? options_.tasukicc : options_.mpicc};
  command.insert(command.end(), options_.flags.begin(), options_.flags.end());
  const std::string define = "-D";
  for (const std::string& word :
       {define + e.program->size_macro + "=" + e.size,
        define + e.program->rows_macro + "=" + std::to_string(grid.rows),
        define + e.program->columns_macro + "=" + std::to_string(grid.columns), source_of(e),
        std::string("-o"), folder_.path() + "/" + e.binary(), std::string("-lm")})
    command.push_back(word);
  return compile_program(e.binary(), command, {"MPICC=" + options_.mpicc}, options_.timeout, failure,
                         &notes_);
}

std::vector<std::string> Runner::command_of(const Entry& e) const {
  std::vector<std::string> command;
  if (e.version != "seq") command = launch_command(options_.mpi, e.ranks, 1, options_.launch_args);
  if (e.way == "run") command.insert(command.end(), options_.runner.begin(), options_.runner.end());
  command.push_back(folder_.path() + "/" + e.binary());
  if (strcmp(e.program->name, "himeno") == 0) command.push_back(std::to_string(options_.iterations));
  return command;
}

Status Runner::measure(Entry* e) {
  std::vector<std::string> environment;
  if (has_coarrays(e->version))
    environment.push_back(std::string("TASUKI_COARRAY=") + (e->way == "windows" ? "window" : "auto"));
  ProgramRun run;
  const json expected = {
      {"program", e->program->name}, {"version", e->version}, {"size", e->size}, {"processes", e->ranks}};
  if (Status s = run_program(command_of(*e), environment, options_.timeout, expected, &run); !s.ok())
    return s;
  e->failure = run.failure;
  e->wrong = run.wrong;
  if (!run.failure.empty()) return Status();
  e->times["seconds"].push_back(run.result["seconds_per_iteration"]);
  for (const char* part : {"compute", "communication", "reduction"})
    e->times[part].push_back(run.result[part]);
  e->performance.push_back(run.result["performance"]);
  return Status();
}

// Eight digits: a part of an iteration may be a microsecond.
double round8(double value) {
  return std::round(value * 1e8) / 1e8;
}

json Runner::row(const Entry& e, const std::vector<Entry>& all) const {
  json r = {{"program", e.program->name}, {"size", e.size},          {"ranks", e.ranks},
            {"grid", e.grid().text()},    {"version", e.version},    {"way", e.way},
            {"pattern", e.pattern()},     {"unit", e.program->unit}, {"verified", e.failure.empty()}};
  if (!e.failure.empty()) {
    r["failure"] = e.failure;
    r["finished"] = e.wrong;
    return r;
  }
  const std::vector<double>& seconds = e.times.at("seconds");
  for (const auto& [name, values] : e.times) r[name] = round8(median(values));
  const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
  r["best_seconds"] = round8(*low);
  r["spread_seconds"] = {round8(*low), round8(*high)};
  r["noisy"] = *high > 1.5 * *low;
  r["performance"] = std::round(10 * median(e.performance)) / 10;
  for (const Entry& other : all) {
    if (other.program != e.program || other.size != e.size || other.ranks != e.ranks ||
        other.version != "mpi" || !other.failure.empty())
      continue;
    const double quotient = round4(median(other.times.at("seconds")) / median(seconds));
    if (e.version == "seq") continue;
    if (other.way == "plain") r["of_send"] = quotient;
    if (other.way == "run" && e.way == "run") r["of_send_same"] = quotient;
  }
  return r;
}

json Runner::lines(const std::vector<Entry>& all) const {
  json found = json::array();
  std::vector<std::string> counted;
  for (const Entry& e : all) {
    const std::string source = source_of(e);
    if (std::find(counted.begin(), counted.end(), source) != counted.end()) continue;
    counted.push_back(source);
    const Result<SourceLines> lines = count_source_lines(source);
    if (!lines.ok()) continue;  // the compiler says so of the version's rows
    json line = {{"program", e.program->name},
                 {"version", e.version},
                 {"own", lines.value().own},
                 {"shared", lines.value().shared}};
    const auto paper = e.program->paper_lines.find(e.version);
    if (paper != e.program->paper_lines.end()) line["paper"] = paper->second;
    found.push_back(line);
  }
  return found;
}

Result<json> Runner::run(const std::function<void(const DdtProgress&)>& progress) {
  Result<std::vector<Entry>> wanted = entries_of(options_);
  if (!wanted.ok()) return wanted.status();
  std::vector<Entry>& all = wanted.value();
  if (Status s = folder_.make("tasuki-bench"); !s.ok()) return s;
  if (Status s = say_hello(); !s.ok()) return s;

  std::map<std::string, std::string> compiled;  // binary -> why there is none
  const int steps = static_cast<int>(all.size()) * (options_.rounds + 1);
  const double start = monotonic_seconds();
  int step = 0;
  const auto advance = [&](const Entry& e, const char* what) {
    step++;
    progress({step, steps, (monotonic_seconds() - start) / step * (steps - step), what + e.pattern()});
  };
  for (Entry& e : all) {
    if (!compiled.contains(e.binary())) {
      std::string failure;
      if (Status s = compile(e, &failure); !s.ok()) return s;
      compiled[e.binary()] = failure;
    }
    e.failure = compiled[e.binary()];
    advance(e, "compiled: ");
  }
  // Each round begins with another, so that none always follows the same.
  for (int round = 0; round < options_.rounds; round++)
    for (size_t i = 0; i < all.size(); i++) {
      Entry& e = all[(i + static_cast<size_t>(round)) % all.size()];
      if (e.failure.empty())
        if (Status s = measure(&e); !s.ok()) return s;
      advance(e, "");
    }

  json rows = json::array();
  bool verified = true;
  std::vector<double> gains;
  for (const Entry& e : all) {
    rows.push_back(row(e, all));
    verified = verified && e.failure.empty();
    if (e.ranks > usable_cores() && (notes_.empty() || !notes_.back().starts_with("more ranks")))
      notes_.push_back("more ranks than cores: they take turns");
    for (const Entry& plain : all)
      if (e.way == "run" && plain.way == "plain" && plain.binary() == e.binary() && e.failure.empty() &&
          plain.failure.empty())
        gains.push_back(median(plain.times.at("seconds")) / median(e.times.at("seconds")));
  }
  return json{{"benchmark", "coarray-programs"},
              {"format", 1},
              {"date", utc_time()},
              {"mpi", options_.mpi.name},
              {"machine", describe_machine()},
              {"versions", versions(hello_.values[0])},
              {"settings",
               {{"rounds", options_.rounds},
                {"iterations", options_.iterations},
                {"flags", joined(options_.flags)},
                {"mpicc", options_.mpicc},
                {"runner", options_.default_runner ? "tasuki run" : joined(options_.runner)},
                {"launch_args", options_.launch_args},
                {"environment", environment_settings()}}},
              {"rows", rows},
              {"contiguous", json::array()},
              {"lines", lines(all)},
              {"geomean", gains.empty() ? json() : json(round4(geometric_mean(gains)))},
              {"verified", verified},
              {"notes", notes_}};
}

}  // namespace

const std::vector<ProgramVersion>& program_versions() {
  static const std::vector<ProgramVersion> all = {
      {"seq", "sequential", "seq"},        {"mpi", "Send/Recv", "s/r"},
      {"mpi_get", "one-sided get", "get"}, {"global", "global view", "G"},
      {"local", "local view", "L"},        {"nonblock", "local view nonblocking", "L nb"}};
  return all;
}

const std::vector<ProgramWay>& program_ways() {
  static const std::vector<ProgramWay> all = {
      {"plain", "plain"}, {"windows", "windows"}, {"run", "tasuki run"}};
  return all;
}

Result<std::string> program_with_size(const std::string& text) {
  const size_t colon = text.find(':');
  const Program* program = find_program(text.substr(0, colon));
  if (program == nullptr)
    return Status::error(EINVAL, "--programs " + text + ": the programs are himeno and cg");
  const std::string size = colon == std::string::npos ? program->size : text.substr(colon + 1);
  if (std::find(program->sizes.begin(), program->sizes.end(), size) == program->sizes.end())
    return Status::error(
        EINVAL, "--programs " + text + ": " + program->name + " has the sizes " + joined(program->sizes));
  return program->name + (":" + size);
}

Result<json> run_programs(const ProgramsOptions& options,
                          const std::function<void(const DdtProgress&)>& progress) {
  catch_interrupts();
  permit_root();
  return Runner(options).run(progress);
}

}  // namespace tasuki::bench
