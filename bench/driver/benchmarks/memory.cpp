#include "bench/driver/benchmarks/memory.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "bench/driver/benchmarks/memory_paper.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/jobs/hosts.h"
#include "bench/driver/jobs/limit.h"
#include "bench/driver/jobs/machine.h"
#include "os/files/temporary_folder.h"
#include "os/files/text_file.h"

namespace tasuki::bench {

using nlohmann::json;

namespace {

constexpr uint64_t MiB = 1 << 20;
// What a program needs beside its data, and its page tables: a limit of memory is this much above the data's.
constexpr uint64_t kProgramBytes = 8 * MiB;
// Fewer pages than these in local memory: not a case that anybody would want to know about.
constexpr uint64_t kFewestPages = 8;
// The pager's least.
constexpr uint64_t kLeastLocal = 256 * 1024;
// A program whose results are complete has this long to end.
constexpr double kEndSeconds = 20;

bool needs_limit(const std::string& kind) {
  return kind.rfind("file", 0) == 0 || kind.rfind("swap", 0) == 0;
}

// One start of a program.
struct Outcome {
  json result;          // null: there is none
  json report;          // the pager's own (--stats), or null
  std::string failure;  // not empty: what went wrong
  bool finished = true;

  bool verified() const { return failure.empty(); }
};

// The runs of one point of a group, and what became of them.
struct Measured {
  const MemoryPoint* point;
  uint64_t local_bytes = 0;
  std::vector<Outcome> outcomes{};  // of each round
};

json read_json(const std::string& file) {
  json j = json::parse(os::file_or_empty(file), nullptr, false);
  return j.is_discarded() ? json() : j;
}

// The beginning, where programs say what is wrong, and the end.
std::string shortened(const std::string& text) {
  constexpr size_t kHead = 700, kTail = 200;
  if (text.size() <= kHead + kTail) return text;
  return text.substr(0, kHead) + "\n...\n" + text.substr(text.size() - kTail);
}

class Runner {
 public:
  Runner(const MemoryOptions& options, const std::function<void(const DdtProgress&)>& progress)
      : options_(options), progress_(progress) {}

  Result<json> run();

 private:
  Status prepare();
  Status measure_transport();
  Status transport(size_t mpi, const std::string& where);
  Status group(const MemoryGroup& group);
  Result<Outcome> start(const MemoryKernel& kernel, const MemoryPoint& point, uint64_t bytes,
                        uint64_t local_bytes);
  Result<Outcome> run_program(const std::vector<std::string>& words,
                              const std::vector<std::string>& environment, double limit, bool may_hang);
  void add_row(const MemoryKernel& kernel, const json& part, const Measured& plain, const Measured& measured);
  void add_share(json* row) const;
  bool left_out(const MemoryPoint& point, uint64_t local_bytes);
  void report(const std::string& text);
  void note(const std::string& text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
  }
  bool wants(const std::function<bool(const MemoryPoint&)>& what) const;

