#include "coarray/sync/patience.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/settings.h"
#include "coarray/local/runtime.h"

namespace tasuki::coarray {
namespace {

constexpr int32_t kNoTag = INT32_MIN;

}  // namespace

Waiting::Waiting(const char* wait, int other, Where place, bool tagged, int number)
    : what(wait), image(other), where(place), has_tag(tagged), tag(number), around_(runtime().patience.what) {
  // What the user has written says more than what it is made of.
  if (place.file == nullptr && around_ != nullptr && around_->where.file != nullptr) {
    what = around_->what;
    where = around_->where;
  }
  runtime().patience.what = this;
}

Waiting::~Waiting() {
  runtime().patience.what = around_;
}

void Watch::look() {
  if (!runtime().started()) return;
  if (began_ == Patience::Clock::time_point()) began_ = Patience::Clock::now();
  runtime().patience.goes_on(began_, &number_);
}

Watch::~Watch() {
  if (number_ != 0) runtime().patience.ended();
}

void Patience::goes_on(Clock::time_point began, uint64_t* number) {
  if (seconds_ < 0) seconds_ = static_cast<int64_t>(setting_count("TASUKI_COARRAY_PATIENCE"));
  if (seconds_ == 0) return;
  const auto now = Clock::now();
  const Clock::duration all = std::chrono::seconds(seconds_);
  if (now - began < all / 4) return;
  if (*number == 0) {
    *number = ++waits_;
    tell(*number);
    seen_.clear();
    next_image_ = 0;
    next_look_ = began + all / 2;
  }
  if (reported_ || now < next_look_ || !look(now)) return;
  next_look_ = now + all / 2;
  report(now - began);
}

void Patience::tell(uint64_t number) {
  Stations& stations = runtime().stations;
  Station& mine = stations.own();
  // What is in a collective operation has said so, and its place.
  if (mine.team == 0) {
    stations.set_place(what != nullptr ? what->where : Where{nullptr, 0});
    const std::string text = what != nullptr ? what->what : "other images";
    mine.image = what != nullptr ? what->image : -1;
    mine.tag = what != nullptr && what->has_tag ? what->tag : kNoTag;
    strncpy(mine.what, text.c_str(), sizeof mine.what - 1);
  }
  __atomic_store_n(&mine.wait, number, __ATOMIC_RELEASE);
  stations.publish();
}

void Patience::ended() {
  Stations& stations = runtime().stations;
  __atomic_store_n(&stations.own().wait, 0, __ATOMIC_RELEASE);
  stations.publish();
}

// True when all have been read.
bool Patience::look(Clock::time_point) {
  Stations& stations = runtime().stations;
  now_.resize(stations.count());
  for (; next_image_ < now_.size(); next_image_++)
    if (!reader_.read(&stations, next_image_, &now_[next_image_])) return false;
  next_image_ = 0;
  return true;
}

void Patience::report(Clock::duration passed) {
  Runtime& r = runtime();
  const bool all =
      std::all_of(now_.begin(), now_.end(), [](const Station& s) { return s.team != 0 || s.wait != 0; });
  bool same = all && seen_.size() == now_.size();
  for (size_t i = 0; same && i < now_.size(); i++)
    same =
        now_[i].team == seen_[i].team && now_[i].number == seen_[i].number && now_[i].wait == seen_[i].wait;
  seen_ = all ? now_ : std::vector<Station>();
  if (!same || passed < std::chrono::seconds(seconds_)) return;
  reported_ = true;
  if (!r.stations.is_first_to_tell()) return;
  const auto image = [&](int index) { return "image " + std::to_string(index + r.first_image); };
  std::string text = "tasuki: all " + std::to_string(now_.size()) + " images have been waiting for " +
                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(passed).count()) +
                     " s, and none of them goes on:\n";
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
  if (write(STDERR_FILENO, text.c_str(), text.size()) < 0) perror("tasuki");
}

}  // namespace tasuki::coarray
