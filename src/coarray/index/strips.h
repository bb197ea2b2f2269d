// strips: what belongs together in one dimension of two nodes' memory: local indices here and there, in the
// same order. Index arithmetic only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "coarray/index/distribution.h"

namespace tasuki::coarray {

// Element k of repetition r: to + k * to_step + r * to_again, and the same of from.
struct Strip {
  int64_t count = 0;
  int64_t to = 0, to_step = 1;
  int64_t from = 0, from_step = 1;
  int64_t repeat = 1, to_again = 0, from_again = 0;
};

// The elements that two sets of positions have in common, as strips. Positions are runs upwards that do not
// reach into each other; `to` and `from` give local indices, which are linear within a run and from one
// period of positions to the next (0: there is none).
std::vector<Strip> strips_of(const std::vector<Run>& to_positions, const std::vector<Run>& from_positions,
                             int64_t period, const std::function<int64_t(int64_t)>& to,
                             const std::function<int64_t(int64_t)>& from);

}  // namespace tasuki::coarray
