#include "coarray/sync/patience.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/cpu.h"
#include "base/settings.h"
#include "os/clock.h"
#include "os/files/streams.h"
#include "os/process/cpu.h"

namespace tasuki::coarray {
namespace {

constexpr int32_t kNoTag = INT32_MIN;
constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

Waiting::Waiting(Patience* patience, const char* wait, int other, Where place, bool tagged, int number)
    : what(wait),
      image(other),
      where(place),
      has_tag(tagged),
      tag(number),
      patience_(*patience),
      around_(patience->what_) {
  // What the user has written says more than what it is made of.
  if (place.file == nullptr && around_ != nullptr && around_->where.file != nullptr) {
    what = around_->what;
    where = around_->where;
  }
  patience_.what_ = this;
}

Waiting::~Waiting() {
  patience_.what_ = around_;
}

void Waiter::turn_without_pause() {
  if (++turns_ <= patience_.polls()) return;
  if (patience_.crowded())
    os::cpu_yield();
  else
    yielding_.turn();
  watch_.turn();
}

void Waiter::turn() {
  cpu_relax();
  turn_without_pause();
}

void wait_for(MPI_Request* request, Patience* patience, MPI_Status* status) {
  Waiter waiter(patience);
  for (int done = 0;; waiter.turn_without_pause()) {
    PMPI_Test(request, &done, status);
    if (done != 0) return;
  }
}

void Patience::look(int64_t* began, uint64_t* number) {
  if (!phase_.running()) return;
  if (*began == 0) *began = os::monotonic_ns();
  goes_on(*began, number);
}

void Patience::goes_on(int64_t began, uint64_t* number) {
  if (seconds_ < 0) seconds_ = static_cast<int64_t>(setting_count("TASUKI_COARRAY_PATIENCE"));
  if (seconds_ == 0) return;
  const int64_t now = os::monotonic_ns(), all = seconds_ * kSecond;
  if (now - began < all / 4) return;
  if (*number == 0) {
    *number = ++waits_;
    tell(*number);
    seen_.clear();
    next_image_ = 0;
    next_look_ = began + all / 2;
  }
  if (reported_ || now < next_look_ || !read_all()) return;
  next_look_ = now + all / 2;
  report(now - began);
}

void Patience::tell(uint64_t number) {
  Station& mine = stations_.own();
  // What is in a collective operation has said so, and its place.
  if (mine.team == 0) {
    stations_.set_place(what_ != nullptr ? what_->where : Where{nullptr, 0});
    const std::string text = what_ != nullptr ? what_->what : "other images";
    mine.image = what_ != nullptr ? what_->image : -1;
    mine.tag = what_ != nullptr && what_->has_tag ? what_->tag : kNoTag;
    strncpy(mine.what, text.c_str(), sizeof mine.what - 1);
  }
  __atomic_store_n(&mine.wait, number, __ATOMIC_RELEASE);
  stations_.publish();
}

void Patience::ended() {
  __atomic_store_n(&stations_.own().wait, 0, __ATOMIC_RELEASE);
  stations_.publish();
}

// True when all have been read.
bool Patience::read_all() {
  now_.resize(stations_.count());
  for (; next_image_ < now_.size(); next_image_++)
    if (!reader_.read(&stations_, next_image_, &now_[next_image_])) return false;
  next_image_ = 0;
  return true;
}

void Patience::report(int64_t passed_ns) {
  const bool all =
      std::all_of(now_.begin(), now_.end(), [](const Station& s) { return s.team != 0 || s.wait != 0; });
  bool same = all && seen_.size() == now_.size();
  for (size_t i = 0; same && i < now_.size(); i++)
    same =
        now_[i].team == seen_[i].team && now_[i].number == seen_[i].number && now_[i].wait == seen_[i].wait;
  seen_ = all ? now_ : std::vector<Station>();
  if (!same || passed_ns < seconds_ * kSecond) return;
  reported_ = true;
  if (!stations_.is_first_to_tell()) return;
  const auto image = [&](int index) { return "image " + std::to_string(index + first_image_); };
  std::string text = "tasuki: all " + std::to_string(now_.size()) + " images have been waiting for " +
                     std::to_string(passed_ns / kSecond) + " s, and none of them goes on:\n";
  for (size_t i = 0; i < now_.size(); i++) {
    Station& s = now_[i];
    s.file[sizeof s.file - 1] = s.what[sizeof s.what - 1] = '\0';
    text += "  " + image(static_cast<int>(i));
    if (s.file[0] != '\0') text += ", " + std::string(s.file) + ":" + std::to_string(s.line);
    if (s.team != 0)
      text += ": in a collective operation";
    else
      text += ": " + std::string(s.what) + (s.image >= 0 ? " " + image(s.image) : "") +
              (s.tag != kNoTag ? ", tag " + std::to_string(s.tag) : "");
    text += "\n";
  }
  text += "  (the job goes on; TASUKI_COARRAY_PATIENCE says after how many seconds this is told, 0 never)\n";
  if (!os::write_errors(text)) perror("tasuki");
}

}  // namespace tasuki::coarray
