#include "coarray/device.h"

#include "coarray/memory.h"

namespace tasuki::coarray {

void Device::start(const Team&) {}

void Device::mirror(Segment* segment) {
  segment->mirror = std::make_unique<Mirror>();
  segment->mirror->begin = segment->begin;
  segment->mirror->direct = segment->direct;
}

}  // namespace tasuki::coarray
