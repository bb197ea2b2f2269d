#include "bench/driver/benchmarks/sweep.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>

#include "bench/driver/figures/text.h"
#include "bench/driver/jobs/contest.h"
#include "bench/driver/jobs/hosts.h"
#include "bench/driver/jobs/machine.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

// One of the jobs under Tasuki.
struct Variant {
  int helpers;
  uint64_t chunk;  // 0: the default
};

struct Cell {
  uint64_t block, count;
  int stride;  // in blocks; 1: contiguous
  uint64_t bytes() const { return block * count; }
};

// Cores for a rank and its helper threads, as far as there are any. Ranks that share cores without need would
// be measured where the kernel happens to put them.
int cores_each(const SweepOptions& options, int ranks) {
  return std::clamp(usable_cores() / ranks, 0, 1 + options.helpers.back());
}

// What cuts a message into segments inside a node, and between hosts.
std::string segment_setting(const TwoHosts* hosts) {
  return hosts == nullptr ? "TASUKI_CHUNK" : "TASUKI_SEGMENT";
}

// The times of an operation's answer: half round trips, or messages one after the other.
double parts_of(const std::string& operation) {
  constexpr double kStream = 64;  // as in measure/sweep/main.c
  if (operation == "pingpong") return 2;
  return operation == "send" || operation == "isend" ? kStream : 1;
}

// The jobs of one setting (a place, a number of ranks): plain MPI first, then the variants, then peers.
class Stage {
 public:
  Stage(const SweepOptions& options, int ranks, const TwoHosts* hosts, std::vector<Variant> variants)
      : options_(options), variants_(std::move(variants)) {
    const std::vector<std::string> launcher =
        hosts != nullptr
            ? hosts->launch_command(options.mpi, ranks, options.launch_args)
            : bench::launch_command(options.mpi, ranks, cores_each(options, ranks), options.launch_args);
    const std::vector<std::string> environment =
        hosts != nullptr ? hosts->environment(options.mpi) : std::vector<std::string>();
    for (size_t i = 0; i <= variants_.size(); i++) {
      JobSpec spec{i == 0 ? "plain MPI" : "Tasuki", launcher, {}, options.program, environment, ranks};
      if (i > 0) {
        const Variant& v = variants_[i - 1];
        spec.runner = options.runner;
        spec.environment.push_back("TASUKI_STATS=1");
        spec.environment.push_back("TASUKI_THREADS=" + std::to_string(v.helpers));
        if (v.chunk != 0)
          spec.environment.push_back(segment_setting(hosts) + ("=" + std::to_string(v.chunk)));
        spec.name += ", " + std::to_string(v.helpers) + " helpers";
        if (v.chunk != 0) spec.name += ", segments of " + readable(v.chunk);
      }
      jobs_.emplace_back(spec);
    }
    for (const Peer& p : hosts == nullptr ? options.peers : std::vector<Peer>())
      jobs_.emplace_back(
          JobSpec{p.mpi.name,
                  bench::launch_command(p.mpi, ranks, cores_each(options, ranks), options.launch_args),
                  {},
                  p.program,
                  environment,
                  ranks});
  }

  Status start() {
    std::vector<Job*> all;
    for (Job& job : jobs_) {
      Answer answer;
      if (Status s = job.start(kStartTimeout, &answer); !s.ok()) return s;
      if (all.empty()) hello = answer;
      all.push_back(&job);
    }
    contest_ = std::make_unique<Contest>(all);
    return Status();
  }
  Status stop(double* sent, std::vector<std::string>* notes) {
    for (Job& job : jobs_)
      if (Status s = job.stop(); !s.ok()) return s;
    for (size_t i = 0; i < jobs_.size(); i++) {
      std::string rest;
      const double n = messages_sent(jobs_[i].output(), &rest);
      if (i > 0 && i <= variants_.size()) *sent += n;
      note_output(jobs_[i].name(), rest, notes);
    }
    return Status();
  }

