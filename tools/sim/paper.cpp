// `tasuki sim paper`: every experiment of the paper on packet pacing (Shibamura et al., IPSJ 2011), its
// figures and, beside each number of its text, ours. docs/simulator-paper.md says what differs and why.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "experiment/tune.h"
#include "os/files/output_file.h"
#include "report/chart_page.h"
#include "tools/command.h"
#include "tools/sim/common.h"
#include "tools/sim/paper_points.h"

namespace tasuki::tool {
namespace {

using report::Chart;
using report::Comparison;

struct PaperCommand : SimOptions {
  std::vector<uint32_t> sizes{8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::vector<uint32_t> big_sizes{8, 16, 32, 64};
  std::vector<int> experiments{1, 2, 3, 4};
  double step = 0.125;
  std::string out = "paper";
};

std::string ms(double seconds) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.1f ms", seconds * 1e3);
  return buffer;
}
std::string percent(double share) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.1f %%", share * 100);
  return buffer;
}
std::string plain(double v) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.4g", v);
  return buffer;
}

// To the last bit.
std::string number_of(double v) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.17g", v);
  return buffer;
}

std::vector<double> range(double low, double high, double step) {
  std::vector<double> values;
  for (int i = 0; low + i * step <= high + 1e-9; i++) values.push_back(low + i * step);
  return values;
}

PaperPoint unpaced(uint32_t extent) {
  PaperPoint p;
  p.extent = extent;
  return p;
}
PaperPoint paced(uint32_t extent, double bias) {
  PaperPoint p = unpaced(extent);
  p.bias = {bias};
  return p;
}
PaperPoint over_time(PaperPoint p) {
  p.timeline = true;
  return p;
}
std::string square(uint32_t n) {
  return std::to_string(n) + "x" + std::to_string(n);
}

class Paper {
 public:
  Paper(const PaperCommand& c, PaperPoints* points) : c_(c), points_(*points) {}

  Status run() {
    Status status;
    for (const int e : c_.experiments) {
      if (!status.ok()) break;
      fprintf(stderr, "experiment %d\n", e);
      switch (e) {
        case 1:
          status = algorithms();
          break;
        case 2:
          status = uniform();
          break;
        case 3:
          status = by_sequence();
          break;
        default:
          status = barriers();
          break;
      }
    }
    return status;
  }
  std::vector<Comparison> numbers;
  std::vector<Chart> charts;

 private:
  Status measure(const std::vector<PaperPoint>& points) { return points_.run(points, c_.threads); }

  void say(const std::string& what, const std::string& paper, const std::string& ours,
           const std::string& remark = "") {
    numbers.push_back({what, paper, ours, remark});
  }

  void chart_of_time(const std::string& title, const PaperPoint& p, const std::string& note) {
    const PaperResult& r = points_.at(over_time(p));
    Chart chart{title, "time, ms", "throughput of a link, GB/s", {}, note, true, false, {}};
    report::Curve mean{"mean", {}};
    for (size_t c = 0; c < r.throughput.size(); c++) {
      chart.series.push_back({r.classes[c], {}});
      for (size_t b = 0; b < r.throughput[c].size(); b++) {
        const double at = (static_cast<double>(b) + 0.5) * r.bin_s * 1e3;
        chart.series.back().points.push_back({at, r.throughput[c][b]});
        if (c == 0) mean.points.push_back({at, 0});
        mean.points[b].second += r.throughput[c][b] / static_cast<double>(r.throughput.size());
      }
    }
    chart.series.push_back(mean);
    charts.push_back(chart);
  }

