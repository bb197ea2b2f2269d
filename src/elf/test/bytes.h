// The bytes of files, and changes of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "elf/image.h"

namespace tasuki::elf {

using Bytes = std::vector<uint8_t>;

inline Bytes load(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

inline ByteSource source(const Bytes& bytes) {
  return {-1, bytes.data(), bytes.size()};
}

// One to four changes, in the headers mostly; now and then the end is cut off.
inline Bytes mutate(const Bytes& whole, std::mt19937_64& random) {
  Bytes b = whole;
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int c = 0; c < changes; c++) {
    // The dynamic section and its strings too.
    const size_t at = random() % (random() % 4 != 0 ? 1024 : b.size());
    static const uint64_t kNasty[] = {
        0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, ~uint64_t{0}, uint64_t{1} << 63};
    const uint64_t value = random() % 2 != 0 ? kNasty[random() % std::size(kNasty)] : random();
    const size_t width = std::min<size_t>(size_t{1} << random() % 4, b.size() - at);
    memcpy(b.data() + at, &value, width);
  }
  if (random() % 16 == 0) b.resize(random() % b.size());
  return b;
}

}  // namespace tasuki::elf
