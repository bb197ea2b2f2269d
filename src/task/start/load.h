// Loading an image at an address of its own, beside those that are loaded already.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "elf/image.h"

namespace tasuki::task {

// Where new mappings go: wherever the kernel likes, or, with a seed, at random places derived from it (the
// paper's advice against stray writes: load the tasks elsewhere in every run and compare).
class Placement {
 public:
  explicit Placement(uint64_t seed) : state_(seed) {}

  // Inaccessible address space; nullptr and errno as os::reserve.
  void* reserve(size_t length);
  // Moves what the kernel places next (program, libraries, heap) by a random distance.
  void shift();

 private:
  uint64_t next();
  uint64_t state_;  // 0: not random
};

// Loads a position-independent image (an interpreter) at a new address.
struct LoadedImage {
  uint64_t base;  // what is added to the image's addresses
  uint64_t begin, end;
};
Result<LoadedImage> load_image(const elf::Image& image, int fd, Placement* placement);

}  // namespace tasuki::task