  // --- experiment 1: algorithms against each other ---
  Status algorithms() {
    std::vector<PaperPoint> todo{over_time(unpaced(8)), over_time(unpaced(9))};
    const std::vector<std::string> names{"a2at", "pairwise", "ring"};
    for (const uint32_t n : c_.big_sizes)
      for (const std::string& a : names) {
        PaperPoint p = unpaced(n);
        p.algorithm = a;
        p.bytes = (64ull << 20) / (uint64_t{n} * n);
        todo.push_back(p);
      }
    Status status = measure(todo);
    if (!status.ok()) return status;
    Chart time{"Figure 5: all-to-all of a 64 MiB region, unpaced", "nodes", "ms", {}, "", true, true, {}};
    Chart busy{"Figure 6: link utilisation", "nodes", "%", {}, "", true, true, {}};
    bool wins = true;
    for (const uint32_t n : c_.big_sizes) time.groups.push_back(square(n)), busy.groups.push_back(square(n));
    for (const std::string& a : names) {
      time.series.push_back({a, {}});
      busy.series.push_back({a, {}});
      for (size_t i = 0; i < c_.big_sizes.size(); i++) {
        PaperPoint p = unpaced(c_.big_sizes[i]);
        p.bytes = (64ull << 20) / (uint64_t{p.extent} * p.extent);
        const double best = points_.at(p).time_s;
        p.algorithm = a;
        const PaperResult& r = points_.at(p);
        time.series.back().points.push_back({static_cast<double>(i), r.time_s * 1e3});
        busy.series.back().points.push_back({static_cast<double>(i), r.link_busy * 100});
        wins = wins && (a == "a2at" || best < r.time_s);
      }
    }
    charts.push_back(time);
    charts.push_back(busy);
    say("A2AT is faster than pairwise and ring at every size", "yes", wins ? "yes" : "no");
    const PaperResult &even = points_.at(over_time(unpaced(8))), &odd = points_.at(over_time(unpaced(9)));
    say("ideal time, 8x8, 1 MiB", "17.0 ms", ms(even.ideal_s));
    say("ideal time, 9x9", "24.0 ms", ms(odd.ideal_s));
    say("unpaced, 8x8", "71.3 ms", ms(even.time_s));
    say("unpaced, 9x9", "84.0 ms", ms(odd.time_s));
    say("link utilisation, 8x8, unpaced", "25 %", percent(even.link_busy));
    say("imbalance of directions, 9x9: greatest difference of their means", "none", percent(spread(odd)));
    say("imbalance of directions, 8x8", "in the second half", percent(spread(even)));
    chart_of_time("Figure 7: link throughput, 8x8, unpaced", unpaced(8), "");
    Chart buffers{"Figure 8: buffers of virtual channel 0, 8x8, unpaced",
                  "time, ms",
                  "% full",
                  {},
                  "",
                  true,
                  false,
                  {}};
    const size_t channels = even.buffered.size() / std::max<size_t>(1, even.classes.size());
    for (size_t c = 0; c < even.classes.size(); c++) {
      buffers.series.push_back({even.classes[c], {}});
      for (size_t b = 0; b < even.buffered[c * channels].size(); b++)
        buffers.series.back().points.push_back(
            {(static_cast<double>(b) + 0.5) * even.bin_s * 1e3, 100 * even.buffered[c * channels][b]});
    }
    charts.push_back(buffers);
    chart_of_time("Figure 9: link throughput, 9x9, unpaced", unpaced(9), "");
    return Status();
  }

  // Greatest difference between the directions' mean throughput over time, as a share of the mean of all.
  static double spread(const PaperResult& r) {
    double worst = 0, all = 0;
    size_t bins = 0;
    // Over tenths of the run: single bins differ by the packets that happen to be in them.
    const size_t tenth = std::max<size_t>(1, r.throughput[0].size() / 10);
    for (size_t b = 0; b + tenth <= r.throughput[0].size(); b += tenth) {
      double low = 1e30, high = 0, mean = 0;
      for (const auto& row : r.throughput) {
        double sum = 0;
        for (size_t i = b; i < b + tenth; i++) sum += row[i];
        low = std::min(low, sum), high = std::max(high, sum),
        mean += sum / static_cast<double>(r.throughput.size());
      }
      worst = std::max(worst, high - low);
      all += mean;
      bins++;
    }
    return bins == 0 || all == 0 ? 0 : worst / (all / static_cast<double>(bins));
  }

