// The cost model's constants of this machine (src/message/cost/cost.h): measuring them, and the file that
// keeps them.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "message/cost/cost.h"

namespace tasuki::tool {

// ---- the file: TOML, a table [machine] that says where it was measured and a table [costs]

// What TASUKI_TUNE=auto stands for: $XDG_CONFIG_HOME/tasuki/tune.toml or ~/.config/tasuki/tune.toml; ""
// without a home.
std::string default_tune_file();
// Before the measurement: makes the folder and finds out whether the file can be written.
Status prepare_tune_file(const std::string& file);
Status write_tune_file(const std::string& file, const message::Costs& costs);
// Fails with the reason when the file cannot be read, is not understood, or was measured on another machine.
Result<message::Costs> read_tune_file(const std::string& file);

// Hands the constants of TASUKI_TUNE to the ranks, in this process's environment (TASUKI_COSTS); what is
// wrong with the file is said once (`speaks`), and the built-in constants stay.
void set_costs_of_machine(bool speaks);

// ---- the measurement: two threads play two tasks, each on a core of its own

struct Pattern {
  uint64_t runs, length;
  int64_t stride;
};

class TunePair {
 public:
  // The two first cores that this process may use; fails if there is one only, or no memory.
  static Result<TunePair*> make();
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
