#include "experiment/tune.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>

namespace tasuki::experiment {
namespace {

class Tuner {
 public:
  Tuner(std::shared_ptr<const netsim::Machine> machine, const ScheduleSpec& spec, const TuneOptions& options)
      : machine_(std::move(machine)), spec_(spec), options_(options) {}

  Result<Tuned> run() {
    const auto wrong = [](const std::string& what) { return Status::error(EINVAL, "tune: " + what); };
    if (!(options_.low >= -kMostBias && options_.low <= options_.high && options_.high <= kMostBias))
      return wrong("the least bias must not be above the greatest, and both from -256 to 256");
    if (!options_.alone && options_.high < 0)
      return wrong(
          "a greatest bias below 0 is of use with --alone only: the chain begins with the best common bias, "
          "from 0 on");
    if (!(options_.fine >= 1.0 / schedule::kGapUnit && options_.fine <= kMostBias))
      return wrong("the last step must be 1/256 to 256 packet times");
    if (options_.rounds < 1 || options_.rounds > 1000)
      return wrong("the chain is gone through 1 to 1000 times");
    Result<Experiment> first = make_experiment(machine_, spec_);
    if (!first.ok()) return first.status();
    if (first.value().schedule.sequences() == 0 || machine_->extents.empty())
      return Status::error(EINVAL, "only schedules with sequences on a torus or mesh can be tuned");
    schedule::Parameters shape;
    Status status = take_shape(*machine_, true, &shape);
    if (!status.ok()) return status;
    wraps_ = shape.wraps;
    find_hops(first.value().schedule);
    status = options_.alone ? tune_alone() : tune_chain();
    if (!status.ok()) return status;
    Tuned result;
    result.sequences = tuned_;
    result.schedule.algorithm = spec_.algorithm;
    schedule::Parameters& p = result.schedule.parameters;
    p.ranks = machine_->nodes();
    p.bytes = spec_.bytes;
    p.segment = spec_.segment;
    p.root = spec_.root;
    p.shape = machine_->extents;
    p.wraps = wraps_;
    result.schedule.barriers = spec_.barriers;
    result.schedule.pace.per_hop = schedule::kGapUnit;
    for (const TunedSequence& t : tuned_)
      result.schedule.pace.per_sequence.push_back(
          static_cast<int32_t>(std::lround((t.bias - 1) * schedule::kGapUnit)));
    return result;
  }

 private:
  void find_hops(const schedule::Schedule& s) {
    tuned_.resize(s.sequences());
    std::vector<schedule::Step> steps;
    for (uint32_t round = 0; round < s.rounds(); round++) {
      s.round(0, 0, round, steps);
      for (const schedule::Step& step : steps)
        if (step.action == schedule::Action::send && step.sequence < tuned_.size())
          tuned_[step.sequence].hops =
              std::max(tuned_[step.sequence].hops, schedule::hops(machine_->extents, wraps_, 0, step.peer));
    }
  }

  static std::vector<double> steps(double low, double high, double step) {
    std::vector<double> values;
    for (int i = 0; low + i * step <= high + 1e-9; i++) values.push_back(low + i * step);
    return values;
  }

  Status tune_alone() {
    for (uint32_t s = 0; s < tuned_.size(); s++) {
      std::vector<double> biases;
      for (const double b : steps(options_.low, options_.high, options_.coarse))
        if (b + tuned_[s].hops - 1 > -options_.coarse)
          biases.push_back(b);  // below there is no gap: all are the same
      Status status = try_sequence(s, biases);
      for (double step = options_.coarse / 2; status.ok() && step >= options_.fine - 1e-9; step /= 2)
        status = try_sequence(s, {tuned_[s].bias - step, tuned_[s].bias + step});
      if (!status.ok()) return status;
      if (options_.progress) options_.progress(s + 1, tuned_.size());
    }
    return Status();
  }

