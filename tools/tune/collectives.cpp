// `tasuki tune --collectives`: which collective operations of one node the MPI library carries out faster
// on this machine. Rules of them go into the file, and `tasuki run` leaves those operations to the
// library.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "bench/driver/benchmarks/sweep.h"
#include "bench/driver/jobs/launch.h"
#include "tools/bench/common.h"
#include "tools/tune/tune.h"

namespace tasuki::tool {
namespace {

using message::Collective;
using message::LeftRule;
using message::LeftSample;

// What the machine does else makes some of a hundred cases look slow by chance: they are measured again.
constexpr int kTimes = 3;
constexpr double kSuspect = 0.97;

struct Case {
  struct Times {
    double plain_us, tasuki_us;
    double ratio() const { return plain_us / tasuki_us; }
  };
  Collective operation;
  uint32_t ranks;
  uint64_t size;   // as the benchmark is asked for
  uint64_t bytes;  // as rules have them
  std::vector<Times> measured;

  Times median() const {
    std::vector<Times> sorted = measured;
    std::sort(sorted.begin(), sorted.end(),
              [](const Times& a, const Times& b) { return a.ratio() < b.ratio(); });
    return sorted[sorted.size() / 2];
  }
  double ratio() const { return median().ratio(); }
};

// The operations of the benchmark of which rules can speak, and that block.
constexpr std::array kMeasured = {
    Collective::allreduce, Collective::reduce,    Collective::reduce_scatter_block,
    Collective::scan,      Collective::allgather, Collective::alltoall,
    Collective::alltoallw, Collective::gather,    Collective::scatter,
    Collective::barrier};

const char* name_of(Collective c) {
  return message::kCollectiveNames[static_cast<size_t>(c)];
}

bench::SweepOptions options_for(const MpiProgram& mpi, const BenchCommon& common) {
  bench::SweepOptions o;
  o.what = bench::Sweep::collectives;
  o.mpi = mpi.mpi;
  o.program = mpi.program;
  o.launch_args = words_of(common.launch_args);
  o.runner = BenchCommon::default_runner_words();
  o.helpers = {0};
  o.where = {"node"};
  return o;
}

Status measure(const bench::SweepOptions& options, std::vector<Case>* cases) {
  Result<nlohmann::json> measured =
      with_progress([&](const auto& progress) { return bench::run_sweep(options, progress); });
  if (!measured.ok()) return measured.status();
  for (const nlohmann::json& row : measured.value()["rows"]) {
    const std::string operation = row["operation"];
    if (!row["verified"].get<bool>())
      return Status::error(EIO, operation + " of " + row["size"].dump() +
                                    " bytes: " + row.value("failure", std::string("wrong data")));
    const auto found = std::find_if(kMeasured.begin(), kMeasured.end(),
                                    [&](Collective c) { return operation == name_of(c); });
    const uint32_t ranks = row["ranks"];
    const uint64_t bytes = row["bytes"];
    Case now{*found,
             ranks,
             row["size"],
             *found == Collective::reduce_scatter_block ? bytes / ranks : bytes,
             {{row["plain_us"], row["tasuki_us"]}}};
    const auto before = std::find_if(cases->begin(), cases->end(), [&](const Case& c) {
      return c.operation == now.operation && c.ranks == now.ranks && c.size == now.size;
    });
    if (before == cases->end())
      cases->push_back(std::move(now));
    else
      before->measured.push_back(now.measured[0]);
  }
  return Status();
}

// Again what seems to be slower than the library.
Status measure_again(bench::SweepOptions options, std::vector<Case>* cases) {
  std::map<std::pair<Collective, uint32_t>, std::vector<uint64_t>> suspects;
  for (const Case& c : *cases)
    if (c.ratio() < kSuspect) suspects[{c.operation, c.ranks}].push_back(c.size);
  for (const auto& [what, sizes] : suspects) {
    options.operations = {name_of(what.first)};
    options.ranks = {static_cast<int>(what.second)};
    options.sizes = sizes;
    if (Status s = measure(options, cases); !s.ok()) return s;
  }
  return Status();
}

void print_left(const std::vector<Case>& cases, const std::vector<LeftRule>& rules) {
  if (rules.empty()) {
    printf("None of %zu cases is faster by the library: nothing is left to it.\n", cases.size());
    return;
  }
  printf("%-22s %6s %10s %12s %12s %8s\n", "left to the library", "ranks", "bytes", "library us", "Tasuki us",
         "ratio");
  message::LeftCollectives left{};
  for (const LeftRule& rule : rules) left.rules[left.count++] = rule;
  for (const Case& c : cases)
    if (left.have(c.operation, c.bytes, c.ranks) ||
        left.have(c.operation, message::LeftCollectives::kAnyBytes, c.ranks))
      printf("%-22s %6u %10lu %12.2f %12.2f %8.2f\n", name_of(c.operation), c.ranks,
             static_cast<unsigned long>(c.bytes), c.median().plain_us, c.median().tasuki_us, c.ratio());
}

}  // namespace

int tune_collectives(const TuneCollectives& o) {
  const std::string file = o.output.empty() ? default_tune_file() : o.output;
  if (!o.dry && file.empty())
    return fail(Status::error(ENOENT, "there is no home directory to keep the rules in: give --output FILE"));
  if (!o.dry)
    if (Status s = prepare_tune_file(file); !s.ok()) return fail(s);
  Result<MpiProgram> mpi = find_mpi(o.common.mpi, o.common.mpirun, "sweep");
  if (!mpi.ok()) return fail(mpi.status());
  // What was left before is measured, too.
  setenv("TASUKI_LEFT", "off", 1);
  const bool busy = !bench::load_notes().empty();
  bench::SweepOptions options = options_for(mpi.value(), o.common);
  for (const Collective c : kMeasured) options.operations.emplace_back(name_of(c));
  options.sizes = o.sizes;
  options.ranks = o.ranks;
  options.seconds = o.seconds;
  std::vector<Case> cases;
  if (Status s = measure(options, &cases); !s.ok()) return fail(s);
  options.seconds = 0;
  for (int again = 1; again < kTimes; again++)
    if (Status s = measure_again(options, &cases); !s.ok()) return fail(s);
  std::vector<LeftSample> samples;
  for (const Case& c : cases) samples.push_back({c.operation, c.ranks, c.bytes, c.ratio()});
  std::vector<LeftRule> rules = message::rules_for(samples);
  if (rules.size() > message::LeftCollectives::kMost) {
    fprintf(stderr, "tune: the first %u of %zu rules are kept; measure fewer sizes or numbers of ranks\n",
            message::LeftCollectives::kMost, rules.size());
    rules.resize(message::LeftCollectives::kMost);
  }
  print_left(cases, rules);
  if (busy) printf("\nnote: the machine was busy; run this again when nothing else runs\n");
  if (o.dry) return 0;
  TuneFile content;
  if (Result<TuneFile> stored = read_tune_file(file); stored.ok()) content = stored.value();
  const std::string library = o.common.mpi + "/";
  std::erase_if(content.left, [&](const std::string& rule) { return rule.starts_with(library); });
  for (const LeftRule& rule : rules) content.left.push_back(library + message::left_text(rule));
  if (Status s = write_tune_file(file, content); !s.ok()) return fail(s);
  printf("\nwritten to %s; `tasuki run` uses it%s\n", file.c_str(),
         o.output.empty() ? " (TASUKI_LEFT=off does not)" : (" with TASUKI_TUNE=" + file).c_str());
  return 0;
}

}  // namespace tasuki::tool
