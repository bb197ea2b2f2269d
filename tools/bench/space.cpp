// `tasuki bench space`: what it costs that ranks share one address space, plain MPI and Tasuki in turns.

#include <memory>

#include "bench/driver/benchmarks/space.h"
#include "tools/bench/common.h"

namespace tasuki::tool {
namespace {

struct SpaceCommand {
  bench::SpaceOptions options;
  BenchCommon common;
  std::vector<std::string> mpis;  // empty: all that are installed
};

int run_space(SpaceCommand* c) {
  bench::SpaceOptions& o = c->options;
  if (c->mpis.empty()) {
    o.mpis = other_mpis("", "space");
    if (o.mpis.empty()) c->mpis = {default_mpi()};  // to say what is missing
  }
  for (const std::string& name : c->mpis) {
    const Result<MpiProgram> mpi = find_mpi(name, "", "space");
    if (!mpi.ok()) return fail(mpi.status());
    o.mpis.push_back({mpi.value().mpi, mpi.value().program});
  }
  o.launch_args = words_of(c->common.launch_args);
  o.default_runner = c->common.default_runner();
  o.runner = c->common.runner_words();
  return measure_and_report(c->common, [&o](const auto& progress) { return bench::run_space(o, progress); });
}

}  // namespace

void add_bench_space(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = bench->add_subcommand(
      "space",
      "What it costs that ranks share one address space: page faults, mmap, malloc, madvise, mprotect, "
      "process_vm_readv, threads, fork, posix_spawn, and the start of a job, by plain MPI and Tasuki.");
  auto c = std::make_shared<SpaceCommand>();
  bench::SpaceOptions& o = c->options;
  o.operations = bench::space_operations();
  cmd->add_option("--mpi", c->mpis, "MPI libraries (default: all that are installed)")
      ->delimiter(',')
      ->check(CLI::IsMember(mpi_names()));
  add_files(cmd, &c->common);
  add_runner(cmd, &c->common);
  cmd->add_option("--ranks", o.ranks, "Numbers of ranks; there may be more of them than cores")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  cmd->add_option("--operations", o.operations, "Which of them (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(o.operations));
  cmd->add_option("--seconds", o.seconds,
                  "Seconds for the whole measurement, without starts of jobs (default: half a second for "
                  "each row)")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--rounds", o.rounds, "How many turns each job gets in a row")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  cmd->callback([c, exit_code] { *exit_code = run_space(c.get()); });
}

}  // namespace tasuki::tool
