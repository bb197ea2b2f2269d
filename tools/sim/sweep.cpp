// `tasuki sim sweep`: a schedule with many paces, sizes and machines, the points side by side on all cores.
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>
#include <tuple>

#include "os/files/output_file.h"
#include "os/process/command.h"
#include "os/process/environment.h"
#include "os/process/executable.h"
#include "report/chart_page.h"
#include "task/examine/launcher.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/sim/common.h"

namespace tasuki::tool {
namespace {

using nlohmann::json;

struct SweepCommand : SimOptions {
  std::vector<std::string> machines, schedules, sizes{"1MiB"}, paces{"0"};
  std::string json_file, csv_file, html_file;
  int point = -1;                  // only this one, as a line of JSON: for the farm
  std::string results;             // lines of JSON in place of running: from the farm
  std::vector<std::string> words;  // what the user typed
};

struct Point {
  std::string machine, schedule, bytes, pace;
  double value = 0;  // of the range in `pace`
  json row;          // its result
  Status status;
};

std::string shortest(double v) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.10g", v);
  return buffer;
}

std::string of(double part, double whole) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.1f %%", 100 * part / whole);
  return buffer;
}

// "0:6:0.125" in an expression stands for all its values: "hops-1+0:6:0.125" is 49 expressions.
Status expand(const std::string& pace, std::vector<std::pair<std::string, double>>* out) {
  static const std::regex range(R"((-?[0-9.]+):(-?[0-9.]+):([0-9.]+))");
  std::smatch m;
  if (!std::regex_search(pace, m, range)) {
    out->push_back({pace, 0});
    return pace.find(':') == std::string::npos
               ? Status()
               : Status::error(EINVAL,
                               "--pace '" + pace + "': a range is FIRST:LAST:STEP, for example 0:6:0.125");
  }
  const double first = atof(m[1].str().c_str()), last = atof(m[2].str().c_str()),
               step = atof(m[3].str().c_str());
  if (!(step > 0) || last < first || (last - first) / step > 100000)
    return Status::error(
        EINVAL,
        "--pace '" + pace + "': a range is FIRST:LAST:STEP with LAST not below FIRST and a STEP above 0");
  const int count = static_cast<int>(std::floor((last - first) / step + 1e-9)) + 1;
  for (int i = 0; i < count; i++) {
    const double v = first + i * step;
    // In brackets, so that a negative value keeps the sign before it.
    out->push_back({m.prefix().str() + "(" + shortest(v) + ")" + m.suffix().str(), v});
  }
  return Status();
}

double busy_ratio(const netsim::Results& r) {
  double busy = 0, links = 0;
  for (const netsim::LinkTotals& l : r.links) busy += static_cast<double>(l.busy);
  for (const uint32_t n : r.class_links) links += n;
  return r.end == 0 || links == 0 ? 0 : busy / links / static_cast<double>(r.end);
}

json row_of(const Point& p, const experiment::RunOutcome& outcome) {
  const netsim::Results& r = outcome.results;
  char hash[20];
  snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(r.hash));
  return {{"machine", p.machine},
          {"schedule", p.schedule},
          {"bytes", p.bytes},
          {"pace", p.pace},
          {"value", p.value},
          {"time_s", static_cast<double>(outcome.time) * 1e-12},
          {"ideal_s", static_cast<double>(r.ideal) * 1e-12},
          {"link_busy", busy_ratio(r)},
          {"packet_hops", r.packet_hops},
          {"messages", r.messages},
          {"wall_s", r.wall_s},
          {"hash", hash}};
}

Status attempt(const SweepCommand& c, Point* p) {
  SimOptions o = c;
  o.machine = p->machine;
  o.schedule = p->schedule;
  o.bytes = p->bytes;
  Result<netsim::Machine> machine = find_machine(o);
  if (!machine.ok()) return machine.status();
  Result<experiment::ScheduleSpec> spec = schedule_spec(o);
  if (!spec.ok()) return spec.status();
  Result<experiment::PaceExpression> pace = experiment::PaceExpression::parse(p->pace);
  if (!pace.ok()) return pace.status();
  if (p->pace != "0") spec.value().gap = [e = pace.value()](uint32_t, uint32_t hops) { return e.gap(hops); };
  Result<experiment::RunOptions> options = run_options(o);
  if (!options.ok()) return options.status();
  options.value().network.threads = 1;
  Result<experiment::Experiment> e = experiment::make_experiment(
      std::make_shared<const netsim::Machine>(std::move(machine.value())), spec.value());
  if (!e.ok()) return e.status();
  e.value().options = options.value();
  Result<experiment::RunOutcome> r = experiment::run(e.value());
  if (!r.ok()) return r.status();
  p->row = row_of(*p, r.value());
  return Status();
}