  const MemoryOptions& options_;
  const std::function<void(const DdtProgress&)>& progress_;
  os::TemporaryFolder folder_;
  std::unique_ptr<TwoHosts> hosts_;
  MemoryLimit limit_;
  json peers_ = json::object();  // kind -> "measured", or why not
  json transport_ = json::array();
  json rows_ = json::array();
  std::vector<std::string> notes_;
  json mpi_versions_ = json::object();
  std::string compiler_;
  bool verified_ = true;
  int done_ = 0, all_ = 0;
  double began_ = 0;
};

bool Runner::wants(const std::function<bool(const MemoryPoint&)>& what) const {
  for (const MemoryGroup& g : options_.groups)
    if (std::any_of(g.points.begin(), g.points.end(), what)) return true;
  return false;
}

void Runner::report(const std::string& text) {
  done_++;
  const double spent = monotonic_seconds() - began_;
  progress_({done_, all_, spent / done_ * (all_ - done_), text});
}

// What the points need of this machine; where it is not to be had, they are not measured.
Status Runner::prepare() {
  if (Status s = folder_.make("tasuki-bench"); !s.ok()) return s;
  if (wants([](const MemoryPoint& p) { return p.where == "hosts"; })) {
    hosts_ = std::make_unique<TwoHosts>();
    if (const Status s = hosts_->make(); !s.ok()) {
      if (s.err() != EPERM || options_.need_hosts) return s;
      hosts_.reset();
      note("not measured between two hosts: " + s.message());
    }
  }
  Status limited;
  if (wants([](const MemoryPoint& p) { return needs_limit(p.kind); })) limited = limit_.make();
  for (const char* kind : kMemoryPeers) {
    if (!wants([kind](const MemoryPoint& p) { return p.kind == kind; })) continue;
    peers_[kind] = "measured";
    if (std::string(kind) == "umap") {
      if (options_.umap_program.empty())
        peers_[kind] =
            "LLNL UMap was not found when this tasuki was built ("
            "cmake -DCMAKE_PREFIX_PATH=where it is)";
      continue;
    }
    if (!limited.ok()) {
      peers_[kind] = limited.message();
      continue;
    }
    // Is it permitted? A small one will tell.
    Space probe;
    if (const Status s = probe.make(kind, 16 * MiB, options_.folder); !s.ok()) peers_[kind] = s.message();
  }
  return Status();
}

Result<Outcome> Runner::run_program(const std::vector<std::string>& words,
                                    const std::vector<std::string>& environment, double limit,
                                    bool may_hang) {
  const std::string file = folder_.path() + "/result.json", report = folder_.path() + "/stats.json";
  std::error_code ignored;
  for (const std::string& old : {file, report}) std::filesystem::remove(old, ignored);
  Child child;
  Outcome out;
  if (Status s = child.start(words, environment); !s.ok()) {
    out.finished = false;
    out.failure = "no results: " + s.message();
    return out;
  }
  double complete = 0;  // since when the result has been there
  bool killed = false;
  for (const double deadline = monotonic_seconds() + limit; !child.ended();
       std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    if (interrupted() != 0) return Status::error(EINTR, "interrupted");
    std::error_code none;
    const auto written = std::filesystem::file_size(file, none);  // 0 until the results are there
    if (complete == 0 && !none && written > 0 && !read_json(file).is_null()) complete = monotonic_seconds();
    if (complete != 0 && monotonic_seconds() > complete + kEndSeconds) {
      child.end();
      killed = true;
      if (may_hang)
        note(
            "programs between hosts did not end by themselves: MPICH before 4.2 hangs in MPI_Finalize there");
      else
        out.failure = "the program does not end; it wrote: " + shortened(child.output());
      break;
    }
    if (complete == 0 && monotonic_seconds() > deadline) {
      child.end();
      out.finished = false;
      out.failure = "not finished in " + std::to_string(std::lround(limit)) + " seconds";
      return out;
    }
  }
  out.result = read_json(file);
  out.report = read_json(report);
  if (out.result.is_null()) {
    out.finished = false;
    out.failure = "no results: " + shortened(child.how_it_ended());
  } else if (!out.result.value("verified", true)) {  // what the transport measures does not say
    out.failure = out.result["failure"].get<std::string>();
  } else if (out.failure.empty() && !child.ended_well() && !killed) {
    out.failure = "ended badly: " + shortened(child.how_it_ended());
  }
  return out;
}

Result<Outcome> Runner::start(const MemoryKernel& kernel, const MemoryPoint& point, uint64_t bytes,
                              uint64_t local_bytes) {
  std::vector<std::string> words, environment, program;
  Space space;
  bool may_hang = false;
  const std::string& kind = point.kind;
  if (kind == "cluster") {
    const MemoryMpi& m = options_.mpis[point.mpi];
    if (point.where == "hosts") {
      words = hosts_->launch_command(m.mpi, point.servers + 1, options_.launch_args, 1);
      environment = hosts_->environment(m.mpi);
      may_hang = m.mpi.kind != "openmpi";
    } else {
      // Not bound: rank 0 has several threads.
      words = launch_command(m.mpi, point.servers + 1, 0, options_.launch_args);
    }
    program = {m.program};
  } else if (kind == "umap") {
    program = {options_.umap_program, "--folder", options_.ram_folder};
    environment = {
        "UMAP_PAGESIZE=" + std::to_string(point.page),
        "UMAP_BUFSIZE=" + std::to_string(std::max<uint64_t>(kFewestPages, local_bytes / point.page))};
  } else {
    program = {options_.plain_program};
    if (kind != "plain") {
      words = limit_.command();
      if (Status s = limit_.set(local_bytes + kProgramBytes); !s.ok()) return s;
    }
    if (needs_limit(kind)) {
      // A file system needs room of its own.
      if (Status s = space.make(kind, bytes + bytes / 8 + 64 * MiB, options_.folder); !s.ok()) {
        Outcome out;
        out.failure = s.message();
        return out;
      }
      if (!space.folder().empty()) program.insert(program.end(), {"--folder", space.folder()});
    }
  }
  words.insert(words.end(), program.begin(), program.end());
  words.push_back(kernel.name);
  if (!kernel.size.empty()) words.insert(words.end(), {"--size", kernel.size});
  if (!kernel.parts.empty()) words.insert(words.end(), {"--parts", kernel.parts});
  words.insert(words.end(),
               {"--threads", std::to_string(kernel.threads), "--warm", std::to_string(kernel.warm), "--reps",
                std::to_string(kernel.repetitions), "--out", folder_.path() + "/result.json"});
  // Threads that wait must not keep others from their cores: there are servers and a pager.
  if (kernel.threads > 1) environment.push_back("OMP_WAIT_POLICY=passive");
  if (kind == "cluster") {
    words.insert(words.end(),
                 {"--", "--local", std::to_string(local_bytes), "--stats=" + folder_.path() + "/stats.json"});
    const uint64_t all = bytes * 9 / 8;
    if (point.servers == 0)
      words.insert(words.end(), {"--store", options_.folder});
    else
      words.insert(words.end(),
                   {"--memory", std::to_string(all / static_cast<uint64_t>(point.servers) + 64 * MiB)});
    if (point.page != 0) words.insert(words.end(), {"--page-size", std::to_string(point.page)});
    if (!point.protocol.empty()) words.insert(words.end(), {"--protocol", point.protocol});
    for (size_t from = 0; from < point.settings.size();) {
      const size_t to = std::min(point.settings.find(' ', from), point.settings.size());
      if (to > from) words.push_back("--" + point.settings.substr(from, to - from));
      from = to + 1;
    }
  }
  const bool peer = kind != "plain" && kind != "cluster";
  return run_program(words, environment, peer ? options_.peer_limit_seconds : options_.limit_seconds,
                     may_hang);
}

Status Runner::transport(size_t mpi, const std::string& where) {
  const MemoryMpi& m = options_.mpis[mpi];
  const bool far = where == "hosts";
  std::vector<std::string> words = far ? hosts_->launch_command(m.mpi, 2, options_.launch_args)
                                       : launch_command(m.mpi, 2, 1, options_.launch_args);
  words.insert(words.end(), {m.transport, "--seconds", std::to_string(options_.transport_seconds), "--out",
                             folder_.path() + "/result.json"});
  Result<Outcome> out = run_program(words, far ? hosts_->environment(m.mpi) : std::vector<std::string>(),
                                    options_.limit_seconds, far && m.mpi.kind != "openmpi");
  if (!out.ok()) return out.status();
  if (out.value().result.is_null())
    return Status::error(EIO,
                         "the transport of " + m.mpi.name + " cannot be measured: " + out.value().failure);
  json t = out.value().result;
  const std::string version = t["mpi"];
  mpi_versions_[m.mpi.name] =
      version.substr(0, std::min(version.find(", package"), version.find(" MPICH Release")));
  if (compiler_.empty()) compiler_ = t["compiler"];
  t["mpi"] = m.mpi.name;
  t["where"] = where;
  transport_.push_back(t);
  report("transport of " + m.mpi.name + ", " + where);
  return Status();
}

Status Runner::measure_transport() {
  for (size_t mpi = 0; mpi < options_.mpis.size(); mpi++)
    for (const char* where : {"node", "hosts"}) {
      const std::string place = where;
      if (place == "hosts" && hosts_ == nullptr) continue;
      // Node always: it says which library this is.
      if (place == "hosts" && !wants([&](const MemoryPoint& p) { return p.mpi == mpi && p.where == place; }))
        continue;
      if (Status s = transport(mpi, place); !s.ok()) return s;
    }
  return Status();
}

// Points that cannot be measured here; the reason is in the notes.
bool Runner::left_out(const MemoryPoint& point, uint64_t local_bytes) {
  if (peers_.contains(point.kind) && peers_[point.kind] != "measured") return true;
  if (point.where == "hosts" && hosts_ == nullptr) return true;
  if (point.page == 0 || local_bytes / point.page >= kFewestPages) return false;
  note("not measured: local memory of fewer than " + std::to_string(kFewestPages) + " pages");
  return true;
}

Status Runner::group(const MemoryGroup& group) {
  const MemoryPoint plain_point;
  Measured plain{&plain_point};
  std::vector<Measured> measured;
  for (int round = 0; round < options_.rounds; round++) {
    Result<Outcome> base = start(group.kernel, plain_point, 0, 0);
    if (!base.ok()) return base.status();
    if (base.value().result.is_null())
      return Status::error(EIO, point_name(group.kernel, "", plain_point, "") + ": " + base.value().failure);
    plain.outcomes.push_back(base.value());
    const json& first = plain.outcomes[0].result;
    if (base.value().result["checksum"] != first["checksum"])
      plain.outcomes.back().failure = "its results differ from round to round";
    const uint64_t bytes = first["bytes"].get<uint64_t>();
    report(point_name(group.kernel, "", plain_point, ""));
    if (round == 0)
      for (const MemoryPoint& p : group.points) {
        // All of it: room for what alignment takes, too.
        const uint64_t local =
            p.ratio >= 100
                ? bytes + bytes / 64 + 32 * MiB
                : std::max(kLeastLocal, static_cast<uint64_t>(static_cast<double>(bytes) * p.ratio / 100));
        if (left_out(p, local))
          all_ -= options_.rounds;
        else
          measured.push_back({&p, local});
      }
    for (Measured& m : measured) {
      const std::string name = point_name(group.kernel, "", *m.point, options_.mpis[m.point->mpi].mpi.name);
      // What took too long takes too long in the next round.
      const bool again = m.outcomes.empty() || m.outcomes.back().finished;
      if (again) {
        Result<Outcome> out = start(group.kernel, *m.point, bytes, m.local_bytes);
        if (!out.ok()) return out.status();
        m.outcomes.push_back(out.value());
        Outcome& o = m.outcomes.back();
        if (o.verified() && o.result["checksum"] != first["checksum"])
          o.failure = "its results differ from those with plain malloc: checksum " +
                      o.result["checksum"].get<std::string>() + ", expected " +
                      first["checksum"].get<std::string>();
      }
      report(name);
    }
  }
  for (const json& part : plain.outcomes[0].result["parts"]) {
    add_row(group.kernel, part, plain, plain);
    for (const Measured& m : measured) add_row(group.kernel, part, plain, m);
  }
  return Status();
}

// The seconds of all repetitions of a part, over the rounds.
std::vector<double> seconds_of(const Measured& m, const std::string& part) {
  std::vector<double> all;
  for (const Outcome& o : m.outcomes) {
    if (o.result.is_null()) continue;
    for (const json& p : o.result["parts"])
      if (p["name"] == part)
        for (const json& s : p["seconds"]) all.push_back(s);
  }
  return all;
}

std::vector<double> job_seconds_of(const Measured& m) {
  std::vector<double> all;
  for (const Outcome& o : m.outcomes)
    if (!o.result.is_null()) all.push_back(o.result["job_seconds"]);
  return all;
}

// Means per repetition.
json mean_counters(const Measured& m, const std::string& part) {
  std::map<std::string, double> sums;
  double n = 0;
  for (const Outcome& o : m.outcomes) {
    if (o.result.is_null()) continue;
    for (const json& p : o.result["parts"]) {
      if (p["name"] != part) continue;
      for (const auto& [key, value] : p["counters"].items()) sums[key] += value.get<double>();
      n += static_cast<double>(p["seconds"].size());
    }
  }
  json means = json::object();
  for (const auto& [key, sum] : sums) means[key] = sum / n;
  return means;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// What the pages' way takes of the time, and how much of the transport that is.
void Runner::add_share(json* row) const {
  const json& c = (*row)["counters"];
  const double moved = c.value("bytes_in", 0.0) + c.value("bytes_out", 0.0), in = c.value("swaps_in", 0.0);
  const double seconds = (*row)["mean_seconds"];
  if (moved <= 0 || in <= 0 || seconds <= 0) return;
  (*row)["moved_gbps"] = round4(moved / seconds / 1e9);
  const double page = c["bytes_in"].get<double>() / in;
  const json* nearest = nullptr;
  for (const json& t : transport_) {
    if (t["mpi"] != (*row)["mpi"] || t["where"] != (*row)["where"]) continue;
    for (const json& s : t["sizes"])
      if (nearest == nullptr || std::abs(std::log(s["page"].get<double>() / page)) <
                                    std::abs(std::log((*nearest)["page"].get<double>() / page)))
        nearest = &s;
  }
  if (nearest == nullptr) return;
  (*row)["page_moved"] = std::round(page);
  (*row)["share"] = round4(moved / seconds / (*nearest)["fetch"].get<double>());
  if ((*nearest)["window"].is_number())
    (*row)["share_window"] = round4(moved / seconds / (*nearest)["window"].get<double>());
}

void Runner::add_row(const MemoryKernel& kernel, const json& part, const Measured& plain,
                     const Measured& measured) {
  const MemoryPoint& point = *measured.point;
  const json& base = plain.outcomes[0].result;
  const std::string mpi = point.kind == "cluster" ? options_.mpis[point.mpi].mpi.name : "";
  std::string failure;
  bool finished = true;
  for (const Outcome& o : measured.outcomes) {
    if (failure.empty()) failure = o.failure;
    finished = finished && o.finished;
  }
  // A peer that takes too long says something about the peer; everything else has to be right.
  const bool counts = point.kind == "plain" || point.kind == "cluster" || finished;
  if (!failure.empty() && counts) verified_ = false;
  const std::string name = part["name"];
  json row = {{"pattern", point_name(kernel, name, point, mpi)},
              {"bytes", base["bytes"]},
              {"kernel", kernel.name},
              {"size", base["size"]},
              {"part", name},
              {"kind", point.kind},
              {"ratio", point.kind == "plain" ? json() : json(point.ratio)},
              {"threads", kernel.threads},
              {"label", kernel.label},
              {"verified", failure.empty()},
              {"finished", finished}};
  if (point.kind != "plain") row["local_bytes"] = measured.local_bytes;
  if (point.kind == "cluster") {
    row["page"] = point.page == 0 ? json("auto") : json(point.page);
    row["protocol"] = point.protocol.empty() ? "ahead" : point.protocol;
    row["servers"] = point.servers;
    row["where"] = point.where;
    row["mpi"] = mpi;
    row["settings"] = point.settings;
  } else if (point.page != 0) {
    row["page"] = point.page;
  }
  if (!failure.empty()) row["failure"] = failure;
  const std::vector<double> seconds = seconds_of(measured, name);
  if (!seconds.empty()) {
    const double s = median(seconds), average = mean(seconds);
    const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
    row["seconds"] = s;
    row["job_seconds"] = median(job_seconds_of(measured));
    row["mean_seconds"] = average;
    row["best_seconds"] = *low;
    row["spread_seconds"] = {*low, *high};
    row["relative"] = round4(s / median(seconds_of(plain, name)));
    row["gbps"] = round4(part["bytes"].get<double>() / s / 1e9);
    row["mops"] = round4(part["operations"].get<double>() / s / 1e6);
    json counters = mean_counters(measured, name);
    if (!counters.empty()) {
      row["counters"] = counters;
      const double previous = counters.value("wait_previous", 0.0), page = counters.value("wait_page", 0.0);
      row["components"] = {{"compute", std::max(0.0, average * kernel.threads - previous - page)},
                           {"wait_previous", previous},
                           {"wait_page", page},
                           {"in", counters.value("in_seconds", 0.0)},
                           {"out", counters.value("out_seconds", 0.0)},
                           {"map", counters.value("map_seconds", 0.0)}};
      add_share(&row);
    }
    for (const Outcome& o : measured.outcomes)
      if (!o.result.is_null()) {
        row["faults"] = o.result["faults"];
        row["resident"] = o.result["resident"];
        if (!o.report.is_null()) row["mechanism"] = o.report.value("mechanism", "");
        break;
      }
  }
  rows_.push_back(row);
}

Result<json> Runner::run() {
  catch_interrupts();
  permit_root();
  notes_ = load_notes();
  began_ = monotonic_seconds();
  if (Status s = prepare(); !s.ok()) return s;
  for (const MemoryGroup& g : options_.groups)
    all_ += options_.rounds * (1 + static_cast<int>(g.points.size()));
  all_ += static_cast<int>(options_.mpis.size());
  if (Status s = measure_transport(); !s.ok()) return s;
  for (const MemoryGroup& g : options_.groups)
    if (Status s = group(g); !s.ok()) return s;
  for (const auto& [kind, text] : peers_.items())
    if (text != "measured") note("not measured: " + kind + ": " + text.get<std::string>());
  std::string library;
  for (const auto& [name, version] : mpi_versions_.items())
    library += (library.empty() ? "" : "; ") + version.get<std::string>();
  std::vector<std::string> mpis;
  for (const MemoryMpi& m : options_.mpis) mpis.push_back(m.mpi.name);
  json all = {
      {"benchmark", "memory"},
      {"format", 1},
      {"date", utc_time()},
      {"mpi", options_.mpis[0].mpi.name},
      {"machine", describe_machine()},
      {"versions",
       {{"tasuki", TASUKI_VERSION}, {"mpi", library}, {"mpi_full", mpi_versions_}, {"compiler", compiler_}}},
      {"settings",
       {{"rounds", options_.rounds},
        {"limit_seconds", options_.limit_seconds},
        {"folder", options_.folder},
        {"launch_args", options_.launch_args},
        {"mpis", mpis},
        {"environment", environment_settings()}}},
      {"transport", transport_},
      {"peers", peers_},
      {"rows", rows_},
      {"contiguous", json::array()},
      {"geomean", json()},
      {"verified", verified_},
      {"seconds", std::round(monotonic_seconds() - began_)},
      {"notes", notes_}};
  if (options_.paper) all["paper"] = {{"rows", paper_rows(all)}, {"table", paper_table(all)}};
  return all;
}

}  // namespace

Result<json> run_memory(const MemoryOptions& options,
                        const std::function<void(const DdtProgress&)>& progress) {
  return Runner(options, progress).run();
}

}  // namespace tasuki::bench
