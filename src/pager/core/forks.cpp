#include "pager/core/forks.h"

#include <utility>

namespace tasuki::pager {

bool Forks::begin() {
  std::unique_ptr<os::Descendants> processes = os::Descendants::expect();
  if (processes == nullptr || !mapper_->let_inherit(true)) return false;
  forks_.push_back({std::move(processes)});
  slots_->freeze();
  return true;
}

void Forks::end() {
  mapper_->let_inherit(false);
  forks_.back().processes->forked();
}

bool Forks::look(double now) {
  if (!descendants() || now - looked_ < kLookSeconds) return false;
  looked_ = now;
  bool any = false;
  for (size_t i = forks_.size(); i-- > 0;) {
    const bool gone = !forks_[i].processes->any();
    if (gone && forks_[i].gone) {
      slots_->thaw(i);
      forks_.erase(forks_.begin() + static_cast<ptrdiff_t>(i));
      any = true;
    } else {
      forks_[i].gone = gone;
    }
  }
  return any;
}

}  // namespace tasuki::pager
