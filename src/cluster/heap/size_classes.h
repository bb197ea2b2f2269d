// The sizes of small objects: multiples of 16, and from 128 on eight to each doubling, so that an object
// takes at most an eighth more than was asked for.
#pragma once

#include <bit>
#include <cstddef>

namespace tasuki::cluster {

inline constexpr size_t kMostObject = 256 << 10;
inline constexpr unsigned kSizeClasses = 96;

// 0 counts as 1. At most kMostObject.
constexpr unsigned size_class(size_t bytes) {
  if (bytes <= 128) return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) / 16);
  const unsigned doubling = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;
  return 8 + (doubling - 7) * 8 +
         static_cast<unsigned>((bytes - 1 - (size_t{1} << doubling)) >> (doubling - 3));
}

constexpr size_t class_bytes(unsigned size_class) {
  if (size_class < 8) return (size_class + 1) * size_t{16};
  const unsigned doubling = 7 + (size_class - 8) / 8;
  return (size_t{1} << doubling) + ((size_class - 8) % 8 + 1) * (size_t{1} << (doubling - 3));
}

static_assert(class_bytes(kSizeClasses - 1) == kMostObject);

}  // namespace tasuki::cluster
