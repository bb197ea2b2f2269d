// The lowering step: what XcalableMP adds to C becomes calls of include/tasuki/compiler/local_view.h.
//
//     x = a[i]:[2] + 1;       x = ({ T v; tasuki_xmp_get(&v, &(*__xmp_a)[i], sizeof v, 2, ..); v; }) + 1;
//     a[i]:[2] += f();        get, compute, put
//     a[0:n]:[2] = b[:];      tasuki_xmp_copy(&to, &from, ..);
//     a[0:n] = b[:] * 2;      a loop over dense copies of its operands
//     #pragma xmp post(p(2), 7)      tasuki_xmp_post(..);
//
// A change begins and ends at tokens, holds those inside it, and has no newline.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

struct Change {
  size_t begin, end;  // offsets; alike: an insertion
  std::string what;
};

struct Lowered {
  std::vector<Change> changes;
  bool node_arrays = false, templates = false, distributed_arrays = false;  // some are to be registered
  bool global_view = false;
};

// `token` gives the C for one token.
Lowered lower_coarrays(Unit* unit, const std::function<std::string(size_t)>& token);

}  // namespace tasuki::cc
