// The gmove directive: an assignment between nodes.
//
//     #pragma xmp gmove
//     a[0:n][3] = b[1:n];      tasuki_xmp_gmove(&(..){&__xmp_record_a, 0, 2, (..[]){{0, n, 1}, {3, 1, 1}}}, &(..){..}, ..);
//     x = b[k];                the same with x as a section of no dimensions
//     a[:] = 1.5;              the same with a variable that has the value
#pragma once

#include <string>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

// The assignment that the tokens of `statement` are. Empty after an error.
std::string lower_gmove(const Unit& in, const GmoveDirective& directive, const TokenRange& statement);

}  // namespace tasuki::cc
