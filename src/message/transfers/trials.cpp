#include "message/transfers/trials.h"

#include <algorithm>
#include <iterator>

namespace tasuki::message {

Way Stream::begin(Way way) {
  until_ = (kFirst << fruitless_) - 1;
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
  rival_ = rivals[++trials_ % 4 == 3 ? count - 1 : 0];
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
  const bool out = rival_is_out();
  if (out || message_ == kMessages) {
    decide(out);
    return rest(spread);
  }
  matched_ = now;
  return is_rivals(message_++) ? rival_ : way_;
}

// After each run of the rival's: nobody needs more of it.
bool Stream::rival_is_out() {
  if (message_ % kRun != 0 || message_ == 0 || !is_rivals(message_ - 1)) return false;
  uint32_t *own = times_[0], *middle = own + count_[0] / 2;
  std::nth_element(own, middle, own + count_[0]);
  return *std::min_element(times_[1], times_[1] + count_[1]) > kOut * *middle;
}

void Stream::decide(bool out) {
  for (auto& times : times_) std::sort(std::begin(times), std::end(times));
  if (out || times_[1][kStrays] > times_[0][kSamples - 1 - kStrays]) {
    interval_ = std::min(kClearly * interval_, kRarest);
  } else if (times_[1][kSamples - 1 - kStrays] < times_[0][kStrays]) {
    std::swap(way_, rival_);
    changes_++;
  }
}

Way Stream::rest(uint64_t spread) {
  message_ = 0;
  until_ = interval_ + static_cast<uint32_t>(spread % std::max(interval_, 2 * kMessages)) - 1;
  interval_ = std::min(2 * interval_, kRarest);
  return way_;
}

Stream* Streams::find(Set& set, uint64_t key) {
  uint32_t weakest = 0;
  for (uint32_t i = 0; i < kPlaces; i++) {
    if (set.key[i] == key) {
      if (set.strength[i] < kStrongest) set.strength[i]++;
      return &set.place[i].stream;
    }
    if (set.strength[i] < set.strength[weakest]) weakest = i;
  }
  if (set.strength[weakest] > 0) {
    set.strength[weakest]--;
    return nullptr;
  }
  Stream& stream = set.place[weakest].stream;
  if (stream.changes() > 0)
    set.fruitless = 0;
  else if (stream.trials() > 0 && set.fruitless < kMostFruitless)
    set.fruitless++;
  set.key[weakest] = key;
  set.strength[weakest] = kFresh;
  stream = Stream(set.fruitless);
  return &stream;
}

}  // namespace tasuki::message
