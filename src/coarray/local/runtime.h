// runtime: one for the process, since main is one: what the functions of xmp.h and xmp_compiler.h work on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coarray/device/device.h"
#include "coarray/device/device_transfer.h"
#include "coarray/local/memory.h"
#include "coarray/local/team.h"
#include "coarray/local/transfer.h"
#include "coarray/sync/allgather.h"
#include "coarray/sync/collectives.h"
#include "coarray/sync/sync.h"

namespace tasuki::coarray {

class Runtime {
 public:
  Memory memory;
  Device device;
  Transfers transfers{&memory};
  DeviceTransfers device_transfers{&device, &transfers};
  Teams teams;
  Sync sync;
  Allgather allgather;
  Stations stations;
  Collectives collectives;
  Patience patience;
  int first_image = 1;

  // Starts MPI if it does not run, gives all registered coarrays memory, and arranges for the end at exit(). Collective.
  void start(int* argc, char*** argv, bool ours);
  bool started() const { return state_ == State::running; }
  void require_start(const char* function) const {
    if (state_ != State::running) [[unlikely]]
      not_started(function);
  }
  // Completes everything, waits for all images, ends MPI if this runtime started it. A second call does nothing.
  void end();

  void add(tasuki_xmp_coarray* record);
  void add(tasuki_xmp_nodes* record);
  void set_first_image(int first, const char* file);
  void use_device() { uses_device_ = true; }

  // Where the object at `p` of this image is in image `image`. Fails with a message.
  Place place(const void* p, uint64_t bytes, int image, Where where);
  // The same object in the coarray's device memory. Fails with a message where it has none.
  void to_device(Place* place, const void* p, Where where) const;
  // An address that stands for device memory here: of a coarray on the host, or of the device already.
  char* device_address(const void* p, Where where);
  // Where a copy of these bytes of the host is on the device, by a mirror or by OpenACC; nullptr: there is none. Only with a device apart.
  char* device_copy(const void* p, uint64_t bytes);
  // With the mirror of its memory, if there is one. Collective over the segment's team.
  // If one of it has left main, the memory stays until all have.
  void release(Segment* segment);
  // Gives it a mirror. Collective over the segment's team.
  void to_device(Segment* segment) { device.mirror(segment, &memory); }
  // The index of an image in `world`.
  int world_index(int image, Where where, const char* what) const {
    const int index = current_index(image);
    if (index < 0) [[unlikely]]
      return teams.world().index[static_cast<size_t>(rank_elsewhere(image, what, where))];
    const Team &team = teams.current(), &world = teams.world();
    return &team == &world ? index : world.index[static_cast<size_t>(team.ranks[static_cast<size_t>(index)])];
  }
  // The number that stands for a rank of MPI_COMM_WORLD: that of the image if it executes, else one that none has.
  int image_of_rank(int rank) const {
    const int index = teams.current().index[static_cast<size_t>(rank)];
    return index >= 0 ? index + first_image : kElsewhere + rank;
  }
  // The number by which the user names it; of this image if it is in the executing set.
  int number_of(int world_index) const;
  // How the coarray that holds the address is called, for messages.
  std::string name_of(const void* p) const;

  // With `on_device` it has a mirror.
  void* allocate(uint64_t bytes, bool on_device, Where where);
  void release(void* p, Where where);

 private:
  enum class State { off, running, ended };
  // Images of other sets than the executing one, which coarray directives may name.
  static constexpr int kElsewhere = -0x40000000;
  bool is_elsewhere(int image) const {
    return image >= kElsewhere && image < kElsewhere + teams.world().size();
  }
  // The rank of MPI_COMM_WORLD, for images that do not execute. Fails with a message if there is no such image.
  int rank_elsewhere(int image, const char* what, Where where) const;
  // The index of an image in the executing set; -1: there is none of that number.
  int current_index(int image) const {
    const int index = image - first_image;
    return index >= 0 && index < teams.current().size() ? index : -1;
  }
  Place distant_place(const void* p, uint64_t bytes, int image, Where where);
  [[noreturn]] void not_started(const char* function) const;
  [[noreturn]] void no_image(int image, const char* what, Where where) const;
  // What the records of one coarray say together.
  struct Coarray {
    tasuki_xmp_coarray* record;
    uint64_t bytes = 0, alignment = 0;
    bool device = false;
  };
  Segment* give_memory();
  void start_device(const std::vector<Segment*>& mirrored);
  Segment* place_in_segment(const std::vector<Coarray>& all, bool mirrored);

  State state_ = State::off;
  bool finalise_ = false, uses_device_ = false;
  int pid_ = 0;
  std::vector<tasuki_xmp_coarray*> records_;
  std::vector<tasuki_xmp_nodes*> nodes_;
  const char* first_image_file_ = nullptr;
};

// Never destroyed: exit() may run while other threads still use coarrays. Made by the first call, in a constructor of the program.
extern Runtime* the_runtime;
Runtime& make_runtime();
inline Runtime& runtime() {
  return the_runtime != nullptr ? *the_runtime : make_runtime();
}

inline Place Runtime::place(const void* p, uint64_t bytes, int image, Where where) {
  const int index = current_index(image);
  Segment* segment = memory.find(p, bytes);
  if (segment != nullptr && index >= 0 && segment->team == &teams.current()) [[likely]]
    return place_of(segment, index, p);
  return distant_place(p, bytes, image, where);
}

}  // namespace tasuki::coarray
