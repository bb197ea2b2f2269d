// device: memory of an accelerator, and what reaches it.
//
//   host    none: OpenACC's regions run on the host, and a coarray's device memory is its host memory, as gcc's fallback has it
//   cuda    NVIDIA's driver library, loaded when the program starts with coarrays in device memory
//
// A segment with device memory has its mirror there: the same offsets, other addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coarray/team.h"

namespace tasuki::coarray {

struct Segment;

// A segment's device memory in all images.
struct Mirror {
  char* begin = nullptr;  // this image's part, an address of the device; of the host if there is none
  std::vector<char*>
      direct;  // by index in the team: where the device driver reaches it from here; nullptr: not at all
};

class Device {
 public:
  enum class Kind { host, cuda };

  // Collective over all images, which must have the same kind. Called when the program has coarrays in device memory.
  void start(const Team& world);
  Kind kind() const { return kind_; }
  // Device memory is other memory than the host's.
  bool apart() const { return kind_ != Kind::host; }

  // Collective over the segment's team: device memory with the segment's bytes in it.
  void mirror(Segment* segment);

 private:
  Kind kind_ = Kind::host;
};

}  // namespace tasuki::coarray