  // --- experiment 2: one bias for all ---
  Status uniform() {
    const std::vector<double> wide = range(-2, 16, 1), fine = range(0, 6, c_.step);
    std::vector<PaperPoint> todo;
    for (const uint32_t n : c_.sizes) {
      todo.push_back(unpaced(n));
      for (const double b : wide) todo.push_back(paced(n, b));
      for (const double b : fine) todo.push_back(paced(n, b));
    }
    todo.push_back(over_time(paced(8, 1.25)));
    todo.push_back(over_time(paced(9, 1.25)));
    // What the paper says of two sizes is told whatever the sizes are.
    todo.push_back(unpaced(9));
    todo.push_back(paced(8, 0));
    Status status = measure(todo);
    if (!status.ok()) return status;
    Chart coarse{"Figure 10: time by gap bias", "bias, packet times", "ms", {}, "", true, false, {}};
    Chart detail{
        "Figure 11: time by gap bias, in detail", "bias, packet times", "ms", {}, "", true, false, {}};
    Chart busy{
        "Figure 12: mean link utilisation by gap bias", "bias, packet times", "%", {}, "", true, false, {}};
    Chart effect{"Figure 15: what pacing gains",
                 "nodes",
                 "ms",
                 {{"no pacing", {}}, {"hops - 1", {}}, {"best bias", {}}, {"ideal", {}}},
                 "",
                 true,
                 true,
                 {}};
    std::vector<double> gains[2];  // of even and of odd sizes
    for (size_t i = 0; i < c_.sizes.size(); i++) {
      const uint32_t n = c_.sizes[i];
      coarse.series.push_back({square(n), {}});
      detail.series.push_back({square(n), {}});
      busy.series.push_back({square(n), {}});
      for (const double b : wide)
        coarse.series.back().points.push_back({b, points_.at(paced(n, b)).time_s * 1e3});
      double best = 1e30, best_bias = 0;
      for (const double b : fine) {
        const PaperResult& r = points_.at(paced(n, b));
        detail.series.back().points.push_back({b, r.time_s * 1e3});
        busy.series.back().points.push_back({b, r.link_busy * 100});
        if (r.time_s < best) best = r.time_s, best_bias = b;
      }
      const PaperResult& none = points_.at(unpaced(n));
      const double x = static_cast<double>(i);
      effect.groups.push_back(square(n));
      effect.series[0].points.push_back({x, none.time_s * 1e3});
      effect.series[1].points.push_back({x, points_.at(paced(n, 0)).time_s * 1e3});
      effect.series[2].points.push_back({x, best * 1e3});
      effect.series[3].points.push_back({x, none.ideal_s * 1e3});
      gains[n % 2].push_back(none.time_s / best);
      if (n <= 9) say("best uniform bias, " + square(n), "1.25", plain(best_bias), ms(best));
    }
    charts.insert(charts.end(), {coarse, detail, busy, effect});
    const PaperResult &even = points_.at(over_time(paced(8, 1.25))),
                      &odd = points_.at(over_time(paced(9, 1.25)));
    say("bias 1.25, 8x8", "42.7 ms", ms(even.time_s));
    say("bias 1.25, 9x9", "30.7 ms", ms(odd.time_s));
    say("bias 1.25, 9x9, of ideal", "127.9 %", percent(odd.time_s / odd.ideal_s));
    say("gain, 9x9", "2.74", plain(points_.at(unpaced(9)).time_s / odd.time_s));
    say("link utilisation, 8x8, bias 0", "above 30 %", percent(points_.at(paced(8, 0)).link_busy));
    for (const size_t odd_ones : {size_t{0}, size_t{1}})
      if (const std::vector<double>& g = gains[odd_ones]; !g.empty())
        say(std::string("least gain by the best bias, ") + (odd_ones == 0 ? "even" : "odd") + " sizes",
            "more than 2", plain(*std::min_element(g.begin(), g.end())));
    const auto& s = c_.sizes;
    if (std::count(s.begin(), s.end(), 14u) != 0 && std::count(s.begin(), s.end(), 15u) != 0)
      say("bias 3: 15x15 is faster than 14x14", "yes",
          points_.at(paced(15, 3)).time_s < points_.at(paced(14, 3)).time_s ? "yes" : "no");
    chart_of_time("Figure 13: link throughput, 8x8, bias 1.25", paced(8, 1.25), "");
    chart_of_time("Figure 14: link throughput, 9x9, bias 1.25", paced(9, 1.25), "");
    return Status();
  }

