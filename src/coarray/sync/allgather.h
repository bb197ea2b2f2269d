// allgather: a few bytes that each image of a team gives all others, in one step: each stores its own into
// the memory of the others, and finds theirs in its own. For reductions of scalars, which programs make in
// every iteration. Between images that all reach each other by loads and stores.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coarray/local/memory.h"
#include "coarray/sync/patience.h"
#include "coarray/sync/sync.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

class Allgather {
 public:
  static constexpr size_t kMost = 56;     // bytes
  static constexpr int kMostImages = 16;  // more take MPI's logarithm of steps

  Allgather(Memory* memory, Sync* sync, const Teams* teams, Patience* patience)
      : memory_(*memory), sync_(*sync), teams_(*teams), patience_(*patience) {}

  // Collective over all images.
  void start(const Team& world);

  // Is there such a way for this team? Else the MPI library's collective operations are to be used.
  bool serves(const Team& team) const { return segment_ != nullptr && team.size() <= kMostImages; }
  // Collective over the team. `all`: room for the bytes of each of its images, in its order. Fails if one of
  // them has ended instead.
  void gather(const Team& team, const void* mine, size_t bytes, char* all, Where where);

 private:
  // From one image, in another's memory. Two in turn: who writes the next but one has had the next of the
  // other, who has read this one before.
  struct alignas(64) Parcel {
    std::atomic<uint64_t> number;
    char bytes[kMost];
  };

  Parcel& parcel(size_t at, size_t by, uint64_t number) {
    return reinterpret_cast<Parcel*>(segment_->direct[at])[2 * by + number % 2];
  }

  Memory& memory_;
  Sync& sync_;
  const Teams& teams_;
  Patience& patience_;
  const Team* world_ = nullptr;
  Segment* segment_ = nullptr;
  std::vector<uint64_t> numbers_;  // of exchanges with each image
};

}  // namespace tasuki::coarray
