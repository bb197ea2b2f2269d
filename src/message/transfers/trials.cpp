#include "message/transfers/trials.h"

#include <algorithm>
#include <iterator>

namespace tasuki::message {

Way Stream::begin(Way way) {
  until_ = kFirst - 1;
  interval_ = kSecond;
  return way_ = way;
}

// One that is hopeless, or impossible, is left out. Alone and direct cost the same lines, so what constants
// of another machine get wrong is mostly whether pipelined is better than these two: that is tried first, and
// the third way in one trial of four.
bool Stream::find_rival(const Prospects& p) {
  const double least = *std::min_element(std::begin(p.touched), std::end(p.touched));
  const Way near = p.touched_by(Way::direct) <= p.touched_by(Way::alone) ? Way::direct : Way::alone;
  const Way far = near == Way::direct ? Way::alone : Way::direct;
  Way rivals[Prospects::kWays];
  uint32_t count = 0;
  for (const Way w : {Way::pipelined, near, far})
    if (w != way_ && p.touched_by(w) <= kHopeless * least) rivals[count++] = w;
  if (count == 0) return false;
  rival_ = rivals[++trials_ % 4 == 2 ? count - 1 : 0];
  count_[0] = count_[1] = 0;
  return true;
}

Way Stream::try_out(uint64_t spread, int64_t now) {
  // The time from the message before this one is that message's.
  if (message_ != 0 && (message_ - 1) % kRun != 0) {
    const int whose = is_rivals(message_ - 1) ? 1 : 0;
    times_[whose][count_[whose]++] =
        static_cast<uint32_t>(std::clamp<int64_t>(now - matched_, 0, UINT32_MAX));
  }
  if (message_ == kMessages || (message_ == 2 * kRun && rival_is_out())) {
    decide();
    return rest(spread);
  }
  matched_ = now;
  return is_rivals(message_++) ? rival_ : way_;
}

// After one run of either: nobody needs more of it.
bool Stream::rival_is_out() const {
  const uint32_t* own = times_[0];
  const uint32_t* rivals = times_[1];
  return *std::min_element(rivals, rivals + count_[1]) > kOut * *std::max_element(own, own + count_[0]);
}

void Stream::decide() {
  const bool whole = message_ == kMessages;
  for (auto& times : times_) std::sort(std::begin(times), std::end(times));
  if (whole && times_[1][kSamples - 1 - kStrays] < times_[0][kStrays]) {
    std::swap(way_, rival_);
    changes_++;
  } else if (!whole || times_[1][kStrays] > times_[0][kSamples - 1 - kStrays]) {
    interval_ = std::min(kClearly * interval_, kRarest);
  }
}

Way Stream::rest(uint64_t spread) {
  message_ = 0;
  until_ = interval_ + static_cast<uint32_t>(spread % std::max(interval_, 2 * kMessages)) - 1;
  interval_ = std::min(2 * interval_, kRarest);
  return way_;
}

Stream* Streams::find(Set& set, uint64_t key) {
  Place* weakest = &set.places[0];
  for (Place& p : set.places) {
    if (p.key == key) {
      p.strength = std::min(p.strength + 1, kStrongest);
      return &p.stream;
    }
    if (p.strength < weakest->strength) weakest = &p;
  }
  if (weakest->strength > 0) {
    weakest->strength--;
    return nullptr;
  }
  *weakest = {key, kFresh, {}};
  return &weakest->stream;
}

}  // namespace tasuki::message
