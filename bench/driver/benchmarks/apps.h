// `tasuki bench apps`: two programs whose messages have datatypes (examples/fft2d, examples/wavefront),
// compiled here and run to their end, by plain MPI and by Tasuki in turns: figures 13, 14 and 16 of the PVAS
// paper.
//
// The JSON has the head of run_ddt()'s (`benchmark`: "apps", `format`, `machine`, ...); `mpi` and `versions`
// name all libraries. A row is a program in a size:
//
//   program, size, ranks, where, mpi    "fft2d", "1024", 2, "node" or "hosts", "openmpi"
//   pattern, bytes                      all of that in words, for `tasuki bench compare`; of the matrix or
//                                       the unknowns
//   plain_us, tasuki_us, ratio          of a transform or an iteration, medians of the rounds; plain / Tasuki
//   plain_spread_us, tasuki_spread_us, noisy, verified, finished, failure       as in run_ddt()
//   plain_communication, tasuki_communication     its share of the time, waiting for others included
//   paper                               the paper's gain, inside a node
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/benchmarks/ddt.h"
#include "bench/driver/jobs/launch.h"

namespace tasuki::bench {

struct AppsMpi {
  Mpi mpi;
  std::string program;  // libexec/tasuki/ddt-<mpi>, which says what library that is
  std::string mpicc;
};

struct AppsOptions {
  std::vector<AppsMpi> mpis;
  std::vector<std::string> runner;  // {"tasuki", "run"}
  bool default_runner = true;
  std::vector<std::string> launch_args;

  std::vector<std::string> programs = {"fft2d:1024", "fft2d:2048", "wavefront:W", "wavefront:A"};
  std::string sources;             // folder with fft2d/, wavefront/
  std::vector<std::string> flags;  // of the compilers
  std::vector<int> ranks = {2};
  std::vector<std::string> where = {"node"};
  int repetitions = 10;  // transforms of a run of fft2d
  int rounds = 5;
  double timeout = 300;  // seconds of one run
};

// "fft2d" -> "fft2d:1024", "wavefront" -> "wavefront:A"; fails for what is no program or has no such size.
Result<std::string> app_with_size(const std::string& text);

Result<nlohmann::json> run_apps(const AppsOptions& options,
                                const std::function<void(const DdtProgress&)>& progress);

std::string apps_table(const nlohmann::json& measurement);

}  // namespace tasuki::bench