// The axis: what the range in the paces stands for; without a range there is one point a pace.
std::string axis_of(const SweepCommand& c) {
  std::string paces;
  for (const std::string& pace : c.paces) paces += (paces.empty() ? "" : ", ") + pace;
  return paces.find(':') == std::string::npos ? "pace " + paces : "value of the range in the pace " + paces;
}

std::string page_of(const SweepCommand& c, const std::vector<Point>& points) {
  using report::Chart;
  Chart time, ideal, busy;
  time.title = "Time";
  time.y_label = "ms";
  ideal.title = "Time compared with the ideal";
  ideal.y_label = "time / ideal time";
  ideal.note = "1 is the ideal time: no run on this machine is faster.";
  ideal.ratio = true;
  busy.title = "Share of the time in which a link is busy, mean over links";
  busy.y_label = "%";
  std::string last;
  for (const Point& p : points) {
    const std::string name = p.machine + " " + p.schedule + " " + p.bytes;
    if (name != last)
      for (Chart* chart : {&time, &ideal, &busy}) chart->series.push_back({name, {}});
    last = name;
    const double seconds = p.row.at("time_s"), least = p.row.at("ideal_s");
    time.series.back().points.emplace_back(p.value, 1e3 * seconds);
    if (least > 0) ideal.series.back().points.emplace_back(p.value, seconds / least);
    busy.series.back().points.emplace_back(p.value, 100 * p.row.at("link_busy").get<double>());
  }
  std::erase_if(ideal.series, [](const report::Curve& curve) { return curve.points.empty(); });
  report::ChartPage page{.about = {}, .tiles = {}, .numbers = {}, .charts = {time, ideal, busy}};
  if (ideal.series.empty()) std::swap(page.charts[1], page.charts[2]), page.charts.pop_back();
  for (Chart& chart : page.charts) chart.x_label = axis_of(c);
  page.about.title = "Schedules on simulated machines";
  page.about.lead = std::to_string(points.size()) + " runs of tasuki sim sweep, " + c.model + " model.";
  page.about.facts = {about_page()};
  return report::chart_page(page);
}

// The MPI whose launcher started this process as one of several; none: it stands alone.
MpiAbi launched_by() {
  const task::Job job = task::read_job(os::environment_of_self());
  return job.launcher == nullptr ? MpiAbi::none : job.abi;
}

// Every rank becomes a rank of the task farm, which calls this command for each point.
int become_farm(const SweepCommand& c, size_t points, MpiAbi abi) {
  const std::string program =
      os::own_prefix() + "/libexec/tasuki/farm-" + (abi == MpiAbi::openmpi ? "openmpi" : "mpich");
  std::vector<std::string> words{program, std::to_string(points), os::own_prefix() + "/bin/tasuki"};
  words.insert(words.end(), c.words.begin() + 1, c.words.end());
  setenv("TASUKI_FARMED", "1", 1);
  os::become(words, {}, program);
  return sim_error(
      Status::error(errno, "cannot start " + program + ": " + strerror(errno) +
                               "; to run the sweep on this machine alone, start it without mpirun"));
}

int run_one(const SweepCommand& c, std::vector<Point>& points) {
  if (static_cast<size_t>(c.point) >= points.size())
    return sim_error(Status::error(
        EINVAL, "--point " + std::to_string(c.point) + ": there are only " + std::to_string(points.size())));
  Point& p = points[static_cast<size_t>(c.point)];
  p.status = attempt(c, &p);
  if (!p.status.ok()) return sim_error(p.status);
  puts(p.row.dump().c_str());
  return 0;
}

Status take_results(const std::string& name, std::vector<Point>* points) {
  std::ifstream file(name);
  std::string line;
  for (Point& p : *points) {
    if (!std::getline(file, line)) return Status::error(EIO, name + ": not a line for each point");
    p.row = json::parse(line, nullptr, false);
    if (!p.row.is_object()) return Status::error(EIO, name + ": not the output of points");
  }
  return Status();
}