  // Times of all jobs for one cell. `limits`: and of memcpy.
  Status measure(const Cell& cell, const std::string& operation, bool limits, double seconds,
                 double block_us = kBlockUs) {
    Contest& c = *contest_;
    c.begin();
    memcpy_us.clear();
    memcpy2_us.clear();
    const double start = monotonic_seconds();
    char shape[120];
    snprintf(shape, sizeof shape, "shape %llu %llu %llu", static_cast<unsigned long long>(cell.block),
             static_cast<unsigned long long>(cell.count),
             static_cast<unsigned long long>(cell.block * static_cast<uint64_t>(cell.stride)));
    if (Status s = c.ask_all(shape); !s.ok()) return s;
    const auto verify = [&] { return c.ask_all("verify " + operation + " " + std::to_string(++seed_)); };
    if (Status s = verify(); !s.ok() || !c.failure().empty()) return s;
    const double left = std::max(0.02, seconds - (monotonic_seconds() - start));
    const double limits_us = std::clamp(left * 1e6 / (options_.rounds * 10), 300.0, 10000.0);
    const auto command = [&](const Job&, const Repetitions& r) {
      char text[120];
      snprintf(text, sizeof text, "time %s %ld %ld %d", operation.c_str(), r.warm, r.n, r.blocks);
      return std::string(text);
    };
    const auto after = [&] {
      Answer answer;
      if (!limits) return Status();
      if (Status s = c.ask(c.contestant(0).job, "limits " + std::to_string(limits_us), &answer); !s.ok())
        return s;
      memcpy_us.push_back(number(answer.values[0], "memcpy"));
      memcpy2_us.push_back(number(answer.values[0], "memcpy2"));
      return Status();
    };
    const Turns turns{left, options_.rounds, 0, parts_of(operation), 1, limits ? limits_us : 0, block_us};
    if (Status s = c.take_turns(turns, command, after); !s.ok() || !c.failure().empty()) return s;
    return verify();
  }

  // The row of one variant.
  json row(const Cell& cell, size_t variant) const {
    const Contestant &plain = contest_->contestant(0), &tasuki = contest_->contestant(variant + 1);
    const Variant& v = variants_[variant];
    json r = {{"bytes", cell.bytes()}, {"block", cell.block},
              {"count", cell.count},   {"stride_ratio", cell.stride},
              {"helpers", v.helpers},  {"plain_us", nullptr},
              {"tasuki_us", nullptr},  {"verified", contest_->failure().empty()}};
    if (v.chunk != 0) r["chunk"] = v.chunk;
    if (!contest_->failure().empty()) r["failure"] = contest_->failure();
    if (plain.medians.empty() || tasuki.medians.empty()) return r;
    double best = plain.median_us();
    if (jobs_.size() > variants_.size() + 1) {
      r["best_peer"] = options_.mpi.name;
      r["peers_us"][options_.mpi.name] = round4(best);
    }
    for (size_t i = variants_.size() + 1; i < jobs_.size(); i++) {
      const Contestant& peer = contest_->contestant(i);
      if (peer.medians.empty()) continue;
      r["peers_us"][jobs_[i].name()] = round4(peer.median_us());
      if (peer.median_us() >= best) continue;
      best = peer.median_us();
      r["best_peer"] = jobs_[i].name();
    }
    r["plain_us"] = round4(best);
    r["tasuki_us"] = round4(tasuki.median_us());
    r["ratio"] = round4(best / tasuki.median_us());
    r["plain_spread_us"] = plain.spread();
    r["tasuki_spread_us"] = tasuki.spread();
    r["noisy"] = plain.noisy() || tasuki.noisy();
    for (size_t i = 0; i < variants_.size(); i++)
      if (variants_[i].helpers == 0 && variants_[i].chunk == v.chunk)
        r["single_us"] = round4(contest_->contestant(i + 1).median_us());
    if (!memcpy_us.empty()) r["memcpy_us"] = round4(median(memcpy_us));
    if (!memcpy2_us.empty() && !std::isnan(memcpy2_us[0])) r["memcpy2_us"] = round4(median(memcpy2_us));
    return r;
  }
  size_t variants() const { return variants_.size(); }
  double median_us(size_t i) const { return contest_->contestant(i).median_us(); }

  Answer hello;
  std::vector<double> memcpy_us, memcpy2_us;

 private:
  const SweepOptions& options_;
  std::vector<Variant> variants_;
  std::deque<Job> jobs_;
  std::unique_ptr<Contest> contest_;
  unsigned seed_ = 1;
};

class Runner {
 public:
  Runner(const SweepOptions& options, const std::function<void(const DdtProgress&)>& progress)
      : options_(options), progress_(progress), notes_(load_notes()) {}
  Result<json> run();

