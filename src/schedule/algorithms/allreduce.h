// What the allreduce algorithms share: the contribution becomes the result in place, and what arrives waits
// in a buffer until it is combined, in a round of its own.
#pragma once

#include <cerrno>

#include "schedule/steps.h"

namespace tasuki::schedule {

inline constexpr uint8_t kData = 0;
inline constexpr uint8_t kArrivedData = 1;

inline Result<Outline> allreduce_outline(const char* name, const Parameters& p, uint64_t arriving,
                                         uint32_t rounds) {
  if (p.element == 0 || p.bytes % p.element != 0)
    return Status::error(EINVAL, std::string(name) + ": " + std::to_string(p.bytes) +
                                     " bytes are not a whole number of elements of " +
                                     std::to_string(p.element) + " bytes");
  return Outline{{{"data", p.bytes}, {"arrived", arriving}}, {p.bytes == 0 ? 0 : rounds}};
}

}  // namespace tasuki::schedule
