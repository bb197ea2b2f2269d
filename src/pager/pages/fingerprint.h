// A 128-bit hash (XXH3) of the bytes of a page, by which a page that the program may have written is found
// unchanged.
#pragma once

#include <array>
#include <cstdint>

#include "pager/mappers/mapper.h"

namespace tasuki::pager {

class Fingerprint {
 public:
  void remember(const Pieces& bytes);
  void forget() { known_ = false; }
  bool known() const { return known_; }
  // Are these the bytes that it remembers? False if it remembers none.
  bool equals(const Pieces& bytes) const;

 private:
  bool known_ = false;
  std::array<uint64_t, 2> hash_{};
};

}  // namespace tasuki::pager