  static constexpr int kSequences = 20;  // of A2AT on 9x9

  PaperPoint alone(int sequence, double bias, netsim::Time skew) const {
    PaperPoint p = paced(9, bias);
    p.sequence = sequence;
    p.skew = skew;
    return p;
  }
  std::vector<double> biases_alone() const { return range(-3, 3, c_.step); }

  Status measure_alone(netsim::Time skew) {
    std::vector<PaperPoint> todo;
    for (int s = 0; s < kSequences; s++)
      for (const double b : biases_alone()) todo.push_back(alone(s, b, skew));
    return measure(todo);
  }
  std::vector<double> best_alone(netsim::Time skew) const {
    std::vector<double> best;
    for (int s = 0; s < kSequences; s++) {
      double least = 1e30;
      best.push_back(0);
      for (const double b : biases_alone()) {
        const double t = points_.at(alone(s, b, skew)).time_s;
        if (t < least) least = t, best.back() = b;
      }
    }
    return best;
  }
  Chart chart_alone(const std::string& title, netsim::Time skew) const {
    Chart chart{title, "bias, packet times", "ms", {}, "", true, false, {}};
    for (int s = 0; s < kSequences; s++) {
      chart.series.push_back({"sequence " + std::to_string(s + 1), {}});
      for (const double b : biases_alone())
        chart.series.back().points.push_back({b, points_.at(alone(s, b, skew)).time_s * 1e3});
    }
    return chart;
  }
  static PaperPoint chained(const std::vector<double>& bias, bool barriers) {
    PaperPoint p = unpaced(9);
    p.bias = bias;
    p.barriers = barriers;
    return p;
  }

  // --- experiment 3: a bias for each sequence ---
  Status by_sequence() {
    Status status = measure_alone(0);
    if (!status.ok()) return status;
    charts.push_back(chart_alone("Figure 16: each sequence of 9x9 alone, by gap bias", 0));
    const PaperPoint p = chained(best_alone(0), false);
    status = measure({over_time(p)});
    if (!status.ok()) return status;
    const PaperResult& r = points_.at(over_time(p));
    double sum = 0;
    const std::vector<double> best = best_alone(0);
    for (int s = 0; s < kSequences; s++) sum += points_.at(alone(s, best[static_cast<size_t>(s)], 0)).time_s;
    say("sum of the best times of the sequences alone", "", ms(sum));
    say("9x9, each sequence with its best bias alone, chained", "25.8 ms", ms(r.time_s));
    say("... of ideal", "107.5 %", percent(r.time_s / r.ideal_s));
    chart_of_time("Figure 17: link throughput, 9x9, sequences tuned alone", p, "");
    return tuned();
  }

