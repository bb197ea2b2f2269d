// The array directive: an array assignment as a loop that is divided over a template.
//
//     #pragma xmp array on t[0:n]
//     a[0:n] = b[1:n] + 2.0;      for each q of 0 .. n-1 that this node has: a[0 + q] = b[1 + q] + 2.0;
//
// An array that stands on both sides with different sections is read as a whole before it is written.
#pragma once

#include <string>

#include "compiler/lower/global/arrays.h"

namespace tasuki::cc {

// The assignment that the tokens of `statement` are. Empty after an error.
std::string lower_array_directive(const Unit& in, const GlobalArrays& arrays, const ArrayDirective& directive,
                                  const TokenRange& statement);

}  // namespace tasuki::cc
