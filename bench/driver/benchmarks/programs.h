// `tasuki bench coarray --programs`: the two programs of the XcalableACC paper, each in its versions
// (examples/himeno, examples/cg), compiled here and run in turns: figures 13, 14 (Himeno), 17, 18 (CG) and
// table 2 (source lines).
//
// The JSON has the head of run_ddt()'s (`benchmark`: "coarray-programs", `format`, `machine`, ...), `rows`,
// `lines`, `geomean` (plain / tasuki run over all versions), `verified` (every row was measured and right),
// `notes`. A row is one version, started one way:
//
//   program, size, ranks, grid, version, way      "himeno", "M", 2, "2x1", "local", "run"
//   pattern                                       all of that in words, what `--pattern` searches and `tasuki bench compare` matches
//   seconds, compute, communication, reduction    of an iteration, medians of the rounds
//   best_seconds, spread_seconds, noisy           of the fastest round; lowest and highest; they differ by more than half
//   performance, unit                             by the median time: "MFLOPS", "Mop/s"
//   of_send                                       performance / that of Send/Recv with plain MPI
//   of_send_same                                  of way "run": the same with Send/Recv under `tasuki run`
//   verified, finished, failure                   as in run_ddt(); finished is false if there is no time at all: `failure` says why
//
// An element of `lines` is a version's source: `program`, `version`, `own`, `shared` (source_lines.h),
// `paper` (if it is in its table 2).
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/benchmarks/ddt.h"
#include "bench/driver/jobs/launch.h"

namespace tasuki::bench {

struct ProgramVersion {
  const char *name, *title, *label;  // "local", "local view", "L": in file names, tables, figures
};
const std::vector<ProgramVersion>& program_versions();
// How they are started: "plain", "windows" (TASUKI_COARRAY=window; coarrays only), "run".
struct ProgramWay {
  const char *name, *title;
};
const std::vector<ProgramWay>& program_ways();

struct ProgramsOptions {
  Mpi mpi;
  std::string program;              // libexec/tasuki/coarray-<mpi>, which says what library that is
  std::string mpicc, tasukicc;      // compilers
  std::vector<std::string> runner;  // {"tasuki", "run"}
  bool default_runner = true;
  std::vector<std::string> launch_args;

  std::vector<std::string> programs;  // "himeno:M", "cg:A"
  std::string sources;                // folder with himeno/, cg/, xmp/
  std::vector<std::string> flags;     // of all compilers
  std::vector<int> ranks = {2};
  int iterations = 50;  // of Himeno; CG's belong to its class
  std::string pattern;  // regular expression, searched in the rows' `pattern`
  int rounds = 5;
  double timeout = 300;  // seconds of one run
};

// "himeno" -> "himeno:M", "cg" -> "cg:A"; fails for what is no program or has no such size.
Result<std::string> program_with_size(const std::string& text);

Result<nlohmann::json> run_programs(const ProgramsOptions& options,
                                    const std::function<void(const DdtProgress&)>& progress);

std::string programs_table(const nlohmann::json& measurement);
std::string programs_comparison(const nlohmann::json& older, const nlohmann::json& newer);

}  // namespace tasuki::bench
