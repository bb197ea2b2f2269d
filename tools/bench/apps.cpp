// `tasuki bench apps`: programs whose messages have datatypes, by plain MPI and by Tasuki.

#include <cerrno>
#include <memory>

#include "bench/driver/benchmarks/apps.h"
#include "os/files/paths.h"
#include "os/process/executable.h"
#include "tools/bench/common.h"

namespace tasuki::tool {
namespace {

struct AppsCommand {
  bench::AppsOptions options;
  BenchCommon common;
  std::vector<std::string> mpis;  // none: all that are installed
  std::string flags = "-O3 -march=native -ffast-math";
};

Status find_libraries(AppsCommand* c) {
  for (const std::string& name : c->mpis.empty() ? mpi_names() : c->mpis) {
    Result<MpiProgram> found = find_mpi(name, "", "ddt");
    Result<std::string> mpicc = find_mpicc(name, "");
    if (found.ok() && mpicc.ok())
      c->options.mpis.push_back({found.value().mpi, found.value().program, mpicc.value()});
    else if (!c->mpis.empty())
      return found.ok() ? mpicc.status() : found.status();
  }
  if (c->options.mpis.empty())
    return Status::error(ENOENT, "no MPI library with a launcher and a compiler; --mpi says what is missing");
  return Status();
}

int run(AppsCommand* c) {
  bench::AppsOptions& o = c->options;
  for (std::string& program : o.programs) {
    Result<std::string> full = bench::app_with_size(program);
    if (!full.ok()) return fail(full.status());
    program = full.value();
  }
  if (Status s = find_libraries(c); !s.ok()) return fail(s);
  if (o.sources.empty()) o.sources = os::own_prefix() + "/share/tasuki/examples";
  if (!os::can_read(o.sources + "/."))  // and what is in it
    return fail(Status::error(ENOENT, o.sources + " not found: --sources names the folder of the examples"));
  o.launch_args = words_of(c->common.launch_args);
  o.default_runner = c->common.default_runner();
  o.runner = c->common.runner_words();
  o.flags = words_of(c->flags);
  return measure_and_report(c->common, [&o](const auto& progress) { return bench::run_apps(o, progress); });
}

}  // namespace

void add_bench_apps(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = bench->add_subcommand(
      "apps",
      "Programs whose messages have datatypes, a two-dimensional Fourier transform and a solver with "
      "wavefronts, by plain MPI and by Tasuki in turns, with every MPI library that is installed.");
  auto c = std::make_shared<AppsCommand>();
  bench::AppsOptions& o = c->options;
  cmd->add_option("--mpi", c->mpis, "MPI libraries (default: all that are installed)")
      ->delimiter(',')
      ->check(CLI::IsMember(mpi_names()));
  add_files(cmd, &c->common);
  add_runner(cmd, &c->common);
  cmd->add_option("--programs", o.programs,
                  "What is measured: fft2d[:N], N x N elements, N a power of two; wavefront[:S|W|A|B]")
      ->delimiter(',')
      ->capture_default_str();
  cmd->add_option("--ranks", o.ranks, "Numbers of ranks")
      ->delimiter(',')
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  cmd->add_option("--where", o.where,
                  "Where the ranks are: on one host, or half of them on each of two hosts made of network "
                  "namespaces")
      ->delimiter(',')
      ->check(CLI::IsMember({"node", "hosts"}))
      ->capture_default_str();
  cmd->add_option("--repetitions", o.repetitions,
                  "Transforms of a run of fft2d (wavefront iterates 20 times)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cmd->add_option("--rounds", o.rounds, "How many turns each program gets, plain and under Tasuki")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  cmd->add_option("--flags", c->flags, "Options for the compilers")->capture_default_str();
  cmd->add_option("--sources", o.sources, "A folder with the sources (default: the installed examples)");
  cmd->add_option("--timeout", o.timeout, "Seconds that one run may take")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cmd->callback([c, exit_code] { *exit_code = run(c.get()); });
}

}  // namespace tasuki::tool
