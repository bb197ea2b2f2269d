// memory: coarray memory of all images, and how this image reaches it.
//
//   segment   memory of the same size in each image of a team: all coarrays of file scope together, or one allocated coarray
//   direct    another image's part has an address here: same address space (`tasuki run`) or memory that its host shares
//
// Three ways, chosen once for the whole run: all images in one address space: plain mappings. All on one
// host: a window of shared memory (MPI_Win_allocate_shared). Else MPI_Win_allocate; there, too, images of the
// same address space are direct for puts and gets, while locks and atomics go through the window for all,
// since the two kinds need not agree.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "coarray/local/team.h"

namespace tasuki::coarray {

class Outstanding;
struct Segment;

// A segment's device memory in all images (device/device.h).
struct Mirror {
  char* begin = nullptr;  // this image's part, an address of the device; of the host if there is none
  std::vector<char*>
      direct;  // by index in the team: where the driver reaches it from here; nullptr: not at all
  Segment* window = nullptr;  // the same memory as a window of MPI; nullptr: none
  std::vector<char*> opened;  // to be closed
  bool mapped = false;        // known to OpenACC
};

struct Segment {
  char* begin = nullptr;  // this image's part
  uint64_t bytes = 0;
  const Team* team = nullptr;
  // By index in the team. nullptr: through the window.
  std::vector<char*> direct;
  std::vector<uint64_t> home;  // the address of each image's part in that image
  // Through the window: where `begin` is in each image's part of the window, and what is under way.
  std::vector<MPI_Aint> displacement;
  std::unique_ptr<Outstanding> outstanding;
  std::unique_ptr<Mirror> mirror;  // in device memory; nullptr: not there
  MPI_Win window = MPI_WIN_NULL;
  std::vector<char> near;   // 1: of this host
  bool needs_sync = false;  // stores here and transfers by the window are ordered by MPI_Win_sync only
  void* mapping = nullptr;
  uint64_t mapped = 0;

  bool holds(const void* p, uint64_t length) const {
    const auto offset = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(begin);
    return offset <= bytes && length <= bytes - offset;
  }
  Segment();
  ~Segment();
};

enum class Reach { space, host, window };

class Memory {
 public:
  // Collective over all images.
  void start(const Team& world);
  Reach reach() const { return reach_; }
  // Puts, gets and atomics are loads and stores for all images.
  bool all_direct() const { return reach_ != Reach::window; }
  // The user wants no other way.
  bool windows_only() const { return windows_only_; }

  // Known to reach each other by shared memory or in one address space, this one among them.
  long images_here() const { return std::count(near_.begin(), near_.end(), 1); }

  bool between_hosts() const { return std::count(near_.begin(), near_.end(), 0) > 0; }

  // Collective over the team. Zero, aligned to `alignment` (a power of two); nullptr if any image has not
  // enough.
  Segment* allocate(const Team& team, uint64_t bytes, uint64_t alignment);
  void release(Segment* segment);
  // Collective over the team: memory of the device, which this image's MPI library takes, as a segment that
  // windows reach.
  Segment* adopt(const Team& team, char* begin, uint64_t bytes);
  void release_all();

  // The segment that holds the bytes, or nullptr.
  Segment* find(const void* p, uint64_t length) {
    if (last_ != nullptr && last_->holds(p, length)) return last_;
    return search(p, length);
  }
  const std::vector<std::unique_ptr<Segment>>& segments() const { return segments_; }

 private:
  Segment* search(const void* p, uint64_t length);
  bool map_plainly(Segment* segment, uint64_t alignment, bool wanted);
  bool make_window(Segment* segment, uint64_t alignment);

  Reach reach_ = Reach::window;
  bool windows_only_ = false;
  uint64_t space_ = 0;      // the same in images of one address space, 0: none
  std::vector<char> near_;  // by rank in MPI_COMM_WORLD; 1: of this host
  std::vector<std::unique_ptr<Segment>> segments_;
  Segment* last_ = nullptr;
};

}  // namespace tasuki::coarray
