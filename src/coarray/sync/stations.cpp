#include "coarray/sync/stations.h"

#include <cstddef>
#include <cstring>

#include "coarray/local/outstanding.h"

namespace tasuki::coarray {

void Stations::start(const Team& world) {
  segment_ = memory_.allocate(world, sizeof(Station), 64);
  if (segment_ == nullptr) fail({nullptr, 0}, "no memory for the synchronization of images");
  file_ = nullptr;
}

void Stations::set_place(Where where) {
  Station& mine = own();
  mine.line = where.line;
  if (where.file == file_) return;
  mine.file[0] = '\0';
  if (where.file != nullptr) strncpy(mine.file, where.file, sizeof mine.file - 1);
  file_ = where.file;
}

bool Stations::is_first_to_tell() {
  const uint32_t yes = 1;
  uint32_t before = 0;
  if (char* direct = segment_->direct[0]; direct != nullptr && segment_->outstanding == nullptr)
    return __atomic_exchange_n(&reinterpret_cast<Station*>(direct)->told, yes, __ATOMIC_RELAXED) == 0;
  PMPI_Fetch_and_op(&yes, &before, MPI_UINT32_T, 0,
                    segment_->displacement[0] + static_cast<MPI_Aint>(offsetof(Station, told)), MPI_REPLACE,
                    segment_->window);
  PMPI_Win_flush(0, segment_->window);
  return before == 0;
}

bool Stations::Reader::read(Stations* stations, size_t image, Station* now) {
  Segment& segment = *stations->segment_;
  if (const char* direct = segment.direct[image]; direct != nullptr) {
    const auto* there = reinterpret_cast<const Station*>(direct);
    const uint64_t team = __atomic_load_n(&there->team, __ATOMIC_ACQUIRE);
    memcpy(now, direct, sizeof *now);
    // What was copied is of that team only if it is still there afterwards.
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (now->team != team || __atomic_load_n(&there->team, __ATOMIC_RELAXED) != team) now->team = 0;
    return true;
  }
  int done = 0;
  if (!started_)
    PMPI_Rget(&arriving_, sizeof arriving_, MPI_BYTE, static_cast<int>(image), segment.displacement[image],
              sizeof arriving_, MPI_BYTE, segment.window, &request_);
  started_ = true;
  PMPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  if (done == 0) return false;
  started_ = false;
  *now = arriving_;
  return true;
}

void Stations::Reader::stop() {
  if (started_) PMPI_Wait(&request_, MPI_STATUS_IGNORE);
  started_ = false;
}

}  // namespace tasuki::coarray