int run(const SweepCommand& c) {
  std::vector<std::pair<std::string, double>> paces;
  for (const std::string& pace : c.paces) {
    Status status = expand(pace, &paces);
    if (!status.ok()) return sim_error(status);
  }
  std::vector<Point> points;
  for (const std::string& machine : c.machines)
    for (const std::string& schedule : c.schedules)
      for (const std::string& bytes : c.sizes)
        for (const auto& [pace, value] : paces)
          points.push_back({machine, schedule, bytes, pace, value, {}, Status()});
  if (c.point >= 0) return run_one(c, points);
  for (const auto& [option, file] :
       {std::pair{"--json", &c.json_file}, {"--csv", &c.csv_file}, {"--html", &c.html_file}})
    if (Status status = os::check_output(option, *file); !status.ok()) return sim_error(status);
  if (!c.results.empty()) {
    Status status = take_results(c.results, &points);
    if (!status.ok()) return sim_error(status);
  } else {
    const MpiAbi abi = launched_by();
    if (abi != MpiAbi::none && getenv("TASUKI_FARMED") == nullptr) return become_farm(c, points.size(), abi);
    const PointProgress progress(points.size());
    experiment::side_by_side(
        points.size(), c.threads, [&](size_t i) { points[i].status = attempt(c, &points[i]); },
        [&](size_t finished) { progress(finished); });
  }
  json rows = json::array();
  std::string csv = "machine,schedule,bytes,pace,value,time_s,ideal_s,link_busy\n";
  printf("%-16s %-12s %9s %-18s %11s %9s %9s\n", "machine", "schedule", "bytes", "pace", "ms", "of ideal",
         "link busy");
  for (const Point& p : points) {
    if (!p.status.ok()) return sim_error(p.status);
    rows.push_back(p.row);
    const json& r = rows.back();
    const double time = r["time_s"], ideal = r["ideal_s"], busy = r["link_busy"];
    const std::string of_ideal = ideal > 0 ? of(time, ideal) : "-";  // no bytes on any link
    printf("%-16s %-12s %9s %-18s %11.3f %9s %7.1f %%\n", p.machine.c_str(), p.schedule.c_str(),
           p.bytes.c_str(), p.pace.c_str(), time * 1e3, of_ideal.c_str(), 100 * busy);
    csv += p.machine + "," + p.schedule + "," + p.bytes + ",\"" + p.pace + "\"," + shortest(p.value) + "," +
           shortest(time) + "," + shortest(ideal) + "," + shortest(busy) + "\n";
  }
  for (const auto& [option, name, text] :
       {std::tuple{"--json", c.json_file, json{{"points", rows}}.dump(1) + "\n"},
        {"--csv", c.csv_file, csv},
        {"--html", c.html_file, c.html_file.empty() ? std::string() : page_of(c, points)}}) {
    if (name.empty()) continue;
    Status status = os::write_output(option, name, text);
    if (!status.ok()) return sim_error(status);
  }
  return 0;
}

}  // namespace

void add_sim_sweep(CLI::App* sim, int* exit_code) {
  CLI::App* cmd = sim->add_subcommand("sweep",
                                      "Simulate schedules with many values of pace and size, on all cores; "
                                      "prints one table and draws one plot.");
  auto c = std::make_shared<SweepCommand>();
  c->threads = std::max(1u, std::thread::hardware_concurrency());
  cmd->add_option("--machine", c->machines, "Machine files or names")->required();
  cmd->add_option("--schedule", c->schedules, "Schedules")->required();
  cmd->add_option("--bytes", c->sizes, "Sizes of a block or message")->capture_default_str();
  cmd->add_option("--pace", c->paces,
                  "Times between two packets, as expressions of hops; FIRST:LAST:STEP stands for each of its "
                  "values: hops-1+0:6:0.125")
      ->capture_default_str();
  cmd->add_option("--set", c->settings, "KEY=VALUE replaces a value of the machine files")
      ->allow_extra_args(false);
  cmd->add_option("--model", c->model, "packet or flow")
      ->check(CLI::IsMember({"packet", "flow"}))
      ->capture_default_str();
  cmd->add_option("--threads", c->threads, "How many points are simulated side by side")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  cmd->add_option("--seed", c->seed, "Seed of the random numbers")->capture_default_str();
  cmd->add_option("--skew", c->skew, "Let the ranks start at random times within this time")
      ->capture_default_str();
  cmd->add_flag("--barriers", c->barriers, "Put a barrier between the rounds of the schedule");
  cmd->add_option("--json", c->json_file, "Write all points to this file");
  cmd->add_option("--csv", c->csv_file, "Write all points to this file, as comma-separated values");
  cmd->add_option("--html", c->html_file, "Write a page with the plots to this file");
  cmd->add_option("--point", c->point)->group("");
  cmd->add_option("--results", c->results)->group("");
  cmd->callback([c, exit_code] {
    c->words = own_words();
    *exit_code = run(*c);
  });
}

void add_sim_machines(CLI::App* sim, int* exit_code) {
  CLI::App* cmd = sim->add_subcommand("machines", "List the machines that come with Tasuki.");
  cmd->callback([exit_code] {
    *exit_code = 0;
    for (const std::string& name : shipped_machines()) {
      SimOptions o;
      o.machine = name;
      Result<netsim::Machine> m = find_machine(o);
      printf("%-20s %7u nodes  %s\n", name.c_str(), m.ok() ? m.value().nodes() : 0,
             m.ok() ? m.value().name.c_str() : m.status().message().c_str());
    }
  });
}

}  // namespace tasuki::tool
