#include "tools/sim/paper_points.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>

#include "base/log.h"
#include "experiment/experiment.h"
#include "experiment/tune.h"
#include "netsim/network/network.h"
#include "netsim/simulate.h"
#include "os/files/text_file.h"
#include "tools/sim/common.h"

namespace tasuki::tool {
namespace {

using nlohmann::json;

std::string number(double v) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.17g", v);
  return buffer;
}

// FNV-1a, 64 bits.
std::string hash_of(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char buffer[20];
  snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(h));
  return buffer;
}

// What keys of this version of the simulator begin with.
std::string version() {
  return std::to_string(netsim::kResultsVersion) + " ";
}

// Packet-hops, roughly: what a run costs.
double cost_of(const PaperPoint& p) {
  const double n = p.extent;
  return n * n * n * n * n / 2 * static_cast<double>(p.bytes) / (p.sequence >= 0 ? 2 * n : 1);
}

json to_json(const PaperResult& r) {
  return {{"time_s", r.time_s},         {"ideal_s", r.ideal_s},
          {"link_busy", r.link_busy},   {"worst_imbalance_s", r.worst_imbalance},
          {"classes", r.classes},       {"bin_s", r.bin_s},
          {"throughput", r.throughput}, {"buffered", r.buffered}};
}

PaperResult from_json(const json& j) {
  PaperResult r;
  r.time_s = j.at("time_s");
  r.ideal_s = j.at("ideal_s");
  r.link_busy = j.at("link_busy");
  r.worst_imbalance = j.at("worst_imbalance_s");
  r.classes = j.at("classes").get<std::vector<std::string>>();
  r.bin_s = j.at("bin_s");
  r.throughput = j.at("throughput").get<std::vector<std::vector<double>>>();
  r.buffered = j.at("buffered").get<std::vector<std::vector<double>>>();
  return r;
}

}  // namespace

std::string PaperPoint::key() const {
  std::string k = algorithm + " " + std::to_string(extent) + " " + std::to_string(bytes);
  for (const double b : bias) k += " " + number(b);
  if (sequence >= 0) k += " sequence " + std::to_string(sequence);
  if (barriers) k += " barriers";
  if (skew != 0) k += " skew " + std::to_string(skew);
  if (timeline) k += " over time";
  return k;
}

PaperPoints::PaperPoints(netsim::Machine machine, std::string file)
    : machine_(std::move(machine)), file_(std::move(file)) {
  // The extents are the point's.
  netsim::Machine rest = machine_;
  rest.extents.clear();
  rest.wraps.clear();
  world_ = version() + hash_of(netsim::values_of(rest));
}

Status PaperPoints::load() {
  const Result<std::string> file = os::read_file(file_);
  if (!file.ok()) return Status();
  const json all = json::parse(file.value(), nullptr, false);
  size_t old = 0;
  try {
    for (const auto& [key, value] : all.at("points").items())
      if (key.starts_with(version()))
        results_[key] = from_json(value);
      else
        old++;
    if (old != 0)
      log(LogLevel::warning, "%s: %zu results of another version of the simulator are not used",
          file_.c_str(), old);
  } catch (const json::exception&) {
    return Status::error(
        EINVAL, file_ + ": not the results of `tasuki sim paper`; remove it or choose another --out");
  }
  return Status();
}

Status PaperPoints::save() const {
  json points = json::object();
  for (const auto& [key, r] : results_) points[key] = to_json(r);
  return os::replace_file(file_, json{{"points", points}}.dump() + "\n");
}

Result<PaperResult> PaperPoints::attempt(const PaperPoint& p) const {
  auto machine = std::make_shared<netsim::Machine>(machine_);
  machine->extents = {p.extent, p.extent};
  machine->wraps = {true, true};
  experiment::ScheduleSpec spec;
  spec.algorithm = p.algorithm;
  spec.bytes = p.bytes;
  spec.barriers = p.barriers;
  if (!p.bias.empty())
    spec.gap = [&p](uint32_t sequence, uint32_t hops) {
      return experiment::gap_of_bias(
          p.bias[p.bias.size() == 1 ? 0 : std::min<size_t>(sequence, p.bias.size() - 1)], hops);
    };
  Result<experiment::Experiment> e = experiment::make_experiment(machine, spec);
  if (!e.ok()) return e.status();
  e.value().options.skew = p.skew;
  if (p.sequence >= 0) {
    e.value().options.first_sequence = static_cast<uint32_t>(p.sequence);
    e.value().options.end_sequence = static_cast<uint32_t>(p.sequence) + 1;
  }
  Result<experiment::RunOutcome> run = experiment::run(e.value());
  if (!run.ok()) return run.status();
  const netsim::Results& r = run.value().results;
  PaperResult result;
  result.time_s = static_cast<double>(run.value().time) * 1e-12;
  result.ideal_s = static_cast<double>(r.ideal) * 1e-12;
  double busy = 0, links = 0;
  for (const netsim::LinkTotals& l : r.links) busy += static_cast<double>(l.busy);
  for (const uint32_t n : r.class_links) links += n;
  result.link_busy = busy / links / static_cast<double>(std::max<netsim::Time>(1, r.end));
  for (const experiment::SequenceTimes& t : run.value().sequences)
    result.worst_imbalance = std::max(result.worst_imbalance, static_cast<double>(t.imbalance()) * 1e-12);
  if (!p.timeline) return result;
  result.classes = r.classes;
  result.bin_s = static_cast<double>(r.bin_width) * 1e-12;
  for (size_t c = 0; c < r.busy.size(); c++) {
    result.throughput.emplace_back();
    for (const double b : r.busy[c])
      result.throughput.back().push_back(b / static_cast<double>(r.bin_width) / r.class_links[c] *
                                         machine->link_bandwidth * 1e-9);
  }
  for (size_t row = 0; row < r.buffered.size(); row++) {
    result.buffered.emplace_back();
    for (const double b : r.buffered[row])
      result.buffered.back().push_back(b / r.class_links[row / r.channels] /
                                       static_cast<double>(machine->buffer_bytes));
  }
  return result;
}

Status PaperPoints::run(const std::vector<PaperPoint>& wanted, uint32_t workers) {
  std::vector<PaperPoint> todo;
  for (const PaperPoint& p : wanted) {
    const bool again =
        std::any_of(todo.begin(), todo.end(), [&p](const PaperPoint& q) { return p.key() == q.key(); });
    if (!has(p) && !again) todo.push_back(p);
  }
  if (todo.empty()) return Status();
  std::stable_sort(todo.begin(), todo.end(),
                   [](const PaperPoint& a, const PaperPoint& b) { return cost_of(a) < cost_of(b); });
  std::vector<std::optional<Result<PaperResult>>> results(todo.size());
  const PointProgress progress(todo.size());
  Status failed;
  size_t kept = 0;
  experiment::side_by_side(
      todo.size(), workers, [&](size_t i) { results[i] = attempt(todo[i]); },
      [&](size_t finished) {
        progress(finished);
        // Points end nearly in order; what is complete is saved now and then.
        while (kept < todo.size() && results[kept].has_value()) {
          if (results[kept]->ok())
            results_[key_of(todo[kept])] = results[kept]->value();
          else if (failed.ok())
            failed = results[kept]->status();
          kept++;
        }
        if (finished % 8 == 0 || finished == todo.size()) {
          const Status saved = save();
          if (failed.ok()) failed = saved;
        }
      });
  return failed;
}

}  // namespace tasuki::tool
