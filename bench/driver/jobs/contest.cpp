#include "bench/driver/jobs/contest.h"

#include <algorithm>
#include <cmath>

namespace tasuki::bench {
namespace {

constexpr double kNoisy = 1.5;  // slowest over fastest round of a job, above which a row is called noisy

}  // namespace

double Contestant::best_us() const {
  return medians.empty() ? NAN : *std::min_element(medians.begin(), medians.end());
}

nlohmann::json Contestant::spread() const {
  if (medians.empty()) return {};
  const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
  return {round4(*low), round4(*high)};
}

bool Contestant::noisy() const {
  return !medians.empty() && *std::max_element(medians.begin(), medians.end()) > kNoisy * best_us();
}

void Contest::begin() {
  failure_.clear();
  for (Contestant& c : contestants_) c = {c.job};
}

Status Contest::ask(Job* job, const std::string& command, Answer* answer) {
  Status status = job->ask(command, timeout_, answer);
  if (status.ok() && !answer->wrong.empty() && failure_.empty())
    failure_ = job->name() + ": " + answer->wrong;
  return status;
}

Status Contest::ask_all(const std::string& command) {
  Answer answer;
  for (const Contestant& c : contestants_)
    if (Status s = ask(c.job, command, &answer); !s.ok()) return s;
  return Status();
}

Status Contest::time(Contestant* c, const Command& command, Repetitions r, double parts, Answer* answer) {
  const double start = monotonic_seconds();
  if (Status s = ask(c->job, command(*c->job, r), answer); !s.ok()) return s;
  c->repetition_us = parts * number(answer->values[0], "median");
  c->wall_us = (monotonic_seconds() - start) * 1e6 / static_cast<double>(r.warm + r.n * r.blocks);
  return Status();
}

Status Contest::take_turns(const Turns& turns, const Command& command, const std::function<Status()>& after) {
  const double end = monotonic_seconds() + turns.seconds;
  Answer answer;
  // How long a repetition takes: twice, because the first answer decides how often it is done for the second.
  for (Contestant& c : contestants_) {
    if (Status s =
            time(&c, command, {std::min(3L, static_cast<long>(turns.fewest_blocks)), 1, turns.fewest_blocks},
                 turns.parts, &answer);
        !s.ok())
      return s;
    if (c.wall_us * turns.fewest_blocks > 5000) continue;  // known well enough
    const Repetitions r = repetitions(c.repetition_us, c.wall_us, 2000, turns.block_us);
    if (Status s = time(&c, command, r, turns.parts, &answer); !s.ok()) return s;
  }
  for (int round = 0; round < turns.rounds && failure_.empty(); round++) {
    for (size_t turn = 0; turn < size(); turn++) {
      Contestant& c = contestants_[(static_cast<size_t>(round) + turn) % size()];
      const double turns_left =
          static_cast<double>(size()) * (turns.rounds - round) - static_cast<double>(turn);
      const double share_us = std::max(0.0, end - monotonic_seconds()) * 1e6 / turns_left -
                              turns.pause_us / static_cast<double>(size());
      Repetitions r = repetitions(c.repetition_us, c.wall_us, share_us, turns.block_us);
      const double fitting = share_us / (static_cast<double>(r.n) * std::max(c.wall_us, 0.01));
      if (fitting < r.blocks) r.blocks = std::max(turns.fewest_blocks, static_cast<int>(fitting));
      if (r.n == 1 && fitting < 3) r.warm = 0;  // one repetition does not fit into the caches
      if (turns.iterations > 0)
        r.blocks = static_cast<int>(std::min<long>(turns.iterations / (turns.rounds * r.n) + 1, kMostBlocks));
      if (Status s = time(&c, command, r, turns.parts, &answer); !s.ok()) return s;
      c.medians.push_back(c.repetition_us / turns.parts);
      if (const double slowest = number(answer.values[0], "slowest"); !std::isnan(slowest))
        c.slowest.push_back(slowest);
      if (const double touching = number(answer.values[0], "touching"); !std::isnan(touching))
        c.touching.push_back(touching);
      for (const std::string& field : turns.summed) {
        double sum = 0;
        for (const Fields& rank : answer.values) sum += number(rank, field);
        if (!std::isnan(sum)) c.sums[field].push_back(sum);
      }
      c.repetitions += static_cast<double>(r.n) * r.blocks;
    }
    if (Status s = after(); !s.ok()) return s;
  }
  return Status();
}

}  // namespace tasuki::bench
