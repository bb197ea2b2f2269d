// `tasuki bench space`: what it costs a program that its ranks share one address space, with its lock and its
// mappings: page faults, mappings, threads, started programs, and the start and end of the job, by plain MPI
// and under `tasuki run` in turns (program: measure/space).
//
// The JSON has the head of run_ddt()'s (`benchmark`, `format`, `machine`, ...), `rows`, `verified`, `notes`.
// A row has
//
//   pattern, operation, bytes, ranks, mpi     what tells it from others: "mmap 64Ki, 2 ranks, openmpi"
//   plain_us, tasuki_us, ratio                mean over the ranks, which do the same at the same time, of one
//                                             operation; of "fault", one page; plain / Tasuki
//   plain_slowest_us, tasuki_slowest_us       the same of the slowest rank (not of "start", which is a job)
//   plain_spread_us, tasuki_spread_us, noisy, verified, failure     as in run_ddt()
//   refused                                   why the kernel does not permit the operation; it has no times
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/benchmarks/ddt.h"
#include "bench/driver/jobs/launch.h"

namespace tasuki::bench {

struct SpaceOptions {
  std::vector<Peer> mpis;           // each with libexec/tasuki/space-<mpi>
  std::vector<std::string> runner;  // {"tasuki", "run"}
  bool default_runner = true;
  std::vector<std::string> launch_args;
  std::vector<int> ranks{1, 2, 8};
  std::vector<std::string> operations;  // of space_operations()
  double seconds = 0;                   // for all rows but "start"; 0: half a second for each
  int rounds = 5;
};

std::vector<std::string> space_operations();

Result<nlohmann::json> run_space(const SpaceOptions& options,
                                 const std::function<void(const DdtProgress&)>& progress);

// ---- results as text
std::string space_table(const nlohmann::json& measurement);
// Of a row, without the ranks: "mmap, touch, munmap 64Ki".
std::string space_operation_text(const nlohmann::json& row);

}  // namespace tasuki::bench
