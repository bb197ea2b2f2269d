#include "cluster/transport/copy_team.h"

#include <algorithm>

namespace tasuki::cluster {
namespace {

constexpr size_t kPiece = size_t{128} << 10, kWorthWaking = 4 * kPiece;

}  // namespace

CopyTeam::CopyTeam(unsigned threads) {
  for (unsigned i = 1; i < threads; i++) helpers_.emplace_back([this] { help(); });
}

CopyTeam::~CopyTeam() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : helpers_) t.join();
}

void CopyTeam::run(size_t bytes, const Part& part) {
  if (helpers_.empty() || bytes < kWorthWaking || !caller_.try_lock()) return part(0, bytes);
  const std::lock_guard caller(caller_, std::adopt_lock);
  std::unique_lock lock(mutex_);
  part_ = &part;
  next_ = 0;
  end_ = left_ = bytes;
  wake_.notify_all();
  take_pieces(&lock);
  done_.wait(lock, [this] { return left_ == 0; });
}

void CopyTeam::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || next_ < end_; });
    if (stop_) return;
    take_pieces(&lock);
    if (left_ == 0) done_.notify_one();
  }
}

void CopyTeam::take_pieces(std::unique_lock<std::mutex>* lock) {
  while (next_ < end_) {
    const size_t first = next_, end = std::min(next_ + kPiece, end_);
    next_ = end;
    const Part& part = *part_;
    lock->unlock();
    part(first, end);
    lock->lock();
    left_ -= end - first;
  }
}

}  // namespace tasuki::cluster
