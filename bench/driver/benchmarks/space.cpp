#include "bench/driver/benchmarks/space.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "bench/driver/figures/text.h"
#include "bench/driver/jobs/child.h"
#include "bench/driver/jobs/contest.h"
#include "bench/driver/jobs/machine.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

struct SpaceCell {
  std::string operation;  // as measure/space knows it
  uint64_t bytes;
};
constexpr uint64_t kSpaceKiB = 1 << 10, kSpaceMiB = 1 << 20, kSpacePage = 4 << 10;
constexpr struct {
  const char* operation;
  std::array<uint64_t, 4> bytes;  // 0: no further ones
} kSpaceCells[] = {{"fault", {4 * kSpaceMiB}},
                   {"mmap", {64 * kSpaceKiB, 256 * kSpaceKiB, kSpaceMiB, 16 * kSpaceMiB}},
                   {"malloc", {64 * kSpaceKiB, 256 * kSpaceKiB, kSpaceMiB, 8 * kSpaceMiB}},
                   {"madvise", {kSpaceMiB}},
                   {"mprotect", {kSpaceMiB}},
                   {"readv", {64 * kSpaceKiB, kSpaceMiB}},
                   {"thread", {}},
                   {"fork", {}},
                   {"spawn", {}}};
constexpr char kSpaceStart[] = "start";  // the start and end of a whole job

// Ranks come out of a barrier one after the other: in a long block they still do the same at the same time.
constexpr double kBlockOfRanksUs = 1000;

std::vector<SpaceCell> space_cells(const std::vector<std::string>& operations) {
  std::vector<SpaceCell> cells;
  for (const auto& [operation, sizes] : kSpaceCells) {
    if (std::count(operations.begin(), operations.end(), operation) == 0) continue;
    if (sizes[0] == 0) cells.push_back({operation, 0});
    for (const uint64_t bytes : sizes)
      if (bytes != 0) cells.push_back({operation, bytes});
  }
  return cells;
}

// Seconds for the start of a job, and for an answer of it. A fork copies the page tables of all ranks of a
// space, and all ranks fork: the time grows with the square of their number.
double job_timeout(int ranks) {
  return kStartTimeout + 10 * ranks;
}

