#include "bench/driver/ddt.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <regex>
#include <sstream>

#include "bench/driver/job.h"
#include "bench/driver/machine.h"
#include "bench/driver/stats.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

constexpr double kNoisy = 1.5;  // slowest over fastest round of a job, above which a row is called noisy
constexpr double kStartTimeout = 60, kAnswerTimeout = 60;  // seconds

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double number(const Fields& fields, const std::string& key) {
  const auto at = fields.find(key);
  return at == fields.end() ? NAN : std::strtod(at->second.c_str(), nullptr);
}

std::string text(const Fields& fields, const std::string& key) {
  const auto at = fields.find(key);
  return at == fields.end() ? "" : at->second;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Rank 0 on the first core and rank 1 on the second, where there are two.
std::vector<std::string> launcher(const DdtOptions& o) {
  std::vector<std::string> words = {o.mpirun, "-n", std::to_string(kRanks)};
  const bool enough = usable_cores() >= kRanks;
  if (o.mpi == "openmpi") {
    if (enough)
      words.insert(words.end(), {"--map-by", "core", "--bind-to", "core"});
    else
      words.insert(words.end(), {"--oversubscribe", "--bind-to", "none"});
  } else if (enough) {
    words.insert(words.end(), {"-bind-to", "core"});
  }
  words.insert(words.end(), o.launch_args.begin(), o.launch_args.end());
  return words;
}

// One of the two contestants of a row.
struct Contestant {
  Job* job;
  double round_trip_us = 0;       // by the last command's median
  double wall_us = 0;             // a round trip of the last command on average, with all interruptions
  std::vector<double> medians{};  // half round trips, one per round
  double round_trips = 0;
};

class Measurement {
 public:
  Measurement(const DdtOptions& options, Job* plain, Job* tasuki) : options_(options), jobs_{plain, tasuki} {}

  // Measures one row within about `budget` seconds. A failed verification is a result, not an error.
  Result<json> row(const Fields& description, double budget);

 private:
  Status ask(Job* job, const std::string& command, Answer* answer) {
    Status status = job->ask(command, kAnswerTimeout, answer);
    if (status.ok() && !answer->wrong.empty() && failure_.empty())
      failure_ = job->name() + ": " + answer->wrong;
    return status;
  }
  Status time(Contestant* c, Repetitions r) {
    Answer answer;
    char command[160];
    snprintf(command, sizeof command, "time %u %d %ld %ld %d", ++seed_, options_.touch ? 1 : 0, r.warm, r.n,
             r.blocks);
    const double start = now();
    if (Status s = ask(c->job, command, &answer); !s.ok()) return s;
    c->round_trip_us = 2 * number(answer.values[0], "median");
    c->wall_us = (now() - start) * 1e6 / static_cast<double>(r.warm + r.n * r.blocks);
    return Status();
  }
  Status verify_both() {
    Answer answer;
    for (Job* job : jobs_)
      if (Status s = ask(job, "verify " + std::to_string(++seed_), &answer); !s.ok()) return s;
    return Status();
  }
  Status rounds(Contestant (&contestants)[2], double budget, std::vector<double>* memcpy_us,
                std::vector<double>* direct_us);

  const DdtOptions& options_;
  Job* jobs_[2];
  unsigned seed_ = 1;
  std::string failure_;  // of the current row
};

Status Measurement::rounds(Contestant (&contestants)[2], double budget, std::vector<double>* memcpy_us,
                           std::vector<double>* direct_us) {
  const double end = now() + budget;
  // How long a round trip takes: twice, because the first answer decides how often it is done for the second.
  for (Contestant& c : contestants) {
    if (Status s = time(&c, {3, 1, kFewestBlocks}); !s.ok()) return s;
    if (Status s = time(&c, repetitions(c.round_trip_us, c.wall_us, 2000)); !s.ok()) return s;
  }
  const double limits_us = std::clamp(budget * 1e6 / (options_.rounds * 12), 500.0, 20000.0);
  for (int round = 0; round < options_.rounds && failure_.empty(); round++) {
    for (int turn = 0; turn < 2; turn++) {
      Contestant& c = contestants[(round + turn) % 2];
      const double turns_left = 2 * (options_.rounds - round) - turn;
      const double share_us = std::max(0.0, end - now()) * 1e6 / turns_left - limits_us / 2;
      Repetitions r = repetitions(c.round_trip_us, c.wall_us, share_us);
      if (options_.iterations > 0)
        r.blocks =
            static_cast<int>(std::min<long>(options_.iterations / (options_.rounds * r.n) + 1, kMostBlocks));
      if (Status s = time(&c, r); !s.ok()) return s;
      c.medians.push_back(c.round_trip_us / 2);
      c.round_trips += static_cast<double>(r.n) * r.blocks;
    }
    Answer answer;
    if (Status s = ask(jobs_[0], "limits " + std::to_string(limits_us), &answer); !s.ok()) return s;
    memcpy_us->push_back(number(answer.values[0], "memcpy"));
    direct_us->push_back(number(answer.values[0], "direct"));
  }
  return Status();
}

Result<json> Measurement::row(const Fields& description, double budget) {
  const double start = now();
  failure_.clear();
  Answer answer;
  for (Job* job : jobs_)
    if (Status s = ask(job, "open " + text(description, "index"), &answer); !s.ok()) return s;
  if (Status s = verify_both(); !s.ok()) return s;

  Contestant contestants[2] = {{jobs_[0]}, {jobs_[1]}};
  std::vector<double> memcpy_us, direct_us;
  if (failure_.empty())
    if (Status s = rounds(contestants, budget - (now() - start), &memcpy_us, &direct_us); !s.ok()) return s;
  if (failure_.empty())
    if (Status s = verify_both(); !s.ok()) return s;
  for (Job* job : jobs_)
    if (Status s = ask(job, "close", &answer); !s.ok()) return s;

  const auto digits = [](double us) { return std::round(us * 1e4) / 1e4; };
  const auto or_null = [&digits](const std::vector<double>& values) {
    return values.empty() ? json() : json(digits(median(values)));
  };
  json result = {{"pattern", text(description, "pattern")},
                 {"description", text(description, "description")},
                 {"bytes", std::strtoll(text(description, "bytes").c_str(), nullptr, 10)},
                 {"plain_us", or_null(contestants[0].medians)},
                 {"tasuki_us", or_null(contestants[1].medians)},
                 {"memcpy_us", or_null(memcpy_us)},
                 {"direct_us", or_null(direct_us)},
                 {"verified", failure_.empty()}};
  const char* const spread_names[] = {"plain_spread_us", "tasuki_spread_us"};
  const char* const count_names[] = {"plain_round_trips", "tasuki_round_trips"};
  for (int c = 0; c < 2; c++) {
    const std::vector<double>& m = contestants[c].medians;
    if (m.empty()) continue;
    const auto [low, high] = std::minmax_element(m.begin(), m.end());
    result[spread_names[c]] = {digits(*low), digits(*high)};
    result[count_names[c]] = contestants[c].round_trips;
  }
  if (!contestants[0].medians.empty() && !contestants[1].medians.empty()) {
    const auto best = [&contestants](int c) {
      return *std::min_element(contestants[c].medians.begin(), contestants[c].medians.end());
    };
    result["best_ratio"] = std::round(best(0) / best(1) * 1e4) / 1e4;
    bool noisy = false;
    for (const char* name : spread_names)
      noisy = noisy || result[name][1].get<double>() > kNoisy * result[name][0].get<double>();
    result["noisy"] = noisy;
    result["ratio"] = std::round(median(contestants[0].medians) / median(contestants[1].medians) * 1e4) / 1e4;
  }
  if (!failure_.empty()) result["failure"] = failure_;
  return result;
}

std::vector<std::string> environment_settings() {
  std::vector<std::string> found;
  for (char** e = environ; *e != nullptr; e++)
    for (const char* prefix : {"TASUKI", "OMPI_MCA_", "MPICH_", "MPIR_CVAR_", "UCX_"})
      if (std::string(*e).rfind(prefix, 0) == 0) found.push_back(*e);
  std::sort(found.begin(), found.end());
  return found;
}

std::string utc_time() {
  char text[32];
  const time_t t = time(nullptr);
  tm parts{};
  gmtime_r(&t, &parts);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

json versions(const Fields& hello) {
  std::string library = text(hello, "mpi");
  library = library.substr(0, std::min(library.find(';'), library.find(", package")));
  return {{"tasuki", TASUKI_VERSION},
          {"mpi", library},
          {"mpi_full", text(hello, "mpi")},
          {"compiler", text(hello, "compiler")}};
}

// What a reader must know that is not a failure.
std::vector<std::string> notes(const DdtOptions& options, const Answer& plain, const Answer& tasuki) {
  std::vector<std::string> found;
  for (int r = 0; r < kRanks; r++) {
    const std::string a = text(plain.values[r], "cores"), b = text(tasuki.values[r], "cores");
    if (a != b)
      found.push_back("rank " + std::to_string(r) + " runs on core " + a + " in plain MPI and on core " + b +
                      " under Tasuki: the jobs are bound differently");
  }
  if (usable_cores() < kRanks) found.push_back("there is one core only: the two ranks take turns on it");
  if (options.touch)
    found.push_back("every message includes writing the sent and reading the received lines");
  return found;
}

json rounded_mean(const std::vector<double>& ratios) {
  return ratios.empty() ? json() : json(std::round(geometric_mean(ratios) * 1e4) / 1e4);
}

// Splits what the Tasuki job wrote into the statistics lines of its ranks ("tasuki: rank 0: sent=12 ..."), of
// which it returns the sum of messages sent, and the rest.
double messages_sent(const std::string& output, std::string* rest) {
  std::istringstream lines(output);
  double sent = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(" sent=");
    if (line.rfind("tasuki: rank ", 0) == 0 && at != std::string::npos)
      sent += std::strtod(line.c_str() + at + 6, nullptr);
    else
      *rest += line + "\n";
  }
  return sent;
}

void forward_output(const std::string& name, std::string output, std::vector<std::string>* found) {
  while (!output.empty() && output.back() == '\n') output.pop_back();
  if (!output.empty()) found->push_back("the " + name + " job wrote: " + output.substr(0, 2000));
}

}  // namespace

