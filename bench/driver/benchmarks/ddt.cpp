#include "bench/driver/benchmarks/ddt.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <regex>

#include "bench/driver/figures/text.h"
#include "bench/driver/jobs/contest.h"
#include "bench/driver/jobs/machine.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

json or_null(const std::vector<double>& values) {
  return values.empty() ? json() : json(round4(median(values)));
}

// The jobs of a run: the first is the library that Tasuki runs on, then come its peers, then Tasuki itself,
// first as it is, then with helper threads.
class Measurement {
 public:
  explicit Measurement(const DdtOptions& options) : options_(options) {}

  Status start();
  Status stop();
  // Measures one row within about `budget` seconds. A failed verification is a result, not an error.
  Result<json> row(const Fields& description, double budget);

  std::deque<Job> jobs;
  std::vector<Answer> hellos;
  size_t libraries = 1;  // so many first jobs are plain MPI libraries
  Job& tasuki() { return jobs[libraries]; }

 private:
  JobSpec job(const std::string& name, const Mpi& mpi, const std::string& program) const;
  void add_tasuki(const std::string& name, const char* threads);
  Status messages(double budget, bool touch, Contest* contest);
  Status packs(double budget, Contest* contest);
  void add_times(const Contest& contest, const std::string& prefix, json* result) const;
  void add_limit(const Contestant& tasuki, json* result) const;
  int other_core() const;

  const DdtOptions& options_;
  unsigned seed_ = 1;
  bool unpack_ = false;
  // Crossing and what is in it of touching at home.
  std::vector<double> memcpy_us_, direct_us_, crossing_us_, crossing_touching_us_;
};

JobSpec Measurement::job(const std::string& name, const Mpi& mpi, const std::string& program) const {
  // One process packs: its helper threads may have the other cores.
  const int ranks = options_.pack ? 1 : 2;
  const bool ours = mpi.mpirun == options_.mpi.mpirun;
  JobSpec spec{name,
               launch_command(mpi, ranks, options_.pack ? 0 : 1,
                              ours ? options_.launch_args : std::vector<std::string>()),
               {},
               program};
  spec.ranks = ranks;
  return spec;
}

void Measurement::add_tasuki(const std::string& name, const char* threads) {
  JobSpec spec = job(name, options_.mpi, options_.program);
  spec.runner = options_.runner;
  spec.environment.push_back("TASUKI_STATS=1");
  if (threads != nullptr) spec.environment.push_back(std::string("TASUKI_THREADS=") + threads);
  jobs.emplace_back(spec);
}

Status Measurement::start() {
  jobs.emplace_back(job("plain MPI", options_.mpi, options_.program));
  for (const Peer& p : options_.peers) {
    JobSpec spec = job(p.mpi.name, p.mpi, p.program);
    spec.environment = p.environment;
    jobs.emplace_back(spec);
  }
  libraries = jobs.size();
  add_tasuki("Tasuki", options_.pack ? "0" : nullptr);
  if (options_.pack)
    for (const int n : options_.helpers)
      add_tasuki("Tasuki, " + std::to_string(n) + " helpers", std::to_string(n).c_str());
  hellos.resize(jobs.size());
  for (size_t i = 0; i < jobs.size(); i++)
    if (Status s = jobs[i].start(kStartTimeout, &hellos[i]); !s.ok()) return s;
  Answer answer;
  for (Job& job : jobs)
    if (!options_.events.empty())
      if (Status s = job.ask("count " + joined(options_.events), kAnswerTimeout, &answer); !s.ok()) return s;
  return Status();
}

Status Measurement::stop() {
  for (Job& job : jobs)
    if (Status s = job.stop(); !s.ok()) return s;
  return Status();
}

// The core of the second rank, or if that is the first one's, too, any other; -1 if there is none.
int Measurement::other_core() const {
  const std::vector<Fields>& ranks = hellos[0].values;
  const int first = std::atoi(text(ranks.front(), "cores").c_str());
  const int second = std::atoi(text(ranks.back(), "cores").c_str());
  if (second != first) return second;
  for (const int core : usable_core_list())
    if (core != first) return core;
  return -1;
}