// Microseconds from the start of a launcher to its end; EINTR if the user interrupts.
Result<double> time_job(const JobSpec& spec) {
  std::vector<std::string> words = spec.launcher;
  words.insert(words.end(), spec.runner.begin(), spec.runner.end());
  words.insert(words.end(), {spec.program, "start"});
  Child child;
  const double start = monotonic_seconds();
  if (Status s = child.start(words, spec.environment); !s.ok()) return s;
  while (!child.ended()) {
    if (interrupted() != 0) return Status::error(EINTR, "interrupted");
    if (monotonic_seconds() - start > job_timeout(spec.ranks))
      return Status::error(ETIMEDOUT, spec.name + ": a job that only starts and ends does not end");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const double us = (monotonic_seconds() - start) * 1e6;
  if (!child.ended_well()) return Status::error(ECHILD, spec.name + ": " + child.how_it_ended());
  const std::string output = child.output() + "\n";
  for (int r = 0; r < spec.ranks; r++) {
    const std::string line = "rank " + std::to_string(r) + " of " + std::to_string(spec.ranks) + "\n";
    if (output.find(line) == std::string::npos)
      return Status::error(EIO, spec.name + ": rank " + std::to_string(r) + " has not started");
  }
  return us;
}

void fill_row(const Contestant& plain, const Contestant& tasuki, json* row) {
  json& r = *row;
  if (plain.medians.empty() || tasuki.medians.empty()) return;
  r["plain_us"] = round4(plain.median_us());
  r["tasuki_us"] = round4(tasuki.median_us());
  r["ratio"] = round4(plain.median_us() / tasuki.median_us());
  if (!plain.slowest.empty() && !tasuki.slowest.empty()) {
    r["plain_slowest_us"] = round4(median(plain.slowest));
    r["tasuki_slowest_us"] = round4(median(tasuki.slowest));
  }
  r["plain_spread_us"] = plain.spread();
  r["tasuki_spread_us"] = tasuki.spread();
  r["noisy"] = plain.noisy() || tasuki.noisy();
}

class SpaceRunner {
 public:
  SpaceRunner(const SpaceOptions& options, const std::function<void(const DdtProgress&)>& progress)
      : options_(options),
        progress_(progress),
        cells_(space_cells(options.operations)),
        starts_(std::count(options.operations.begin(), options.operations.end(), kSpaceStart) > 0),
        notes_(load_notes()) {}
  Result<json> run();

 private:
  JobSpec job(const Peer& mpi, int ranks, bool tasuki) const;
  Status operations(const Peer& mpi, int ranks);
  Status measure(Contest* contest, const SpaceCell& cell, json* row);
  Status start_and_end(const Peer& mpi, int ranks);
  json begin_row(const Peer& mpi, int ranks, const SpaceCell& cell);
  double seconds_left() const;

  const SpaceOptions& options_;
  const std::function<void(const DdtProgress&)>& progress_;
  const std::vector<SpaceCell> cells_;
  const bool starts_;
  std::vector<std::string> notes_;
  json rows_ = json::array();
  Fields hello_;           // of the last job
  std::string libraries_;  // of all of them
  double fair_ = 0.5;      // seconds of a cell
  int row_ = 0, row_count_ = 0;
};

// Ranks that have cores of their own stay there.
JobSpec SpaceRunner::job(const Peer& mpi, int ranks, bool tasuki) const {
  return {tasuki ? "Tasuki" : "plain MPI",
          launch_command(mpi.mpi, ranks, usable_cores() / ranks, options_.launch_args),
          tasuki ? options_.runner : std::vector<std::string>(),
          mpi.program,
          {},
          ranks};
}

double SpaceRunner::seconds_left() const {
  return fair_ * std::max(0, row_count_ - row_);
}

json SpaceRunner::begin_row(const Peer& mpi, int ranks, const SpaceCell& cell) {
  json row = {{"operation", cell.operation}, {"bytes", cell.bytes},  {"ranks", ranks},  {"mpi", mpi.mpi.name},
              {"plain_us", nullptr},         {"tasuki_us", nullptr}, {"verified", true}};
  std::string pattern = cell.operation;
  if (cell.bytes != 0) pattern += " " + readable(cell.bytes);
  pattern += ", " + std::to_string(ranks) + (ranks == 1 ? " rank, " : " ranks, ") + mpi.mpi.name;
  row["pattern"] = pattern;
  row_++;
  progress_({row_, row_count_, seconds_left(), pattern});
  return row;
}

Status SpaceRunner::measure(Contest* contest, const SpaceCell& cell, json* row) {
  contest->begin();
  const std::string what = cell.operation + " " + std::to_string(cell.bytes);
  for (size_t i = 0; i < contest->size(); i++) {
    Answer answer;
    Job* job = contest->contestant(i).job;
    if (Status s = contest->ask(job, "try " + what, &answer); !s.ok()) return s;
    for (const Fields& of_rank : answer.values)
      if (const std::string why = text(of_rank, "refused"); !why.empty())
        (*row)["refused"] = job->name() + ": " + why;
  }
  Turns turns{.seconds = fair_, .rounds = options_.rounds, .fewest_blocks = 1, .block_us = kBlockOfRanksUs};
  if (cell.operation == "fault") turns.parts = static_cast<double>(cell.bytes / kSpacePage);
  const auto command = [&what](const Job&, const Repetitions& r) {
    return "time " + what + " " + std::to_string(r.warm) + " " + std::to_string(r.n) + " " +
           std::to_string(r.blocks);
  };
  if (contest->failure().empty() && !row->contains("refused"))
    if (Status s = contest->take_turns(turns, command, [] { return Status(); }); !s.ok()) return s;
  if (!contest->failure().empty()) {
    (*row)["verified"] = false;
    (*row)["failure"] = contest->failure();
    return Status();
  }
  fill_row(contest->contestant(0), contest->contestant(1), row);
  return Status();
}

Status SpaceRunner::operations(const Peer& mpi, int ranks) {
  Job plain(job(mpi, ranks, false)), tasuki(job(mpi, ranks, true));
  Answer answer;
  for (Job* job : {&plain, &tasuki}) {
    if (Status s = job->start(job_timeout(ranks), &answer); !s.ok()) return s;
    hello_ = answer.values[0];
    if (Status s = job->ask("meet", job_timeout(ranks), &answer); !s.ok()) return s;
  }
  if (const std::string library = library_of(hello_); libraries_.find(library) == std::string::npos)
    libraries_ += (libraries_.empty() ? "" : ", ") + library;
  for (const Fields& of_rank : answer.values)
    if (options_.default_runner && text(of_rank, "shared") != "1") {
      notes_.push_back(mpi.mpi.name + ", " + std::to_string(ranks) +
                       " ranks: not all of them share one address space; see `tasuki doctor`");
      break;
    }
  const uint64_t memory = describe_machine()["memory_bytes"];
  Contest contest({&plain, &tasuki}, job_timeout(ranks));
  for (const SpaceCell& cell : cells_) {
    json row = begin_row(mpi, ranks, cell);
    if (cell.bytes * static_cast<uint64_t>(ranks) > memory / 4) {
      notes_.push_back("not measured, for want of memory: " + row["pattern"].get<std::string>());
      continue;
    }
    if (Status s = measure(&contest, cell, &row); !s.ok()) return s;
    rows_.push_back(std::move(row));
  }
  for (Job* job : {&plain, &tasuki}) {
    if (Status s = job->stop(); !s.ok()) return s;
    note_output(job->name(), job->output(), &notes_);
  }
  return Status();
}

Status SpaceRunner::start_and_end(const Peer& mpi, int ranks) {
  json row = begin_row(mpi, ranks, {kSpaceStart, 0});
  Contestant plain{nullptr}, tasuki{nullptr};
  for (int round = 0; round < options_.rounds && row["verified"]; round++)
    for (const bool with_tasuki : {round % 2 == 1, round % 2 == 0}) {
      const Result<double> us = time_job(job(mpi, ranks, with_tasuki));
      if (us.ok()) {
        (with_tasuki ? tasuki : plain).medians.push_back(us.value());
        continue;
      }
      if (us.status().err() == EINTR) return us.status();
      row["verified"] = false;
      row["failure"] = us.status().message();
      break;
    }
  fill_row(plain, tasuki, &row);
  rows_.push_back(std::move(row));
  return Status();
}

Result<json> SpaceRunner::run() {
  const size_t settings = options_.mpis.size() * options_.ranks.size();
  if (options_.seconds > 0 && !cells_.empty())
    fair_ = options_.seconds / static_cast<double>(settings * cells_.size());
  row_count_ = static_cast<int>(settings * (cells_.size() + (starts_ ? 1 : 0)));
  std::vector<std::string> names;
  for (const Peer& mpi : options_.mpis) {
    names.push_back(mpi.mpi.name);
    for (const int ranks : options_.ranks) {
      if (Status s = operations(mpi, ranks); !s.ok()) return s;
      if (!starts_) continue;
      if (Status s = start_and_end(mpi, ranks); !s.ok()) return s;
    }
  }
  std::vector<double> ratios;
  bool verified = true;
  for (const json& r : rows_) {
    if (r.contains("ratio")) ratios.push_back(r["ratio"]);
    verified = verified && r["verified"].get<bool>();
  }
  json versions_of_all = versions(hello_);
  versions_of_all["mpi"] = versions_of_all["mpi_full"] = libraries_;
  return json{{"benchmark", "space"},
              {"format", 1},
              {"date", utc_time()},
              {"mpi", joined(names)},
              {"machine", describe_machine()},
              {"versions", versions_of_all},
              {"settings",
               {{"rounds", options_.rounds},
                {"seconds", fair_ * row_count_},
                {"runner", options_.default_runner ? "tasuki run" : joined(options_.runner)},
                {"launch_args", options_.launch_args},
                {"environment", environment_settings()}}},
              {"rows", rows_},
              {"contiguous", json::array()},
              {"geomean", ratios.empty() ? json() : json(round4(geometric_mean(ratios)))},
              {"verified", verified},
              {"notes", notes_}};
}

}  // namespace

std::vector<std::string> space_operations() {
  std::vector<std::string> names;
  for (const auto& cell : kSpaceCells) names.push_back(cell.operation);
  names.push_back(kSpaceStart);
  return names;
}

Result<json> run_space(const SpaceOptions& options, const std::function<void(const DdtProgress&)>& progress) {
  catch_interrupts();
  permit_root();
  return SpaceRunner(options, progress).run();
}

}  // namespace tasuki::bench
