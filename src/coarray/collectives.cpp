#include "coarray/collectives.h"

#include <algorithm>
#include <cstring>

#include "coarray/runtime.h"

namespace tasuki::coarray {
namespace {

// Most images end at the same time and need not look at all; those that wait long for the others need not look often.
constexpr std::chrono::milliseconds kFirstPause{300}, kLongestPause{5000};

}  // namespace

void Collectives::start(Memory* memory, const Team& world) {
  segment_ = memory->allocate(world, sizeof(Waiting), 64);
  if (segment_ == nullptr) fail({nullptr, 0}, "no memory for the synchronization of images");
  file_ = nullptr;
}

void Collectives::begin(const Team& team, uint64_t number, Where where) {
  Waiting& mine = own();
  mine.number = number;
  mine.line = where.line;
  if (where.file != file_) {
    mine.file[0] = '\0';
    if (where.file != nullptr) strncpy(mine.file, where.file, sizeof mine.file - 1);
    file_ = where.file;
  }
  __atomic_store_n(&mine.team, team.id, __ATOMIC_RELEASE);
  if (segment_->needs_sync) PMPI_Win_sync(segment_->window);
}

void Collectives::end() {
  __atomic_store_n(&own().team, 0, __ATOMIC_RELEASE);
  if (segment_->needs_sync) PMPI_Win_sync(segment_->window);
}

// What an image waits for, into now_; false: not yet.
bool Collectives::read(size_t image) {
  if (const char* direct = segment_->direct[image]; direct != nullptr) {
    now_.team = __atomic_load_n(&reinterpret_cast<const Waiting*>(direct)->team, __ATOMIC_ACQUIRE);
    const uint64_t team = now_.team;
    memcpy(&now_, direct, sizeof now_);
    if (now_.team != team) now_.team = 0;
    return true;
  }
  int done = 0;
  if (!started_)
    PMPI_Rget(&now_, sizeof now_, MPI_BYTE, static_cast<int>(image), segment_->displacement[image],
              sizeof now_, MPI_BYTE, segment_->window, &request_);
  started_ = true;
  PMPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  if (done != 0) started_ = false;
  return done != 0;
}

void Collectives::examine(size_t image, const Teams& teams) {
  const Team* team = now_.team != 0 ? teams.find(now_.team) : nullptr;
  const bool same = memcmp(&now_, &seen_[image], sizeof now_) == 0;
  seen_[image] = now_;
  if (!same || team == nullptr || team->collectives >= now_.number) return;
  const Runtime& r = runtime();
  now_.file[sizeof now_.file - 1] = '\0';
  fail({now_.file[0] != '\0' ? now_.file : nullptr, static_cast<int>(now_.line)},
       "image %d waits here for image %d, which has ended", r.number_of(static_cast<int>(image)),
       r.number_of(r.teams.world().me));
}

void Collectives::look(const Teams& teams) {
  const auto now = Clock::now();
  if (seen_.empty()) {
    seen_.assign(segment_->direct.size(), {});
    pause_ = kFirstPause;
    next_look_ = now + pause_;
  }
  if (now < next_look_) return;
  for (; next_image_ < seen_.size(); next_image_++) {
    if (!read(next_image_)) return;
    if (static_cast<int>(next_image_) != teams.world().me) examine(next_image_, teams);
  }
  next_image_ = 0;
  pause_ = std::min<Clock::duration>(pause_ * 2, kLongestPause);
  next_look_ = now + pause_;
}

void Collectives::stop_looking() {
  if (started_) wait_for(&request_);
  started_ = false;
}

Collective::Collective(const Team& team, uint64_t number, Where where) {
  runtime().collectives.begin(team, number, where);
}

Collective::~Collective() {
  runtime().collectives.end();
}

}  // namespace tasuki::coarray