 private:
  Status pack();
  Status typed();
  Status bcast();
  Status bcast_at(const std::string& place, const TwoHosts* hosts);
  Status messages();
  Status rma();
  Status collectives();
  Status collectives_at(const std::string& place, const TwoHosts* hosts);
  Result<bool> make_hosts(TwoHosts* hosts);
  bool is_measured(const char* place) const;
  Status typed_at(const std::string& place, const TwoHosts* hosts);
  std::vector<Cell> cells() const;
  std::vector<Variant> helper_variants() const;
  void plan(size_t cells);
  double begin_cell(const std::string& what);
  void add(json row, const std::string& operation, const std::string& pattern);
  void figure(const std::string& title, const std::string& caption, const json& where,
              const std::string& kind, const json& of, const std::string& x = "block",
              const std::string& y = "count");

  const SweepOptions& options_;
  const std::function<void(const DdtProgress&)>& progress_;
  std::vector<std::string> notes_;
  json rows_ = json::array(), figures_ = json::array(), hello_;
  bool verified_ = true;
  double sent_ = 0, end_ = 0, fair_ = 0;
  int cell_ = 0, cells_ = 0;
};

std::vector<Cell> Runner::cells() const {
  std::vector<Cell> all;
  for (const int stride : options_.strides)
    for (const uint64_t block : options_.blocks)
      for (const uint64_t count : options_.counts)
        if (block * count <= options_.max_bytes) all.push_back({block, count, stride});
  return all;
}

std::vector<Variant> Runner::helper_variants() const {
  std::vector<Variant> all;
  for (const int n : options_.helpers) all.push_back({n, 0});
  return all;
}

void Runner::plan(size_t cells) {
  cells_ = static_cast<int>(cells);
  fair_ = options_.seconds > 0 ? options_.seconds / static_cast<double>(cells) : 0.25;
  end_ = monotonic_seconds() + fair_ * static_cast<double>(cells);
}

// The time for the next cell. Large cells take longer than theirs; the small ones must not pay for it.
double Runner::begin_cell(const std::string& what) {
  progress_({cell_ + 1, cells_, end_ - monotonic_seconds(), what});
  const double left = (end_ - monotonic_seconds()) / std::max(1, cells_ - cell_);
  cell_++;
  return std::clamp(left, fair_ / 2, fair_ * 2);
}

void Runner::add(json row, const std::string& operation, const std::string& pattern) {
  row["operation"] = operation;
  row["pattern"] = operation + " " + pattern;
  verified_ = verified_ && row["verified"].get<bool>();
  rows_.push_back(std::move(row));
}

void Runner::figure(const std::string& title, const std::string& caption, const json& where,
                    const std::string& kind, const json& of, const std::string& x, const std::string& y) {
  figures_.push_back({{"title", title},
                      {"caption", caption},
                      {"where", where},
                      {"kind", kind},
                      {"of", of},
                      {"x", x},
                      {"y", y}});
}

std::string cell_name(const Cell& c) {
  return std::to_string(c.count) + " x " + readable(c.block) + " every " + std::to_string(c.stride);
}
std::string helpers_text(int n) {
  return n == 0 ? "no helper thread" : n == 1 ? "1 helper thread" : std::to_string(n) + " helper threads";
}

