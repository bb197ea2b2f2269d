#include "cluster/transport/packed.h"

#include <lz4.h>

#include <cstring>

namespace tasuki::cluster {

size_t pack(const std::byte* from, uint32_t units, size_t unit_bytes, std::byte* to) {
  std::byte* out = to + units * sizeof(uint32_t);
  const int worth = static_cast<int>(unit_bytes - unit_bytes / 16);
  for (uint32_t i = 0; i < units; i++) {
    const std::byte* unit = from + i * unit_bytes;
    // 0: it did not fit into what is worth it.
    const int n = LZ4_compress_default(reinterpret_cast<const char*>(unit), reinterpret_cast<char*>(out),
                                       static_cast<int>(unit_bytes), worth);
    uint32_t length = static_cast<uint32_t>(n);
    if (n <= 0) {
      length = static_cast<uint32_t>(unit_bytes);
      memcpy(out, unit, unit_bytes);
    }
    memcpy(to + i * sizeof length, &length, sizeof length);
    out += length;
  }
  return static_cast<size_t>(out - to);
}

bool unpack(const std::byte* from, size_t bytes, uint32_t units, size_t unit_bytes, std::byte* to) {
  size_t at = units * sizeof(uint32_t);
  if (bytes < at) return false;
  for (uint32_t i = 0; i < units; i++) {
    uint32_t length;
    memcpy(&length, from + i * sizeof length, sizeof length);
    if (length == 0 || length > unit_bytes || length > bytes - at) return false;
    if (length == unit_bytes)
      memcpy(to, from + at, length);
    else if (LZ4_decompress_safe(reinterpret_cast<const char*>(from + at), reinterpret_cast<char*>(to),
                                 static_cast<int>(length),
                                 static_cast<int>(unit_bytes)) != static_cast<int>(unit_bytes))
      return false;
    at += length;
    to += unit_bytes;
  }
  return at == bytes;
}

}  // namespace tasuki::cluster
