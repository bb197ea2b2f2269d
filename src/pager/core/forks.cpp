#include "pager/core/forks.h"

namespace tasuki::pager {

bool Forks::begin() {
  if (!descendants_.expect() || !mapper_->let_inherit(true)) return false;
  slots_->freeze();
  gone_ = false;
  return true;
}

void Forks::end() {
  mapper_->let_inherit(false);
}

bool Forks::look(double now) {
  if (!descendants() || now - looked_ < kLookSeconds) return false;
  looked_ = now;
  const bool gone = !descendants_.any();
  if (gone && gone_) {
    slots_->thaw();
    return true;
  }
  gone_ = gone;
  return false;
}

}  // namespace tasuki::pager
