#include "pager/threads/catcher.h"

#include <algorithm>

#include "os/files/streams.h"

namespace tasuki::pager {

void Catcher::start() {
  thread_ = std::thread([this] { run(); });
}

void Catcher::stop() {
  if (!thread_.joinable()) return;
  end_.wake();
  thread_.join();
}

void Catcher::run() {
  os::Awaited awaited[2] = {os::Awaited(mapper_->descriptor()), os::Awaited(end_.descriptor())};
  for (;;) {
    os::wait_for(awaited, 2, -1);
    if (awaited[1].readable()) return;
    os::FaultEvent events[16];
    const size_t n = mapper_->faults(events, 16);
    if (n == 0) continue;
    const std::lock_guard lock(mutex_);
    caught_.insert(caught_.end(), events, events + n);
    wakeup_->wake();
  }
}

size_t Catcher::faults(os::FaultEvent* events, size_t max) {
  const std::lock_guard lock(mutex_);
  const size_t n = std::min(max, caught_.size());
  std::copy_n(caught_.begin(), n, events);
  caught_.erase(caught_.begin(), caught_.begin() + static_cast<ptrdiff_t>(n));
  return n;
}

}  // namespace tasuki::pager
