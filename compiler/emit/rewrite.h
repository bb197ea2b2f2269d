// The last stage before the user's compiler: the text in which each dlm array has become a pointer to an
// array in cluster memory.
//
//     dlm double a[N][N], t[9] = {1, 2};     double (*__dlm_a)[N][N], (*__dlm_t)[9] , __tasuki_image_t[] = {1, 2};
//     a[i][j] = sizeof a;                    (*__dlm_a)[i][j] = sizeof (*__dlm_a);
//
// In C a declarator looks like the use, so one replacement of the name serves both: `(*__dlm_a)` has the
// array's own type, and with it the right size, address, and decay. Lines stay where they are. The pointers
// are set before main by the library: each array leaves a record in the section tasuki_dlm
// (tasuki/compiler/dlm_arrays.h), in a function for an array that is static there.
#pragma once

#include <string>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

// The rewritten text; empty after an error. Coarrays, `int a[N]:[*]`, become (*__xmp_a)[N], and what refers
// to other images is lowered (lower/local).
std::string rewrite(Unit* unit);

}  // namespace tasuki::cc