Status Measurement::messages(double budget, bool touch, Contest* contest) {
  const auto verify_all = [&] { return contest->ask_all("verify " + std::to_string(++seed_)); };
  const double start = monotonic_seconds();
  if (Status s = verify_all(); !s.ok()) return s;
  if (!contest->failure().empty()) return Status();
  const double left = budget - (monotonic_seconds() - start);
  const double limits_us = std::clamp(left * 1e6 / (options_.rounds * 12), 500.0, 20000.0);
  const auto command = [this, touch](const Job&, const Repetitions& r) {
    char text[160];
    snprintf(text, sizeof text, "time %u %d %ld %ld %d", ++seed_, touch ? 1 : 0, r.warm, r.n, r.blocks);
    return std::string(text);
  };
  // Untouched messages have no crossing.
  const std::string core = std::to_string(touch ? other_core() : -1);
  const std::string limits = "limits " + std::to_string(limits_us) + " " + core;
  const auto measure_limits = [&] {
    Answer answer;
    if (Status s = contest->ask(&jobs[0], limits, &answer); !s.ok()) return s;
    memcpy_us_.push_back(number(answer.values[0], "memcpy"));
    direct_us_.push_back(number(answer.values[0], "direct"));
    const double crossing = number(answer.values[0], "crossing");
    if (std::isnan(crossing)) return Status();
    crossing_us_.push_back(crossing);
    crossing_touching_us_.push_back(number(answer.values[0], "touching"));
    return Status();
  };
  Turns turns{left, options_.rounds, options_.iterations, 2, kFewestBlocks, limits_us};
  turns.summed = options_.events;
  if (Status s = contest->take_turns(turns, command, measure_limits); !s.ok()) return s;
  return contest->failure().empty() ? verify_all() : Status();
}

Status Measurement::packs(double budget, Contest* contest) {
  const double limits_us = std::clamp(budget * 1e6 / (options_.rounds * 12), 500.0, 20000.0);
  const std::string direction = unpack_ ? "1" : "0";
  const auto command = [&](const Job&, const Repetitions& r) {
    char text[160];
    snprintf(text, sizeof text, "pack %s %ld %ld %d", direction.c_str(), r.warm, r.n, r.blocks);
    return std::string(text);
  };
  const auto limits = [&] {
    Answer answer;
    if (Status s = contest->ask(&jobs[0], "hand " + direction + " " + std::to_string(limits_us), &answer);
        !s.ok())
      return s;
    memcpy_us_.push_back(number(answer.values[0], "memcpy"));
    direct_us_.push_back(number(answer.values[0], "direct"));
    return Status();
  };
  return contest->take_turns({budget, options_.rounds, options_.iterations, 1, kFewestBlocks, limits_us},
                             command, limits);
}

void Measurement::add_times(const Contest& contest, const std::string& prefix, json* result) const {
  json times;
  const Contestant& tasuki = contest.contestant(libraries);
  size_t best = 0;
  for (size_t i = 1; i < libraries; i++)
    if (contest.contestant(i).median_us() < contest.contestant(best).median_us()) best = i;
  const Contestant& plain = contest.contestant(best);
  times["plain_us"] = or_null(plain.medians);
  times["tasuki_us"] = or_null(tasuki.medians);
  if (libraries > 1) {
    times["best_peer"] = best == 0 ? options_.mpi.name : jobs[best].name();
    for (size_t i = 0; i < libraries; i++)
      times["peers_us"][i == 0 ? options_.mpi.name : jobs[i].name()] = or_null(contest.contestant(i).medians);
  }
  for (size_t i = libraries + 1; i < contest.size(); i++)
    times["helpers_us"][std::to_string(options_.helpers[i - libraries - 1])] =
        or_null(contest.contestant(i).medians);
  if (!plain.medians.empty() && !tasuki.medians.empty()) {
    times["plain_spread_us"] = plain.spread();
    times["tasuki_spread_us"] = tasuki.spread();
    times["plain_round_trips"] = plain.repetitions;
    times["tasuki_round_trips"] = tasuki.repetitions;
    times["best_ratio"] = round4(plain.best_us() / tasuki.best_us());
    times["noisy"] = plain.noisy() || tasuki.noisy();
    times["ratio"] = round4(plain.median_us() / tasuki.median_us());
    if (options_.pack) times["ratio_direct"] = round4(median(direct_us_) / tasuki.median_us());
  }
  for (const std::string& event : options_.events) {
    const auto counted = [&](const Contestant& c) {
      const auto found = c.sums.find(event);
      return or_null(found == c.sums.end() ? std::vector<double>() : found->second);
    };
    times["counts"][event] = {{"plain", counted(plain)}, {"tasuki", counted(tasuki)}};
  }
  for (const auto& [key, value] : times.items()) (*result)[prefix + key] = value;
}

