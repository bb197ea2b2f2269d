// Array assignments: a[0:n]:[2] = b[1:n:2] * f(x) + c[:]:[1]; as one statement of C.
#pragma once

#include <string>

#include "compiler/meaning/coarray_operand.h"

namespace tasuki::cc {

// The statement [first, last), whose last token is its semicolon. `flags` are those of its transfers. Empty
// after an error.
std::string lower_array_assignment(const Unit& in, size_t first, size_t last, unsigned flags);

}  // namespace tasuki::cc
