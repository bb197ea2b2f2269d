// What Tasuki decides by on this machine: the cost model's constants (src/message/cost/distance.h), and the
// collective operations that are left to the MPI library (src/message/cost/left.h). Measuring them, and the
// file that keeps them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "message/cost/distance.h"
#include "message/cost/left.h"
#include "tools/bench/common.h"

namespace tasuki::tool {

// ---- the file: TOML, a table [machine] that says where it was measured, a table [costs], and an array of
// rules, `left`. Where cores are near and far, [costs] is for the nearest, [costs.package] and
// [costs.machine] for the others, and [machine] has lists of the cores that share a cache and a package.

struct TuneFile {
  std::optional<message::CostTexts> costs;  // none: the built-in ones
  std::vector<std::string> left;            // "mpich/allreduce:8B-256B@2"
};

// What TASUKI_TUNE=auto stands for: $XDG_CONFIG_HOME/tasuki/tune.toml or ~/.config/tasuki/tune.toml; ""
// without a home.
std::string default_tune_file();
// Before the measurement: makes the folder and finds out whether the file can be written.
Status prepare_tune_file(const std::string& file);
Status write_tune_file(const std::string& file, const TuneFile& content);
// Fails with the reason when the file cannot be read, is not understood, or was measured on another machine.
Result<TuneFile> read_tune_file(const std::string& file);

// Hands what the file of TASUKI_TUNE has to the ranks, in this process's environment (TASUKI_COSTS,
// TASUKI_LEFT; what the user has set stays). What is wrong with the file is said once (`speaks`), and nothing
// of it is used.
void use_tune_file(bool speaks);

// ---- `tasuki tune --collectives` (collectives.cpp)

struct TuneCollectives {
  std::string output;
  bool dry = false;
  BenchCommon common;
  std::vector<int> ranks{2, 4};
  std::vector<uint64_t> sizes{8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20};
  double seconds = 0;  // for the first pass; 0: a quarter of a second a case
};
// Returns the exit code.
int tune_collectives(const TuneCollectives& options);

// ---- the measurement of constants: two threads play two tasks, each on a core of its own

// Two cores of each distance that there is among those that this process may use.
struct TunePlan {
  struct Pair {
    message::Distance distance;
    int core[2];
  };
  std::vector<Pair> pairs;                    // the nearest first
  std::vector<std::string> caches, packages;  // the machine's, where there are several distances
};
// Where hwloc is missing, a line says so, and all cores are alike. Fails if there is one core only.
Result<TunePlan> plan_measurement();

struct Pattern {
  uint64_t runs, length;
  int64_t stride;
};

class TunePair {
 public:
  // Fails if there is no memory.
  static Result<TunePair*> make(const int cores[2]);
  ~TunePair();
  TunePair(const TunePair&) = delete;
  TunePair& operator=(const TunePair&) = delete;

  // A few seconds, more where others want the cores too. Calls `progress` with what is measured next. The
  // constants are as the formulas give them: message::spoiled says whether the machine was too busy for them.
  message::Costs costs(const std::function<void(const std::string&)>& progress);
  // Microseconds of a message from one such pattern to another, half a round trip; `touch`: each side writes
  // what it sends before and reads what it received after each message, and what that takes by itself is in
  // here.
  double way_us(message::Way way, const Pattern& pattern, bool touch);

  const int core[2];

 private:
  TunePair(int a, int b) : core{a, b} {}
  void on_both(const std::function<void(int)>& body) const;
  double handshake_ns() const;
  double touching_us(const Pattern& pattern) const;
  double crossing_us(const Pattern& pattern);

  struct State;
  State* state_ = nullptr;
};

}  // namespace tasuki::tool
