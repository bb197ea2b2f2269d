// coarrays: those of file scope, which get their memory at the start, and those that the program allocates;
// which of them an address is in, and where another image, or the device, has the same object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coarray/access/transfers.h"
#include "coarray/device/device.h"
#include "coarray/local/memory.h"
#include "coarray/local/phase.h"
#include "coarray/local/place.h"
#include "coarray/sync/sync.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

class Coarrays {
 public:
  Coarrays(const Phase* phase, Memory* memory, Teams* teams, Sync* sync, Device* device, Transfers* transfers)
      : phase_(*phase),
        memory_(*memory),
        teams_(*teams),
        sync_(*sync),
        device_(*device),
        transfers_(*transfers) {}

  // Of file scope; before the start.
  void add(tasuki_xmp_coarray* record);
  // Memory for all that were added. Collective over all images. The segment that is to have a mirror;
  // nullptr: none is.
  Segment* start();
  // How the coarray that holds the address is called, for messages.
  std::string name_of(const void* p) const;

  // Collective over the executing set. With `on_device` it has a mirror.
  void* allocate(uint64_t bytes, bool on_device, Where where);
  void release(void* p, Where where);
  // With the mirror of its memory, if there is one. Collective over the segment's team.
  // If one of it has left main, the memory stays until all have.
  void release(Segment* segment);
  // Gives it a mirror. Collective over the segment's team.
  void mirror(Segment* segment) { device_.mirror(segment, &memory_); }

  // Where the object at `p` is in image `image` if it is not in a segment of the executing set: in a coarray
  // that another set has allocated. Fails with a message where there is none.
  Place distant_place(const void* p, uint64_t bytes, int image, const Where& where);
  // The same object in the coarray's device memory. Fails with a message where it has none.
  void to_device(Place* place, const void* p, Where where) const;
  // An address that stands for device memory here: of a coarray on the host, or of the device already.
  char* device_address(const void* p, Where where);
  // Where a copy of these bytes of the host is on the device, by a mirror or by OpenACC; nullptr: there is
  // none. Only with a device apart.
  char* device_copy(const void* p, uint64_t bytes) {
    return device_.address(memory_.find(p, bytes), p, bytes);
  }

 private:
  // What the records of one coarray say together.
  struct Known {
    tasuki_xmp_coarray* record;
    uint64_t bytes = 0, alignment = 0;
    bool device = false;
  };
  Segment* place_in_segment(const std::vector<Known>& all, bool mirrored);

  const Phase& phase_;
  Memory& memory_;
  Teams& teams_;
  Sync& sync_;
  Device& device_;
  Transfers& transfers_;
  std::vector<tasuki_xmp_coarray*> records_;
};

}  // namespace tasuki::coarray
