#include "coarray/sync/collectives.h"

#include <algorithm>
#include <cstring>

#include "os/clock.h"

namespace tasuki::coarray {
namespace {

// Most images end at the same time and need not look at all; those that wait long for the others need not
// look often.
constexpr int64_t kFirstPauseMs = 300, kLongestPauseMs = 5000;

}  // namespace

void Collectives::begin(const Team& team, uint64_t number, Where where) {
  Station& mine = stations_.own();
  __atomic_thread_fence(__ATOMIC_RELEASE);  // no reader takes what follows for the last operation's
  mine.number = number;
  stations_.set_place(where);
  __atomic_store_n(&mine.team, team.id, __ATOMIC_RELEASE);
  stations_.publish();
}

void Collectives::end() {
  __atomic_store_n(&stations_.own().team, 0, __ATOMIC_RELEASE);
  stations_.publish();
}

void Collectives::examine(size_t image, const Teams& teams) {
  const Team* team = now_.team != 0 ? teams.find(now_.team) : nullptr;
  const bool same = memcmp(&now_, &seen_[image], sizeof now_) == 0;
  seen_[image] = now_;
  if (!same || team == nullptr || team->collectives >= now_.number) return;
  now_.file[sizeof now_.file - 1] = '\0';
  fail({now_.file[0] != '\0' ? now_.file : nullptr, static_cast<int>(now_.line)},
       "image %d waits here for image %d, which has ended", teams.number_of(static_cast<int>(image)),
       teams.number_of(teams.world().me));
}

void Collectives::look(const Teams& teams) {
  const int64_t now = os::monotonic_ms();
  if (seen_.empty()) {
    seen_.assign(stations_.count(), {});
    pause_ms_ = kFirstPauseMs;
    next_look_ms_ = now + pause_ms_;
  }
  if (now < next_look_ms_) return;
  for (; next_image_ < seen_.size(); next_image_++) {
    if (!reader_.read(&stations_, next_image_, &now_)) return;
    if (static_cast<int>(next_image_) != teams.world().me) examine(next_image_, teams);
  }
  next_image_ = 0;
  pause_ms_ = std::min(pause_ms_ * 2, kLongestPauseMs);
  next_look_ms_ = now + pause_ms_;
}

void Collectives::stop_looking() {
  reader_.stop();
}

}  // namespace tasuki::coarray
