// shadows: who exchanges which pieces when shadows get the values of their owners (XcalableMP 1.4, section
// 4.6.1 `reflect`), or owners those of the shadows (4.6.10 `reduce_shadow`).
//
// Every piece comes from its owner at once, those at the corners too, so one exchange serves for all
// dimensions: meet the nodes that have a part in it, copy, meet them again.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "coarray/global/exchange/links.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

// How much of the shadow; -1: all of it.
struct Widths {
  int below[TASUKI_XMP_DIMENSIONS], above[TASUKI_XMP_DIMENSIONS];
  bool periodic[TASUKI_XMP_DIMENSIONS];
  bool orthogonal = false;

  bool same(const Widths& other, size_t dimensions) const;
};

struct Exchange {
  const Geometry* geometry;
  Widths widths;
  bool backwards;  // from the shadows to the owners
  std::vector<Link> links;
  std::vector<int> partners;  // indices in `world`
  uint64_t largest = 0;       // bytes of a link

  // Pieces of short runs share cache lines with elements that others read in the same exchange: they are read
  // to a place of their own first, and written when nobody reads any more.
  static bool scattered(const Link& link) {
    return !link.from.extent.shape.dense() && link.from.extent.shape.block < 64;
  }
  mutable std::vector<char> stage;
};

class Exchanges {
 public:
  explicit Exchanges(const Teams* teams) : teams_(*teams) {}
  // Found again for the same geometry and widths.
  const Exchange& of(const Geometry& geometry, const Widths& widths, bool backwards);

 private:
  const Teams& teams_;
  std::map<const Geometry*, std::vector<std::unique_ptr<Exchange>>> known_;
};

}  // namespace tasuki::coarray
