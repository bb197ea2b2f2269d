#pragma once

#include "os/clock.h"

namespace tasuki::pager {

// Adds the time that it lives to a sum.
class Timer {
 public:
  explicit Timer(double* sum) : sum_(sum), begin_(os::monotonic_seconds()) {}
  ~Timer() { *sum_ += os::monotonic_seconds() - begin_; }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  double* sum_;
  double begin_;
};

}  // namespace tasuki::pager
