// iterations: the part of a loop that a node executes (XcalableMP 1.4, section 4.5.3, `loop`, with expand and
// margin). No MPI.
#pragma once

#include "coarray/index/distribution.h"

namespace tasuki::coarray {

struct Edges {
  int64_t below = 0, above = 0;
  bool unbound = false;
};
enum class Part { expanded, original, inner, more, less };  // as TASUKI_XMP_EXPANDED ..

// Of the subscripts that `loop` runs through. Edges other than 0: contiguous distributions only.
Pieces iterations(const Distribution& d, int coordinate, const Run& loop, const Edges& edges, Part part);

}  // namespace tasuki::coarray
