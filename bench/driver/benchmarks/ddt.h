// `tasuki bench ddt`: typed messages, plain MPI against Tasuki, interleaved in one run.
//
// Two jobs of the same program (measure/ddt) are alive at once, one started plainly and one under `tasuki
// run`, bound to the same cores. They take turns: per row some rounds, in each round first one and then the
// other, the idle one blocked. So noise of the machine meets both.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/jobs/launch.h"

namespace tasuki::bench {

struct Peer {
  Mpi mpi;
  std::string program;  // ddt-<mpi>, built for it
  std::vector<std::string> environment{};
};

struct DdtOptions {
  Mpi mpi;                               // Tasuki runs on it
  std::vector<std::string> launch_args;  // further arguments of the launcher, for both jobs
  std::string program;                   // libexec/tasuki/ddt-<mpi>
  std::vector<std::string> runner;       // what the second job is started with: {"tasuki", "run"}
  bool default_runner = true;            // then Tasuki must move the second job's messages
  std::string pattern;                   // regular expression, searched in "<pattern>/<bytes>"; empty: all
  double seconds = 0;                    // for all rows together; 0: a little over a second per row
  long iterations = 0;                   // round trips per row and job; 0: as many as the time allows
  int rounds = 7;
  // Further MPI libraries, or the same one with other settings, in the same run: each row names the best.
  std::vector<Peer> peers;
  bool pack = false;         // MPI_Pack and MPI_Unpack by one process instead of messages
  std::vector<int> helpers;  // pack: jobs with so many helper threads, beside one without
  // Which messages are timed: those whose sent lines are written before and whose received lines are read
  // after each, and those whose buffers nobody touches in between.
  bool touched = true, untouched = true;
  std::vector<std::string> events;  // counted while messages travel: of kEvents
};

// What a processor or the kernel may count (measure/ddt/counters.h).
inline constexpr const char* kEvents[] = {"l1d-misses", "llc-misses", "dtlb-misses", "page-faults",
                                          "context-switches"};

struct DdtProgress {
  int row, rows;
  double seconds_left;
  std::string text;  // of the row that was just measured
};

// The measurement as JSON: `benchmark`, `format`, `mpi`, `machine`, `versions`, `settings` (to which the
// command line is added as `command`), `rows`, `contiguous`, `geomean` (of plain/Tasuki over the rows),
// `geomean_best_rounds`, `verified`, `tasuki_messages` (sent by Tasuki itself), `notes`. A row has
// `pattern`, `description`, `bytes`, `plain_us`, `tasuki_us`, `ratio`, `memcpy_us`, `direct_us`,
// `verified`, `plain_spread_us`, `tasuki_spread_us` (lowest and highest median of a round), `best_ratio`
// (of the fastest rounds), `noisy` (the rounds of a job differ by more than half), and `failure` with what
// was found if not verified. Times are half round trips in microseconds, the median over the rounds of the
// median over the blocks of a round.
//
// These are the times of untouched messages. Those of touched ones have the same names after `touched_`
// (`touched_plain_us`, ...), without what the touching takes by itself, `touching_us`. `limit_us` is what the
// machine takes for one: the lines cross to the other core in the better of two ways (crossing.h), and are
// copied once; `limit_ratio` is limit / Tasuki, both with the touching. `geomean_touched`,
// `geomean_touched_best_rounds` and `geomean_limit` are the means. What was not measured is not there.
//
// With events, `counts` and `touched_counts` have, by event, `plain` and `tasuki`: so many per message, by
// the main threads of both ranks; of touched messages with the touching.
//
// With peers, `plain_us` is the best library's of that row, `best_peer` its name, `peers_us` has all of them.
// With `pack` the benchmark is "pack-ddt": a row has `operation` ("pack" or "unpack"), times of one call;
// `direct_us` are hand-written loops that do the same, `ratio_direct` is direct_us / tasuki_us, and
// `helpers_us` has Tasuki's times by number of helper threads; `tasuki_us` is without. `geomean_direct` is
// the mean of `ratio_direct`.
Result<nlohmann::json> run_ddt(const DdtOptions& options,
                               const std::function<void(const DdtProgress&)>& progress);

}  // namespace tasuki::bench