Status Runner::pack() {
  const std::vector<Cell> all = cells();
  plan(2 * all.size());
  Stage stage(options_, 1, nullptr, helper_variants());
  if (Status s = stage.start(); !s.ok()) return s;
  hello_ = stage.hello.values[0];
  for (const std::string operation : {"pack", "unpack"})
    for (const Cell& c : all) {
      const double seconds = begin_cell(operation + " " + cell_name(c) + " blocks");
      if (Status s = stage.measure(c, operation, true, seconds); !s.ok()) return s;
      for (size_t v = 0; v < stage.variants(); v++)
        add(stage.row(c, v), operation, cell_name(c) + ", " + helpers_text(options_.helpers[v]));
    }
  for (const std::string operation : {"pack", "unpack"})
    for (const int stride : options_.strides) {
      const std::string name = operation == "pack" ? "MPI_Pack" : "MPI_Unpack";
      const std::string paper = operation == "pack" ? "figure 1" : "figure 2";
      const std::string distance = "Blocks every " + std::to_string(stride) + " block lengths. ";
      json where = {{"operation", operation}, {"stride_ratio", stride}};
      for (const int n : options_.helpers) {
        where["helpers"] = n;
        figure(name + ": plain MPI against Tasuki, " + helpers_text(n),
               distance + "Speed-up: time of plain MPI / time of Tasuki.", where, "ratio",
               {"plain_us", "tasuki_us"});
        if (n > 0 && options_.helpers[0] == 0)
          figure(name + ": " + helpers_text(n) + " against one thread",
                 distance + "Speed-up within Tasuki (" + paper + " of the HPC-152 report).", where, "ratio",
                 {"single_us", "tasuki_us"});
      }
      where["helpers"] = options_.helpers[0];
      figure(name + ": two memcpy threads against one", "The limit for a second thread on this machine.",
             where, "ratio", {"memcpy_us", "memcpy2_us"});
      figure(name + ": plain MPI", distance + "Packed bytes by time.", where, "rate", {"plain_us"});
      for (const int n : options_.helpers) {
        where["helpers"] = n;
        figure(name + ": Tasuki, " + helpers_text(n), distance + "Packed bytes by time.", where, "rate",
               {"tasuki_us"});
      }
      figure("memcpy of as many bytes", "The limit for one thread.", where, "rate", {"memcpy_us"});
    }
  return stage.stop(&sent_, &notes_);
}

Status Runner::typed_at(const std::string& place, const TwoHosts* hosts) {
  const std::vector<Cell> all = cells();
  Stage stage(options_, 2, hosts, helper_variants());
  if (Status s = stage.start(); !s.ok()) return s;
  hello_ = stage.hello.values[0];
  // Contiguous messages of the same sizes come first: every row is compared with one.
  std::map<uint64_t, std::vector<double>> contiguous;
  for (const Cell& c : all) contiguous[c.bytes()];
  for (auto& [bytes, times] : contiguous) {
    const double seconds = begin_cell(place + ", " + readable(bytes) + " contiguous bytes");
    const Cell dense{bytes, 1, 1};
    if (Status s = stage.measure(dense, "pingpong", false, seconds); !s.ok()) return s;
    for (size_t i = 0; i <= stage.variants(); i++) times.push_back(stage.median_us(i));
    for (size_t v = 0; v < stage.variants(); v++)
      add(stage.row(dense, v), place + " contiguous",
          readable(bytes) + ", " + helpers_text(options_.helpers[v]));
  }
  for (const Cell& c : all) {
    const double seconds = begin_cell(place + ", " + cell_name(c) + " blocks");
    if (Status s = stage.measure(c, "pingpong", false, seconds); !s.ok()) return s;
    for (size_t v = 0; v < stage.variants(); v++) {
      json row = stage.row(c, v);
      row["contiguous_us"] = round4(contiguous[c.bytes()][0]);
      row["contiguous_tasuki_us"] = round4(contiguous[c.bytes()][v + 1]);
      add(std::move(row), place, cell_name(c) + ", " + helpers_text(options_.helpers[v]));
    }
  }
  const bool inside = hosts == nullptr;
  const std::string name = inside ? "Inside the node" : "Between two hosts";
  const std::string paper = inside ? "figure 4" : "figures 3 and 8";
  for (const int stride : options_.strides)
    for (const int n : options_.helpers) {
      const json where = {{"operation", place}, {"stride_ratio", stride}, {"helpers", n}};
      const std::string distance =
          "Typed ping-pong, blocks every " + std::to_string(stride) + " block lengths. ";
      figure(name + ": plain MPI against Tasuki, " + helpers_text(n), distance + "Speed-up of the latency.",
             where, "ratio", {"plain_us", "tasuki_us"});
      if (n > 0 && options_.helpers[0] == 0)
        figure(name + ": " + helpers_text(n) + " against none",
               distance + "Speed-up within Tasuki (" + paper + " of the HPC-152 report).", where, "ratio",
               {"single_us", "tasuki_us"});
      figure(
          name + ": contiguous plain MPI against typed Tasuki, " + helpers_text(n),
          distance + "Above 1: the typed message is faster than plain MPI's contiguous one of as many bytes.",
          where, "ratio", {"contiguous_us", "tasuki_us"});
    }
  return stage.stop(&sent_, &notes_);
}

