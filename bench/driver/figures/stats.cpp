#include "bench/driver/figures/stats.h"

#include <algorithm>
#include <cmath>

namespace tasuki::bench {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(at);
  if (below + 1 >= values.size()) return values.back();
  return values[below] + (at - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

Repetitions repetitions(double round_trip_us, double wall_us, double budget_us, double block_us) {
  round_trip_us = std::max(round_trip_us, 0.01);
  wall_us = std::max(wall_us, round_trip_us);
  Repetitions r;
  r.n = std::max(1L, std::lround(block_us / round_trip_us));
  const double blocks = budget_us / (static_cast<double>(r.n) * wall_us);
  r.blocks = static_cast<int>(std::clamp(blocks, double{kFewestBlocks}, double{kMostBlocks}));
  r.warm = std::clamp(std::lround(budget_us / 10 / wall_us), 3L, 1000L);
  return r;
}

}  // namespace tasuki::bench
