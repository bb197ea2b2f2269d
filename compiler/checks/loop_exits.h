// Ways out of divided loops, and into them. A node that leaves its part of a loop early does not tell the
// others, so that what the program means by it would depend on the number of nodes:
//
//     #pragma xmp loop on t(i)
//     for (i = 0; i < n; i++) {
//       for (j = 0; j < m; j++) if (x[j]) break;      allowed: that loop is the node's own
//       if (a[i] < 0) continue;                       allowed
//       if (a[i] > 9) break;                          an error, as are return, and goto to a label outside
//     }
#pragma once

#include <vector>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

// Reports them. `loops`: all divided ones, [for, behind the loop).
void check_loop_exits(const Unit& in, const std::vector<TokenRange>& loops);

}  // namespace tasuki::cc
