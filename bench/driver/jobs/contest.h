// Several jobs that do the same thing in turns: in each round every contestant once, so that noise of the
// machine meets all of them, while the others are blocked.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/jobs/launch.h"
#include "bench/driver/jobs/measuring_job.h"

namespace tasuki::bench {

struct Contestant {
  Job* job;
  double repetition_us = 0;        // by the last command's median
  double wall_us = 0;              // a repetition of the last command on average, with all interruptions
  std::vector<double> medians{};   // the answers' "median", one per round
  std::vector<double> slowest{};   // of the answers that have it, "slowest": the median of the slowest rank
  std::vector<double> touching{};  // of the answers that have it, "touching": what is not in the times
  std::map<std::string, std::vector<double>> sums{};  // Turns::summed, one per round
  double repetitions = 0;

  double median_us() const { return median(medians); }
  double best_us() const;
  nlohmann::json spread() const;  // lowest and highest median of a round
  bool noisy() const;             // they differ by more than half
};

struct Turns {
  double seconds;  // for all of it, about
  int rounds;
  long iterations = 0;  // repetitions of each contestant; 0: as many as the time allows
  double parts = 1;     // the answers' times in a repetition: 2 for half round trips
  int fewest_blocks = kFewestBlocks;
  double pause_us = 0;  // time that `after` takes in each round
  double block_us = kBlockUs;
  std::vector<std::string> summed{};  // fields of the answers that are kept as the sum of all ranks'
};

class Contest {
 public:
  // The command that makes a job repeat something and answer with times; a new one in each turn.
  using Command = std::function<std::string(const Job&, const Repetitions&)>;

  // A job that does not answer may show no progress for `timeout` seconds.
  explicit Contest(const std::vector<Job*>& jobs, double timeout = kAnswerTimeout) : timeout_(timeout) {
    for (Job* job : jobs) contestants_.push_back({job});
  }
  // Sends a command to one or all; notes the first failed verification.
  Status ask(Job* job, const std::string& command, Answer* answer);
  Status ask_all(const std::string& command);
  // Stops early at a failed verification. `after` is called at the end of each round.
  Status take_turns(const Turns& turns, const Command& command, const std::function<Status()>& after);

  void begin();  // forgets times and failure
  const std::string& failure() const { return failure_; }
  const Contestant& contestant(size_t i) const { return contestants_[i]; }
  size_t size() const { return contestants_.size(); }

 private:
  Status time(Contestant* c, const Command& command, Repetitions r, double parts, Answer* answer);

  const double timeout_;
  std::vector<Contestant> contestants_;
  std::string failure_;
};

}  // namespace tasuki::bench