Result<json> run_ddt(const DdtOptions& options, const std::function<void(const DdtProgress&)>& progress) {
  catch_interrupts();
  if (geteuid() ==
      0) {  // Open MPI refuses to run as root unless told twice; in a container there may be nobody else
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  double load = 0;
  getloadavg(&load, 1);
  Job plain({"plain MPI", launcher(options), {}, options.program, {}});
  Job tasuki({"Tasuki", launcher(options), options.runner, options.program, {"TASUKI_STATS=1"}});
  Answer plain_hello, tasuki_hello, list;
  if (Status s = plain.start(kStartTimeout, &plain_hello); !s.ok()) return s;
  if (Status s = tasuki.start(kStartTimeout, &tasuki_hello); !s.ok()) return s;
  if (Status s = plain.ask("list", kAnswerTimeout, &list); !s.ok()) return s;

  std::vector<Fields> chosen;
  const std::regex wanted(options.pattern.empty() ? ".*" : options.pattern);
  std::string all;
  for (const Fields& row : list.rows) {
    const std::string name = text(row, "pattern") + "/" + text(row, "bytes");
    all += " " + name;
    if (std::regex_search(name, wanted)) chosen.push_back(row);
  }
  if (chosen.empty())
    return Status::error(ENOENT, "--pattern '" + options.pattern + "' matches none of these rows:" + all);

  json rows = json::array(), contiguous = json::array();
  bool verified = true;
  std::vector<double> ratios, best_ratios;
  const double seconds = options.seconds > 0 ? options.seconds : 1.1 * static_cast<double>(chosen.size());
  const double end = now() + seconds;
  Measurement measurement(options, &plain, &tasuki);
  for (size_t i = 0; i < chosen.size(); i++) {
    // A slow row must not take away what the later ones need for a sound median.
    const double fair = seconds / static_cast<double>(chosen.size());
    const double budget = std::max(fair / 2, (end - now()) / static_cast<double>(chosen.size() - i));
    Result<json> row = measurement.row(chosen[i], budget);
    if (!row.ok()) return row.status();
    const json& r = row.value();
    verified = verified && r["verified"];
    const bool typed = text(chosen[i], "contiguous") != "1";
    (typed ? rows : contiguous).push_back(r);
    if (typed && r["verified"]) {
      ratios.push_back(r["ratio"]);
      best_ratios.push_back(r["best_ratio"]);
    }
    progress({static_cast<int>(i + 1), static_cast<int>(chosen.size()), end - now(),
              text(chosen[i], "pattern") + ", " + text(chosen[i], "bytes") + " bytes"});
  }
  if (Status s = plain.stop(); !s.ok()) return s;
  if (Status s = tasuki.stop(); !s.ok()) return s;

  std::vector<std::string> remarks = notes(options, plain_hello, tasuki_hello);
  if (load > 0.5)
    remarks.push_back("the machine was busy before the run (load " + std::to_string(load).substr(0, 4) +
                      "): trust the mean of the best rounds more than the medians");
  std::string rest;
  const double sent = messages_sent(tasuki.output(), &rest);
  if (options.default_runner && sent == 0)
    remarks.push_back(
        "Tasuki moved no message in the second job: both columns are plain MPI; see `tasuki doctor`");
  forward_output(plain.name(), plain.output(), &remarks);
  forward_output(tasuki.name(), rest, &remarks);
  std::string runner;
  for (const std::string& word : options.runner) runner += (runner.empty() ? "" : " ") + word;
  const json cores = {text(plain_hello.values[0], "cores"), text(plain_hello.values[1], "cores")};
  return json{{"benchmark", "ddt"},
              {"format", 1},
              {"date", utc_time()},
              {"mpi", options.mpi},
              {"machine", describe_machine()},
              {"versions", versions(plain_hello.values[0])},
              {"settings",
               {{"rounds", options.rounds},
                {"seconds", seconds},
                {"iterations", options.iterations},
                {"touch", options.touch},
                {"rank_cores", cores},
                {"runner", options.default_runner ? "tasuki run" : runner},
                {"launch_args", options.launch_args},
                {"environment", environment_settings()}}},
              {"rows", rows},
              {"contiguous", contiguous},
              {"geomean", rounded_mean(ratios)},
              {"geomean_best_rounds", rounded_mean(best_ratios)},
              {"verified", verified},
              {"tasuki_messages", sent},
              {"notes", remarks}};
}

}  // namespace tasuki::bench