  // Beyond the paper: sequences tuned behind those before them.
  Status tuned() {
    // As results have their keys: all that the search depends on is in its name.
    std::string of = points_.world() + "-" + number_of(c_.step);
    std::replace(of.begin(), of.end(), ' ', '-');
    const std::string file = c_.out + "/tuned-9x9-" + of + ".json";
    Result<netsim::Machine> machine = find_machine(c_);
    if (!machine.ok()) return machine.status();
    machine.value().extents = {9, 9};
    machine.value().wraps = {true, true};
    experiment::TuneOptions options;
    options.workers = c_.threads;
    options.high = 2;
    options.fine = c_.step;
    options.skew = 30000;  // 30 ns: no machine starts its ranks more exactly
    const PointProgress progress(options.rounds * kSequences);
    options.progress = [&progress](size_t finished, size_t) { progress(finished); };
    experiment::ScheduleSpec spec;
    spec.algorithm = "a2at";
    if (!std::filesystem::exists(file)) {
      Result<experiment::Tuned> tuned =
          experiment::tune(std::make_shared<const netsim::Machine>(machine.value()), spec, options);
      if (!tuned.ok()) return tuned.status();
      Status status = experiment::save(tuned.value().schedule, file);
      if (!status.ok()) return status;
    }
    Result<experiment::SavedSchedule> saved = experiment::load(file);
    if (!saved.ok()) return saved.status();
    std::vector<double> bias;
    for (const int32_t b : saved.value().pace.per_sequence)
      bias.push_back(1 + static_cast<double>(b) / schedule::kGapUnit);
    const PaperPoint p = chained(bias, false);
    std::vector<PaperPoint> todo{over_time(p)};
    for (const netsim::Time skew : {netsim::Time{100000}, netsim::Time{1000000}, netsim::Time{3000000}}) {
      todo.push_back(p);
      todo.back().skew = skew;
    }
    Status status = measure(todo);
    if (!status.ok()) return status;
    const PaperResult& r = points_.at(over_time(p));
    say("9x9, `tasuki sim tune`", "", ms(r.time_s), percent(r.time_s / r.ideal_s) + " of ideal; " + file);
    for (size_t i = 1; i < todo.size(); i++)
      say("... ranks start within " + plain(static_cast<double>(todo[i].skew) * 1e-6) + " us", "",
          ms(points_.at(todo[i]).time_s), percent(points_.at(todo[i]).time_s / r.ideal_s) + " of ideal");
    chart_of_time("Link throughput, 9x9, tuned in the chain", p, "");
    return Status();
  }

  // --- experiment 4: barriers between the sequences ---
  Status barriers() {
    constexpr netsim::Time kSkew = 3000000;
    PaperPoint barrier = unpaced(9);
    barrier.algorithm = "dissemination";
    Status status = measure_alone(0);
    if (status.ok()) status = measure_alone(kSkew);
    const PaperPoint before = chained(best_alone(0), true), after = chained(best_alone(kSkew), true);
    if (status.ok()) status = measure({barrier, over_time(before), over_time(after)});
    if (!status.ok()) return status;
    const PaperResult &b = points_.at(over_time(before)), &a = points_.at(over_time(after));
    say("barrier, 81 ranks, no load", "11.5 us", plain(points_.at(barrier).time_s * 1e6) + " us");
    say("tuned alone, with barriers", "92.6 ms", ms(b.time_s));
    say("retuned under 3 us of imbalance, with barriers", "32.8 ms", ms(a.time_s));
    say("... of ideal", "136.7 %", percent(a.time_s / a.ideal_s));
    const std::vector<double> best = best_alone(kSkew);
    say("greatest bias after retuning", "2.5 (sequence 14)",
        plain(*std::max_element(best.begin(), best.end())) + " (sequence " +
            std::to_string(std::max_element(best.begin(), best.end()) - best.begin() + 1) + ")");
    charts.push_back(chart_alone("Each sequence of 9x9 alone under 3 us of imbalance, by gap bias", kSkew));
    chart_of_time("Figure 18: link throughput, 9x9, tuned alone, with barriers", before, "");
    chart_of_time("Figure 19: link throughput, 9x9, retuned under 3 us of imbalance, with barriers", after,
                  "");
    return Status();
  }

  const PaperCommand& c_;
  PaperPoints& points_;
};

