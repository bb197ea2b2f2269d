// Names of dlm arrays in OpenMP and OpenACC pragmas, which libclang is not asked to read: it knows less of
// them than the user's compiler.
#pragma once

#include <cstddef>
#include <vector>

namespace tasuki::cc {

struct Unit;

struct PragmaUse {
  size_t begin, end;  // offsets of the name
  size_t array;
  size_t function;
  bool as_variable;  // a clause wants the name of a variable: that of the pointer
};

// Clauses that would copy an array, or give it to a device, are errors. Coarrays in pragmas of OpenACC are
// left to acc_regions.h.
std::vector<PragmaUse> find_pragma_uses(const Unit& unit);

}  // namespace tasuki::cc