bool Runner::is_measured(const char* place) const {
  return std::count(options_.where.begin(), options_.where.end(), place) > 0;
}

// False: not to be measured there.
Result<bool> Runner::make_hosts(TwoHosts* hosts) {
  if (!is_measured("hosts")) return false;
  const Status s = hosts->make();
  if (!s.ok() && (options_.need_hosts || !is_measured("node") || s.err() != EPERM)) return s;
  if (!s.ok()) notes_.push_back("not measured between hosts: " + s.message());
  return s.ok();
}

Status Runner::typed() {
  const bool node = is_measured("node");
  TwoHosts hosts;
  const Result<bool> made = make_hosts(&hosts);
  if (!made.ok()) return made.status();
  const bool between = made.value();
  std::vector<uint64_t> totals;
  const std::vector<Cell> all = cells();
  for (const Cell& c : all) totals.push_back(c.bytes());
  std::sort(totals.begin(), totals.end());
  totals.erase(std::unique(totals.begin(), totals.end()), totals.end());
  plan((all.size() + totals.size()) * (between && node ? 2 : 1));
  if (node)
    if (Status s = typed_at("node", nullptr); !s.ok()) return s;
  return between ? typed_at("hosts", &hosts) : Status();
}

Status Runner::bcast() {
  TwoHosts hosts;
  const Result<bool> made = make_hosts(&hosts);
  if (!made.ok()) return made.status();
  const bool node = is_measured("node");
  plan(2 * options_.sizes.size() * options_.ranks.size() * (node && made.value() ? 2 : 1));
  if (node)
    if (Status s = bcast_at("node", nullptr); !s.ok()) return s;
  return made.value() ? bcast_at("hosts", &hosts) : Status();
}

Status Runner::bcast_at(const std::string& place, const TwoHosts* hosts) {
  const std::string where_text = hosts == nullptr ? "" : " on two hosts";
  std::vector<Variant> variants;
  for (const uint64_t chunk : options_.chunks)
    for (const int n : options_.helpers) variants.push_back({n, chunk});
  constexpr uint64_t kBlock = 64;  // of the typed message, every 128 bytes
  for (const int ranks : options_.ranks) {
    Stage stage(options_, ranks, hosts, variants);
    if (Status s = stage.start(); !s.ok()) return s;
    hello_ = stage.hello.values[0];
    for (const std::string kind : {"dense", "typed"})
      for (const uint64_t bytes : options_.sizes) {
        const Cell cell =
            kind == "dense" ? Cell{bytes, 1, 1} : Cell{kBlock, std::max<uint64_t>(1, bytes / kBlock), 2};
        const double seconds = begin_cell(kind + " broadcast of " + readable(bytes) + " bytes, " +
                                          std::to_string(ranks) + " ranks" + where_text);
        if (Status s = stage.measure(cell, "bcast", false, seconds); !s.ok()) return s;
        for (size_t v = 0; v < variants.size(); v++) {
          json row = stage.row(cell, v);
          row["ranks"] = ranks;
          row["size"] = bytes;
          row["where"] = place;
          add(std::move(row), kind,
              readable(bytes) + ", " + std::to_string(ranks) + " ranks" + where_text + ", " +
                  readable(variants[v].chunk) + " segments, " + helpers_text(variants[v].helpers));
        }
      }
    for (const std::string kind : {"dense", "typed"})
      for (const int n : options_.helpers) {
        const json where = {{"operation", kind}, {"ranks", ranks}, {"helpers", n}, {"where", place}};
        const std::string what = (kind == "dense" ? "Dense broadcast, " : "Typed broadcast, ") +
                                 std::to_string(ranks) + " ranks" + where_text;
        const std::string note = kind == "dense" ? "" : "Blocks of 64 bytes every 128. ";
        figure(what + ": plain MPI against Tasuki, " + helpers_text(n),
               note + "Speed-up by segment size (" + segment_setting(hosts) +
                   ") and message size (figures 5 to 7 and 9 of the HPC-152 report).",
               where, "ratio", {"plain_us", "tasuki_us"}, "chunk", "size");
        figure(what + ": Tasuki, " + helpers_text(n),
               note + "Message bytes by time until the last rank has them.", where, "rate", {"tasuki_us"},
               "chunk", "size");
      }
    if (Status s = stage.stop(&sent_, &notes_); !s.ok()) return s;
  }
  return Status();
}

