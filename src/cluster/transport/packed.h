// --compress lz4: a run of units as it travels and as servers keep it: the length of each unit, then the
// units, each compressed by LZ4, or as it is where that saves less than a sixteenth (its length is then the
// unit's).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::cluster {

inline size_t packed_most(uint32_t units, size_t unit_bytes) {
  return units * (sizeof(uint32_t) + unit_bytes);
}

// `to` has packed_most() bytes; returns how many are used.
size_t pack(const std::byte* from, uint32_t units, size_t unit_bytes, std::byte* to);

// False: these are not `units` packed units.
bool unpack(const std::byte* from, size_t bytes, uint32_t units, size_t unit_bytes, std::byte* to);

}  // namespace tasuki::cluster