int run(const PaperCommand& c) {
  Result<netsim::Machine> machine = find_machine(c);
  if (!machine.ok()) return sim_error(machine.status());
  if (machine.value().topology != netsim::TopologyKind::torus || machine.value().router_nodes != 1)
    return sim_error(Status::error(
        EINVAL, "--machine " + c.machine +
                    ": the paper's machine is a torus with one node a router; its extents are replaced"));
  for (const std::string& s : c.settings)
    if (s.starts_with("topology."))
      return sim_error(Status::error(EINVAL, "--set " + s +
                                                 ": the experiments choose the topology; --sizes and "
                                                 "--big-sizes are those of experiments 1 and 2"));
  std::error_code error;
  std::filesystem::create_directories(c.out, error);
  if (error) return sim_error(Status::error(EIO, "cannot create " + c.out + ": " + error.message()));
  for (const char* name : {"/points.json", "/paper.html", "/paper.json"})
    if (Status status = os::check_output("--out", c.out + name); !status.ok()) return sim_error(status);
  PaperPoints points(std::move(machine.value()), c.out + "/points.json");
  Status status = points.load();
  if (!status.ok()) return sim_error(status);
  Paper paper(c, &points);
  status = paper.run();
  if (!status.ok()) return sim_error(status);
  printf("%-70s %18s %18s\n", "", "paper", "here");
  nlohmann::json rows = nlohmann::json::array();
  for (const Comparison& n : paper.numbers) {
    printf("%-70s %18s %18s  %s\n", n.what.c_str(), n.paper.c_str(), n.ours.c_str(), n.remark.c_str());
    rows.push_back({{"what", n.what}, {"paper", n.paper}, {"here", n.ours}, {"remark", n.remark}});
  }
  report::ChartPage page{.about = {}, .tiles = {}, .numbers = paper.numbers, .charts = paper.charts};
  page.about.title = "All-to-all with packet pacing on a 2-D torus: the paper's experiments";
  page.about.lead =
      "Shibamura et al., IPSJ Transactions on Advanced Computing Systems, 2011, re-created by `tasuki sim "
      "paper`; figures have the paper's numbers.";
  page.about.facts = {about_page()};
  status = os::write_output("--out", c.out + "/paper.html", report::chart_page(page));
  if (status.ok())
    status =
        os::write_output("--out", c.out + "/paper.json", nlohmann::json{{"numbers", rows}}.dump(1) + "\n");
  if (!status.ok()) return sim_error(status);
  printf("\n%s/paper.html: the figures\n", c.out.c_str());
  return 0;
}

}  // namespace

void add_sim_paper(CLI::App* sim, int* exit_code) {
  CLI::App* cmd = sim->add_subcommand("paper",
                                      "Repeat experiments 1 to 4 of the paper on packet pacing, and print "
                                      "its numbers beside ours. An interrupted run continues next time.");
  auto c = std::make_shared<PaperCommand>();
  c->machine = "torus2d-9x9";
  c->threads = std::max(1u, std::thread::hardware_concurrency());
  cmd->add_option("--machine", c->machine, "Machine; the experiments replace its extents")
      ->capture_default_str();
  cmd->add_option("--set", c->settings, "KEY=VALUE replaces a value of the machine file")
      ->allow_extra_args(false);
  cmd->add_option("--experiments", c->experiments, "Which experiments to run")
      ->delimiter(',')
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  cmd->add_option("--sizes", c->sizes, "Extents of the torus in experiment 2")
      ->delimiter(',')
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  cmd->add_option("--big-sizes", c->big_sizes, "Extents of the torus in experiment 1")
      ->delimiter(',')
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  cmd->add_option("--step", c->step, "Step of the bias")
      ->check(CLI::Range(0.03125, 1.0))
      ->capture_default_str();
  cmd->add_option("--threads", c->threads, "How many simulations run side by side")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  cmd->add_option("--out", c->out, "Folder for the page, the numbers, and what has been computed so far")
      ->capture_default_str();
  cmd->callback([c, exit_code] { *exit_code = run(*c); });
}

}  // namespace tasuki::tool