Status Runner::messages() {
  const struct {
    const char* operation;
    const char* what;
  } kOperations[] = {{"pingpong", "One message and one back"},
                     {"send", "64 messages by MPI_Send, and an answer"},
                     {"isend", "64 messages by MPI_Isend, and an answer"}};
  plan(3 * options_.sizes.size());
  Stage stage(options_, 2, nullptr, {{options_.helpers[0], 0}});
  if (Status s = stage.start(); !s.ok()) return s;
  hello_ = stage.hello.values[0];
  for (const auto& [operation, what] : kOperations) {
    for (const uint64_t bytes : options_.sizes) {
      const Cell cell{bytes, 1, 1};
      const double seconds = begin_cell(std::string(operation) + ", " + readable(bytes));
      if (Status s = stage.measure(cell, operation, false, seconds); !s.ok()) return s;
      json row = stage.row(cell, 0);
      row["size"] = bytes;
      add(std::move(row), operation, readable(bytes));
    }
    figure(std::string(what) + ": the best plain MPI against Tasuki", "Contiguous bytes between two ranks.",
           {{"operation", operation}}, "ratio", {"plain_us", "tasuki_us"}, "size", "count");
  }
  return stage.stop(&sent_, &notes_);
}

Status Runner::rma() {
  const struct {
    const char* operation;
    const char* call;
  } kOperations[] = {{"put", "MPI_Put"},
                     {"get", "MPI_Get"},
                     {"accumulate", "MPI_Accumulate (sum of doubles)"},
                     {"fetch_and_op", "MPI_Fetch_and_op (sum of one double)"}};
  plan(6 * options_.sizes.size() + 1);
  Stage stage(options_, 2, nullptr, helper_variants());
  if (Status s = stage.start(); !s.ok()) return s;
  hello_ = stage.hello.values[0];
  for (const auto& [operation, call] : kOperations) {
    for (const uint64_t bytes : options_.sizes)
      for (const int stride : {1, 2}) {  // doubles, contiguous or every other one
        const bool one = std::string(operation) == "fetch_and_op";
        if (one && (stride != 1 || bytes != options_.sizes[0])) continue;
        const Cell cell = one           ? Cell{sizeof(double), 1, 1}
                          : stride == 1 ? Cell{bytes, 1, 1}
                                        : Cell{sizeof(double), bytes / sizeof(double), 2};
        const std::string what = (stride == 1 ? "" : "typed ") + readable(cell.bytes());
        const double seconds = begin_cell(std::string(operation) + ", " + what);
        if (Status s = stage.measure(cell, operation, false, seconds); !s.ok()) return s;
        for (size_t v = 0; v < stage.variants(); v++) {
          json row = stage.row(cell, v);
          row["size"] = cell.bytes();
          add(std::move(row), operation, what + ", " + helpers_text(options_.helpers[v]));
        }
      }
    for (const int n : options_.helpers)
      figure(std::string(call) + ": the best plain MPI against Tasuki, " + helpers_text(n),
             "Distance 1: contiguous; 2: every other double, on both sides. Each operation with a flush, the "
             "target in a barrier.",
             {{"operation", operation}, {"helpers", n}}, "ratio", {"plain_us", "tasuki_us"}, "size",
             "stride_ratio");
  }
  return stage.stop(&sent_, &notes_);
}

// The shape of a rank's piece, or vector.
Cell collective_cell(const std::string& operation, uint64_t bytes, int ranks) {
  constexpr uint64_t kNumber = sizeof(double);
  if (operation.ends_with("alltoallw")) return {kNumber, std::max<uint64_t>(1, bytes / kNumber), 2};
  const uint64_t unit =
      operation == "reduce_scatter_block" ? kNumber * static_cast<uint64_t>(ranks) : kNumber;
  return {(bytes + unit - 1) / unit * unit, 1, 1};
}

// Each block ends with a barrier, which has to be little of it.
constexpr double kWithBarrierUs = 400;

