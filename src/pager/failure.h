#pragma once

#include "base/status.h"

namespace tasuki::pager {

// The first error after which the pager cannot go on: pages are lost. Whoever meets one reports it here and
// returns; the loop ends with it.
class Failure {
 public:
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  void report(const Status& status) {
    if (status_.ok()) status_ = status;
  }

 private:
  Status status_;
};

}  // namespace tasuki::pager
