#include "coarray/local/outstanding.h"

#include <algorithm>

#include "coarray/local/memory.h"
#include "mpi/functions.h"

namespace tasuki::coarray {

namespace {

// Open MPI 4.1.4 hangs now and then in MPI_Win_flush_local where windows are made of messages (osc/pt2pt; two
// hosts with two ranks each).
bool has_flush_local(const Segment& segment) {
  static const bool may_hang = mpi::is_open_mpi_before(5);
  return !may_hang || std::count(segment.near.begin(), segment.near.end(), 0) == 0;
}

}  // namespace

Outstanding::Outstanding(const Segment& segment)
    : segment_(segment),
      local_by_flush_(!has_flush_local(segment)),
      targets_(static_cast<size_t>(segment.team->size())) {}

void Outstanding::settle(int target, uint64_t from, uint64_t to) {
  const Target& t = targets_[static_cast<size_t>(target)];
  for (int i = 0; i < t.count; i++)
    if (from < t.ranges[i].end && t.ranges[i].begin < to) return flush(target);
}

void Outstanding::announce(int target, uint64_t from, uint64_t to, Direction direction) {
  Target& t = targets_[static_cast<size_t>(target)];
  for (int i = 0; i < t.count; i++) {
    const Range& range = t.ranges[i];
    const bool both_get = direction == Direction::get && range.direction == Direction::get;
    if (!both_get && from < range.end && range.begin < to) {
      flush(target);
      break;
    }
  }
  if (!t.open) {
    t.open = true;
    open_.push_back(target);
  }
  t.local = true;
  for (int i = 0; i < t.count; i++) {
    Range& range = t.ranges[i];
    if (range.direction == direction && from <= range.end && range.begin <= to) {
      range = {std::min(range.begin, from), std::max(range.end, to), direction};
      return;
    }
  }
  if (t.count < kRanges) {
    t.ranges[t.count++] = {from, to, direction};
  } else {
    Range& last = t.ranges[kRanges - 1];
    // A put and a get together are as a put, for which everything waits.
    if (direction == Direction::put) last.direction = direction;
    last = {std::min(last.begin, from), std::max(last.end, to), last.direction};
  }
}

void Outstanding::put(int target, const void* from, Buffer origin, uint64_t to, Buffer remote) {
  const MPI_Aint at = segment_.displacement[static_cast<size_t>(target)] + static_cast<MPI_Aint>(to);
  PMPI_Put(from, origin.count, origin.type, target, at, remote.count, remote.type, segment_.window);
}

void Outstanding::get(int target, void* to, Buffer origin, uint64_t from, Buffer remote) {
  const MPI_Aint at = segment_.displacement[static_cast<size_t>(target)] + static_cast<MPI_Aint>(from);
  PMPI_Get(to, origin.count, origin.type, target, at, remote.count, remote.type, segment_.window);
}

void Outstanding::local(int target) {
  Target& t = targets_[static_cast<size_t>(target)];
  if (!t.local) return;
  if (local_by_flush_) return flush(target);
  PMPI_Win_flush_local(target, segment_.window);
  t.local = false;
  // A get that is complete here is complete.
  t.count =
      static_cast<int>(std::remove_if(t.ranges, t.ranges + t.count,
                                      [](const Range& range) { return range.direction == Direction::get; }) -
                       t.ranges);
  if (t.count > 0) return;
  t.open = false;
  std::erase(open_, target);
}

void Outstanding::local_all() {
  for (size_t i = open_.size(); i-- > 0;) local(open_[i]);
}

void Outstanding::close(Target* target) {
  target->count = 0;
  target->open = target->local = false;
}

void Outstanding::flush(int target) {
  Target& t = targets_[static_cast<size_t>(target)];
  if (!t.open) return;
  PMPI_Win_flush(target, segment_.window);
  close(&t);
  std::erase(open_, target);
}

void Outstanding::flush_all() {
  if (open_.empty()) return;
  if (open_.size() <= 4) {
    for (int target : open_) PMPI_Win_flush(target, segment_.window);
  } else {
    PMPI_Win_flush_all(segment_.window);
  }
  for (int target : open_) close(&targets_[static_cast<size_t>(target)]);
  open_.clear();
}

}  // namespace tasuki::coarray
