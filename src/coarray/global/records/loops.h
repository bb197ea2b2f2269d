// loops: which iterations of a loop are this node's (XcalableMP 1.4, section 4.5.3), as the compiled code
// steps through them.
#pragma once

#include "coarray/global/records/templates.h"
#include "coarray/index/distribution.h"

namespace tasuki::coarray {

// What a `loop` directive says besides its template: TASUKI_XMP_UNBOUND and a part of the margin in `flags`.
struct LoopClauses {
  long long offset = 0;  // of the template's subscripts
  int below = 0, above = 0;
  unsigned flags = 0;
};

// Those of `all` on this node, where the loop follows dimension `dimension` of the template `of`.
void divide_loop(tasuki_xmp_iterations* l, Templates* templates, const void* of, int dimension,
                 const Run& all, const LoopClauses& clauses, Where where);
// Sets the bounds of one run of them.
void set_run(tasuki_xmp_iterations* l, long long run);

}  // namespace tasuki::coarray