Status Runner::collectives_at(const std::string& place, const TwoHosts* hosts) {
  constexpr uint64_t kMostMemory = 1 << 30;  // of all ranks of all jobs: their buffers of both sides
  for (const int ranks : options_.ranks) {
    Stage stage(options_, ranks, hosts, {{options_.helpers[0], 0}});
    if (Status s = stage.start(); !s.ok()) return s;
    hello_ = stage.hello.values[0];
    for (const std::string& operation : options_.operations)
      for (const uint64_t bytes : options_.sizes) {
        const Cell cell = collective_cell(operation, bytes, ranks);
        const std::string what = readable(bytes) + ", " + std::to_string(ranks) + " ranks" +
                                 (hosts == nullptr ? "" : " on two hosts");
        const double seconds = begin_cell(operation + " of " + what);
        const uint64_t jobs = 2 + options_.peers.size(), n = static_cast<uint64_t>(ranks);
        if (2 * cell.bytes() * static_cast<uint64_t>(cell.stride) * n * n * jobs > kMostMemory) {
          notes_.push_back("not measured, for want of memory: " + operation + " of " + what);
          continue;
        }
        if (Status s = stage.measure(cell, operation, false, seconds, kWithBarrierUs); !s.ok()) return s;
        json row = stage.row(cell, 0);
        row["ranks"] = ranks;
        row["size"] = bytes;
        row["where"] = place;
        add(std::move(row), operation, what);
      }
    if (Status s = stage.stop(&sent_, &notes_); !s.ok()) return s;
  }
  for (const std::string& operation : options_.operations)
    figure(operation + (hosts == nullptr ? ": the best plain MPI against Tasuki"
                                         : " on two hosts: plain MPI against Tasuki"),
           "Speed-up by bytes of a rank's piece, or vector, and number of ranks.",
           {{"operation", operation}, {"where", place}}, "ratio", {"plain_us", "tasuki_us"}, "size", "ranks");
  return Status();
}

Status Runner::collectives() {
  TwoHosts hosts;
  const Result<bool> made = make_hosts(&hosts);
  if (!made.ok()) return made.status();
  const size_t cells = options_.operations.size() * options_.sizes.size() * options_.ranks.size();
  plan(cells * (is_measured("node") && made.value() ? 2 : 1));
  if (is_measured("node"))
    if (Status s = collectives_at("node", nullptr); !s.ok()) return s;
  return made.value() ? collectives_at("hosts", &hosts) : Status();
}

Result<json> Runner::run() {
  Status status;
  switch (options_.what) {
    case Sweep::pack:
      status = pack();
      break;
    case Sweep::typed:
      status = typed();
      break;
    case Sweep::messages:
      status = messages();
      break;
    case Sweep::bcast:
      status = bcast();
      break;
    case Sweep::rma:
      status = rma();
      break;
    case Sweep::collectives:
      status = collectives();
      break;
  }
  if (!status.ok()) return status;
  static constexpr const char* kNames[] = {"pack", "typed", "messages", "bcast", "rma", "collectives"};
  std::vector<double> ratios;
  for (const json& r : rows_)
    if (r.contains("ratio") && r["operation"].get<std::string>().find("contiguous") == std::string::npos)
      ratios.push_back(r["ratio"]);
  if (options_.what == Sweep::typed && options_.default_runner && sent_ == 0 &&
      std::count(options_.where.begin(), options_.where.end(), "node") > 0)
    notes_.push_back("Tasuki moved no message: both columns are plain MPI; see `tasuki doctor`");
  const Fields hello = hello_.get<Fields>();
  return json{{"benchmark", kNames[static_cast<int>(options_.what)]},
              {"format", 1},
              {"date", utc_time()},
              {"mpi", options_.mpi.name},
              {"machine", describe_machine()},
              {"versions", versions(hello)},
              {"settings",
               {{"rounds", options_.rounds},
                {"seconds", fair_ * cells_},
                {"max_bytes", options_.max_bytes},
                {"rank_cores", {text(hello, "cores")}},
                {"runner", options_.default_runner ? "tasuki run" : joined(options_.runner)},
                {"launch_args", options_.launch_args},
                {"environment", environment_settings()}}},
              {"rows", rows_},
              {"contiguous", json::array()},
              {"figures", figures_},
              {"geomean", ratios.empty() ? json() : json(round4(geometric_mean(ratios)))},
              {"verified", verified_},
              {"tasuki_messages", sent_},
              {"notes", notes_}};
}

}  // namespace

Result<json> run_sweep(const SweepOptions& options, const std::function<void(const DdtProgress&)>& progress) {
  catch_interrupts();
  permit_root();
  return Runner(options, progress).run();
}

}  // namespace tasuki::bench
