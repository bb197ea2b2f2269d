// `tasuki bench coarray`: puts and gets of coarrays, in one piece and of sections, against the MPI library's
// messages and windows; with --programs, programs that use them.

#include <memory>

#include "bench/driver/benchmarks/coarray.h"
#include "bench/driver/benchmarks/programs.h"
#include "os/files/paths.h"
#include "os/process/executable.h"
#include "tools/bench/common.h"

namespace tasuki::tool {
namespace {

struct CoarrayCommand {
  bench::CoarrayOptions options;
  bench::ProgramsOptions programs;
  std::string flags = "-O3 -march=native -ffast-math";
  BenchCommon common;
};

int run_programs(CoarrayCommand* c) {
  bench::ProgramsOptions& o = c->programs;
  for (std::string& program : o.programs) {
    Result<std::string> full = bench::program_with_size(program);
    if (!full.ok()) return fail(full.status());
    program = full.value();
  }
  if (Status s = prepare(c->common, "coarray", &o); !s.ok()) return fail(s);
  Result<std::string> mpicc = find_mpicc(c->common.mpi, o.mpicc);
  if (!mpicc.ok()) return fail(mpicc.status());
  o.mpicc = mpicc.value();
  o.tasukicc = os::own_prefix() + "/bin/tasukicc";
  if (o.sources.empty()) o.sources = os::own_prefix() + "/share/tasuki/examples";
  if (!os::can_read(o.sources + "/."))  // and what is in it
    return fail(Status::error(ENOENT, o.sources + " not found: --sources names the folder of the examples"));
  o.flags = words_of(c->flags);
  o.pattern = c->options.pattern;
  o.rounds = c->options.rounds;
  return measure_and_report(c->common,
                            [&o](const auto& progress) { return bench::run_programs(o, progress); });
}

int run_coarray(CoarrayCommand* c) {
  bench::CoarrayOptions& o = c->options;
  if (Status s = check_pattern(o.pattern); !s.ok()) return fail(s);
  if (!c->programs.programs.empty()) return run_programs(c);
  if (Status s = prepare(c->common, "coarray", &o); !s.ok()) return fail(s);
  return measure_and_report(c->common,
                            [&o](const auto& progress) { return bench::run_coarray(o, progress); });
}

// The programs instead of puts and gets; what belongs to them alone is refused without them, and the other
// way round.
void add_programs(CLI::App* cmd, CoarrayCommand* c) {
  bench::ProgramsOptions& o = c->programs;
  CLI::Option* programs = cmd->add_option("--programs", o.programs,
                                          "Measure the Himeno benchmark and CG instead, in all versions of "
                                          "the examples: himeno[:XS|S|M|L], cg[:S|W|A|B|C] (himeno:M, cg:A)")
                              ->delimiter(',');
  for (const char* name : {"--sizes", "--seconds", "--where"}) programs->excludes(cmd->get_option(name));
  cmd->add_option("--ranks", o.ranks, "With --programs: numbers of processes")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->needs(programs)
      ->capture_default_str();
  cmd->add_option("--iterations", o.iterations,
                  "With --programs: iterations of Himeno (the class of CG says how many it makes)")
      ->check(CLI::PositiveNumber)
      ->needs(programs)
      ->capture_default_str();
  cmd->add_option("--flags", c->flags, "With --programs: options for the compilers")
      ->needs(programs)
      ->capture_default_str();
  cmd->add_option("--mpicc", o.mpicc,
                  "With --programs: the MPI compiler (default: mpicc.openmpi or mpicc.mpich)")
      ->needs(programs);
  cmd->add_option("--sources", o.sources,
                  "With --programs: a folder with the sources (default: the installed examples)")
      ->needs(programs);
  cmd->add_option("--timeout", o.timeout, "With --programs: seconds that one run may take")
      ->check(CLI::PositiveNumber)
      ->needs(programs)
      ->capture_default_str();
}

}  // namespace

void add_bench_coarray(CLI::App* bench, int* exit_code) {
  CLI::App* cmd =
      bench->add_subcommand("coarray",
                            "Puts and gets of coarrays under `tasuki run`, through the host's memory and "
                            "through windows, beside MPI's messages and windows; or programs with coarrays.");
  auto c = std::make_shared<CoarrayCommand>();
  bench::CoarrayOptions& o = c->options;
  for (uint64_t bytes = 8; bytes <= 8 << 20; bytes *= 4) o.sizes.push_back(bytes);
  add_common(cmd, &c->common);
  cmd->add_option("--sizes", o.sizes,
                  "Bytes of contiguous transfers, multiples of 8 (default: powers of 4 times 8, up to 8 MiB)")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{8}, uint64_t{1} << 28))
      ->check([](const std::string& text) {
        return std::stoull(text) % 8 == 0 ? std::string() : text + " is not a multiple of 8";
      });
  cmd->add_option("--pattern", o.pattern,
                  "Measure only the rows whose PATTERN/BYTES this regular expression finds, e.g. '^put "
                  "ping-pong|ij plane'; of programs, e.g. 'local view|Send/Recv, plain'");
  cmd->add_option("--where", o.where,
                  "Where the two images are: on one host, or on two hosts made of network namespaces")
      ->check(CLI::IsMember({"node", "hosts"}))
      ->capture_default_str();
  cmd->add_option("--seconds", o.seconds, "Seconds for the whole measurement (default: one for each row)")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--rounds", o.rounds, "How many turns each job gets in a row")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  add_programs(cmd, c.get());
  cmd->callback([c, exit_code] { *exit_code = run_coarray(c.get()); });
}

}  // namespace tasuki::tool
