// Names of dlm arrays in OpenMP and OpenACC pragmas, which libclang is not asked to read: it knows less of them than
// the user's compiler.
#pragma once

#include <vector>

#include "compiler/meaning/analysis.h"
#include "compiler/meaning/runtime_arrays.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/text.h"

namespace tasuki::cc {

// Which pragmas the user's compiler will obey.
struct Pragmas {
  bool openmp = false;
  bool openacc = false;
  bool threads = false;  // OpenMP's parallel regions, too
};

struct PragmaUse {
  size_t begin, end;  // offsets of the name
  size_t array;
  size_t function;
  bool as_variable;  // a clause wants the name of a variable: that of the pointer
};

// Clauses that would copy an array, or give it to a device, are errors.
std::vector<PragmaUse> find_pragma_uses(const Text& text, const Analysis& analysis,
                                        const RuntimeArrays& arrays, const Pragmas& pragmas,
                                        Diagnostics* diagnostics);

}  // namespace tasuki::cc