// Where much is touched, more than one core caches, two cores touch it faster than one: the difference may
// then be nothing. The ratio is that of whole times, touching included, which are always well above nothing.
void Measurement::add_limit(const Contestant& tasuki, json* result) const {
  if (crossing_us_.empty() || tasuki.medians.empty() || tasuki.touching.empty()) return;
  const double copy = median(memcpy_us_), touching = median(crossing_touching_us_);
  const double limit = std::max(median(crossing_us_), touching) + copy;
  (*result)["limit_us"] = round4(limit - touching);
  (*result)["touching_us"] = round4(median(tasuki.touching));
  (*result)["limit_ratio"] = round4(limit / (tasuki.median_us() + median(tasuki.touching)));
}

Result<json> Measurement::row(const Fields& description, double budget) {
  const double start = monotonic_seconds();
  std::vector<Job*> all;
  for (Job& job : jobs) all.push_back(&job);
  Contest contest(all);
  memcpy_us_.clear();
  direct_us_.clear();
  crossing_us_.clear();
  crossing_touching_us_.clear();
  if (Status s = contest.ask_all("open " + text(description, "index")); !s.ok()) return s;
  json result = {{"pattern", text(description, "pattern")},
                 {"description", text(description, "description")},
                 {"bytes", std::strtoll(text(description, "bytes").c_str(), nullptr, 10)}};
  const double left = budget - (monotonic_seconds() - start);
  std::string failure;
  if (options_.pack) {
    if (Status s = packs(left, &contest); !s.ok()) return s;
    add_times(contest, "", &result);
    failure = contest.failure();
    result["operation"] = unpack_ ? "unpack" : "pack";
    unpack_ = !unpack_;
  }
  const double parts = options_.touched && options_.untouched ? 2 : 1;
  for (const bool touch : {true, false}) {
    if (options_.pack || !failure.empty() || !(touch ? options_.touched : options_.untouched)) continue;
    contest.begin();
    if (Status s = messages(left / parts, touch, &contest); !s.ok()) return s;
    add_times(contest, touch ? "touched_" : "", &result);
    if (touch) add_limit(contest.contestant(libraries), &result);
    failure = contest.failure();
  }
  if (Status s = contest.ask_all("close"); !s.ok()) return s;

  result["memcpy_us"] = or_null(memcpy_us_);
  result["direct_us"] = or_null(direct_us_);
  result["verified"] = failure.empty();
  if (!failure.empty()) result["failure"] = failure;
  return result;
}

// What a reader must know that is not a failure.
std::vector<std::string> notes(const DdtOptions& options, const Answer& plain, const Answer& tasuki) {
  std::vector<std::string> found;
  for (size_t r = 0; r < plain.values.size(); r++) {
    const std::string a = text(plain.values[r], "cores"), b = text(tasuki.values[r], "cores");
    if (a != b)
      found.push_back("rank " + std::to_string(r) + " runs on core " + a + " in plain MPI and on core " + b +
                      " under Tasuki: the jobs are bound differently");
  }
  if (!options.pack && usable_cores() < 2)
    found.push_back("there is one core only: the two ranks take turns on it");
  return found;
}

std::string buffers_text(const DdtOptions& options) {
  if (options.pack || options.touched == options.untouched) return "both";
  return options.touched ? "touched" : "untouched";
}

// The geometric means of the columns that the rows have.
void add_means(const json& rows, json* document) {
  static constexpr std::pair<const char*, const char*> kMeans[] = {
      {"ratio", "geomean"},
      {"best_ratio", "geomean_best_rounds"},
      {"touched_ratio", "geomean_touched"},
      {"touched_best_ratio", "geomean_touched_best_rounds"},
      {"limit_ratio", "geomean_limit"},
      {"ratio_direct", "geomean_direct"}};
  for (const auto& [column, name] : kMeans) {
    std::vector<double> values;
    for (const json& r : rows)
      if (r["verified"] && r.contains(column)) values.push_back(r[column]);
    if (!values.empty()) (*document)[name] = round4(geometric_mean(values));
  }
  if (!document->contains("geomean")) (*document)["geomean"] = nullptr;
}

}  // namespace

