// `tasuki bench pack`, `typed`, `messages`, `bcast`, `rma` and `collectives`: what MPI and Tasuki do with
// `count` blocks of `block` bytes at a distance, over ranges of all of these, the contestants in turns within
// one run (program: measure/sweep).
//
// The JSON has the head of run_ddt()'s (`benchmark`, `format`, `machine`, ...), `rows`, `figures`,
// `verified`, `notes`. A row has
//
//   pattern, bytes     what tells it from others, for `tasuki bench compare`; packed bytes
//   operation          "pack", "unpack", "node", "hosts", "dense", "typed"; "put", "get", ... (rma);
//                      "pingpong", "send", "isend" (messages);
//                      "allreduce", ... (collectives, bcast)
//   block, count, stride_ratio, helpers, ranks, chunk       where it lies in the sweep
//   where              "node", "hosts" (collectives)
//   plain_us, tasuki_us, ratio                              plain MPI, Tasuki, plain / Tasuki
//   peers_us, best_peer    all MPI libraries' times, the best of which is plain_us (messages, rma; collectives on a node)
//   single_us          Tasuki without helper threads, in the same run
//   memcpy_us, memcpy2_us     limits: as many bytes by one thread and by two (pack)
//   contiguous_us, contiguous_tasuki_us                     as many contiguous bytes (typed)
//   plain_spread_us, tasuki_spread_us, noisy, verified, failure     as in run_ddt()
//
// A figure says which rows and columns make a heat map: {title, caption, where: {column: value}, x, y,
// x_label, y_label, kind: "ratio" (of[0] / of[1]) or "rate" (GB/s of of[0])}.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/benchmarks/ddt.h"
#include "bench/driver/jobs/launch.h"

namespace tasuki::bench {

enum class Sweep { pack, typed, messages, bcast, rma, collectives };

struct SweepOptions {
  Sweep what = Sweep::pack;
  Mpi mpi;
  std::string program;              // libexec/tasuki/sweep-<mpi>
  std::vector<std::string> runner;  // {"tasuki", "run"}
  bool default_runner = true;
  std::vector<std::string> launch_args;

  std::vector<uint64_t> blocks, counts;  // bytes, numbers of blocks
  std::vector<int> strides{2};           // in blocks
  std::vector<int> helpers;              // TASUKI_THREADS
  uint64_t max_bytes = 16 << 20;         // packed bytes of a row
  std::vector<std::string> where;        // typed, bcast, collectives: "node", "hosts"
  bool need_hosts = false;               // not permitted is an error, not a note
  std::vector<uint64_t> sizes;  // messages, bcast, rma: message bytes; collectives: of a piece or vector
  std::vector<int> ranks;       // bcast, collectives
  std::vector<std::string> operations;  // collectives
  std::vector<uint64_t> chunks;         // bcast: TASUKI_CHUNK; on hosts TASUKI_SEGMENT
  std::vector<Peer> peers;              // messages, rma, collectives: further MPI libraries
  double seconds = 0;                   // for everything; 0: a quarter of a second a cell
  int rounds = 5;
};

Result<nlohmann::json> run_sweep(const SweepOptions& options,
                                 const std::function<void(const DdtProgress&)>& progress);

// ---- results as text
std::string sweep_table(const nlohmann::json& measurement);
// All rows, one line each: the scalar columns.
std::string csv(const nlohmann::json& measurement);

}  // namespace tasuki::bench
