// The few statistics that the benchmarks report.
#pragma once

#include <vector>

namespace tasuki::bench {

// Linear interpolation between the order statistics; 0 for no values. `q` in [0, 1].
double quantile(std::vector<double> values, double q);
inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}
// Of positive values; 0 for none.
double geometric_mean(const std::vector<double>& values);

// How many round trips make a block of `block_us`, and how many blocks fill `budget_us`. A round trip takes
// `round_trip_us` by the clock's median and `wall_us` on average, with all that other programs took
// meanwhile. Short blocks keep the median clear of the time slices of others.
struct Repetitions {
  long warm;   // round trips before the clock starts
  long n;      // round trips of a block
  int blocks;  // at least kFewestBlocks
};
inline constexpr int kFewestBlocks = 5, kMostBlocks = 20000;
inline constexpr double kBlockUs = 100;
Repetitions repetitions(double round_trip_us, double wall_us, double budget_us, double block_us = kBlockUs);

}  // namespace tasuki::bench