Result<json> run_ddt(const DdtOptions& options, const std::function<void(const DdtProgress&)>& progress) {
  catch_interrupts();
  permit_root();
  const std::vector<std::string> busy = load_notes();
  Measurement measurement(options);
  Answer list;
  if (Status s = measurement.start(); !s.ok()) return s;
  if (Status s = measurement.jobs[0].ask("list", kAnswerTimeout, &list); !s.ok()) return s;

  std::vector<Fields> chosen;
  const std::regex wanted(options.pattern.empty() ? ".*" : options.pattern);
  std::string all;
  for (const Fields& row : list.rows) {
    const std::string name = text(row, "pattern") + "/" + text(row, "bytes");
    all += " " + name;
    if (!std::regex_search(name, wanted)) continue;
    chosen.push_back(row);
    if (options.pack) chosen.push_back(row);  // packed, then unpacked
  }
  if (chosen.empty())
    return Status::error(ENOENT, "--pattern '" + options.pattern + "' matches none of these rows:" + all);

  json rows = json::array(), contiguous = json::array();
  bool verified = true;
  const double each = 0.65 * static_cast<double>(measurement.jobs.size());
  const double seconds = options.seconds > 0 ? options.seconds : each * static_cast<double>(chosen.size());
  const double end = monotonic_seconds() + seconds;
  for (size_t i = 0; i < chosen.size(); i++) {
    // A slow row must not take away what the later ones need for a sound median.
    const double fair = seconds / static_cast<double>(chosen.size());
    const double budget =
        std::max(fair / 2, (end - monotonic_seconds()) / static_cast<double>(chosen.size() - i));
    Result<json> row = measurement.row(chosen[i], budget);
    if (!row.ok()) return row.status();
    const json& r = row.value();
    verified = verified && r["verified"];
    const bool typed = text(chosen[i], "contiguous") != "1";
    (typed ? rows : contiguous).push_back(r);
    progress({static_cast<int>(i + 1), static_cast<int>(chosen.size()), end - monotonic_seconds(),
              text(chosen[i], "pattern") + ", " + text(chosen[i], "bytes") + " bytes"});
  }
  if (Status s = measurement.stop(); !s.ok()) return s;

  const std::vector<Answer>& hellos = measurement.hellos;
  std::vector<std::string> remarks = notes(options, hellos[0], hellos[measurement.libraries]);
  remarks.insert(remarks.end(), busy.begin(), busy.end());
  double sent = 0;
  json peers = json::object();
  for (size_t i = 0; i < measurement.jobs.size(); i++) {
    const Job& job = measurement.jobs[i];
    std::string rest = job.output();
    if (i < measurement.libraries) {
      peers[i == 0 ? options.mpi.name : job.name()] = library_of(hellos[i].values[0]);
    } else {
      const std::string written = std::move(rest);
      rest.clear();
      sent += messages_sent(written, &rest);
    }
    note_output(job.name(), rest, &remarks);
  }
  if (options.default_runner && !options.pack && sent == 0)
    remarks.push_back(
        "Tasuki moved no message in the second job: both columns are plain MPI; see `tasuki doctor`");
  json cores = json::array();
  for (const Fields& rank : hellos[0].values) cores.push_back(text(rank, "cores"));
  json document = {{"benchmark", options.pack ? "pack-ddt" : "ddt"},
                   {"format", 1},
                   {"date", utc_time()},
                   {"mpi", options.mpi.name},
                   {"machine", describe_machine()},
                   {"versions", versions(hellos[0].values[0])},
                   {"settings",
                    {{"rounds", options.rounds},
                     {"seconds", seconds},
                     {"iterations", options.iterations},
                     {"buffers", buffers_text(options)},
                     {"events", options.events},
                     {"rank_cores", cores},
                     {"runner", options.default_runner ? "tasuki run" : joined(options.runner)},
                     {"launch_args", options.launch_args},
                     {"environment", environment_settings()}}},
                   {"rows", rows},
                   {"contiguous", contiguous},
                   {"verified", verified},
                   {"tasuki_messages", sent},
                   {"notes", remarks}};
  add_means(rows, &document);
  if (measurement.libraries > 1) document["peers"] = peers;
  return document;
}

}  // namespace tasuki::bench