  Status tune_chain() {
    const std::vector<double> uniform = steps(std::max(0.0, options_.low), options_.high, options_.coarse);
    std::vector<std::vector<double>> settings;
    for (const double b : uniform) settings.emplace_back(tuned_.size(), b);
    Result<std::vector<netsim::Time>> times = try_all(settings, 0, kAll);
    if (!times.ok()) return times.status();
    const size_t best = static_cast<size_t>(std::min_element(times.value().begin(), times.value().end()) -
                                            times.value().begin());
    for (TunedSequence& t : tuned_) {
      t.bias = uniform[best];
      t.time = times.value()[best];
    }
    double step = options_.coarse;
    for (uint32_t round = 0; round < options_.rounds; round++) {
      for (uint32_t s = 0; s < tuned_.size(); s++) {
        const double b = tuned_[s].bias;
        std::vector<double> biases;
        for (const int k : {-4, -3, -2, -1, 1})
          if (round == 0 || k == -1 || k == 1) biases.push_back(std::max(options_.low, b + k * step));
        // What other sequences have gained since counts for this one too.
        tuned_[s].time = best_time();
        Status status = try_sequence(s, biases);
        if (!status.ok()) return status;
        if (options_.progress)
          options_.progress(round * tuned_.size() + s + 1, options_.rounds * tuned_.size());
      }
      step = std::max(options_.fine, step / 2);
    }
    return Status();
  }

  netsim::Time best_time() const {
    netsim::Time best = UINT64_MAX;
    for (const TunedSequence& t : tuned_) best = std::min(best, t.time);
    return best;
  }

  Status try_sequence(uint32_t s, const std::vector<double>& biases) {
    std::vector<std::vector<double>> settings;
    for (const double b : biases) {
      settings.emplace_back();
      for (const TunedSequence& t : tuned_) settings.back().push_back(t.bias);
      settings.back()[s] = b;
    }
    Result<std::vector<netsim::Time>> times =
        options_.alone ? try_all(settings, s, s + 1) : try_all(settings, 0, kAll);
    if (!times.ok()) return times.status();
    TunedSequence& t = tuned_[s];
    for (size_t i = 0; i < biases.size(); i++) {
      const netsim::Time time = times.value()[i];
      if (t.time == 0 || time < t.time) {
        t.time = time;
        t.bias = biases[i];
      }
      t.trials.push_back({biases[i], time});
    }
    std::sort(t.trials.begin(), t.trials.end(),
              [](const Trial& a, const Trial& b) { return a.bias < b.bias; });
    return Status();
  }

  // The times of the sequences first .. end - 1 with these biases.
  Result<std::vector<netsim::Time>> try_all(const std::vector<std::vector<double>>& settings, uint32_t first,
                                            uint32_t end) const {
    std::vector<Result<netsim::Time>> results(settings.size(), netsim::Time{0});
    side_by_side(
        settings.size(), options_.workers, [&](size_t i) { results[i] = attempt(settings[i], first, end); },
        nullptr);
    std::vector<netsim::Time> times;
    for (const Result<netsim::Time>& r : results) {
      if (!r.ok()) return r.status();
      times.push_back(r.value());
    }
    return times;
  }

  Result<netsim::Time> attempt(const std::vector<double>& bias, uint32_t first, uint32_t end) const {
    ScheduleSpec spec = spec_;
    spec.gap = [&bias](uint32_t sequence, uint32_t hops) { return gap_of_bias(bias[sequence], hops); };
    Result<Experiment> e = make_experiment(machine_, spec);
    if (!e.ok()) return e.status();
    e.value().options.first_sequence = first;
    e.value().options.end_sequence = end;
    e.value().options.skew = options_.skew;
    e.value().options.network.seed = options_.seed;
    e.value().options.network.model = options_.model;
    Result<RunOutcome> r = experiment::run(e.value());
    if (!r.ok()) return r.status();
    return r.value().time;
  }

  static constexpr uint32_t kAll = UINT32_MAX;
  static constexpr double kMostBias = 256;
  std::shared_ptr<const netsim::Machine> machine_;
  const ScheduleSpec& spec_;
  const TuneOptions& options_;
  bool wraps_ = true;
  std::vector<TunedSequence> tuned_;
};

}  // namespace

uint32_t gap_of_bias(double bias, uint32_t hops) {
  return static_cast<uint32_t>(std::lround(std::max(0.0, bias + hops - 1) * schedule::kGapUnit));
}

Result<Tuned> tune(std::shared_ptr<const netsim::Machine> machine, const ScheduleSpec& spec,
                   const TuneOptions& options) {
  return Tuner(std::move(machine), spec, options).run();
}

}  // namespace tasuki::experiment
