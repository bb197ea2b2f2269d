// Names of distributed arrays in OpenMP and OpenACC pragmas, where they mean what this node has of the array:
//
//     #pragma acc update self(a)                 double* const g = record.memory;
//                                                #pragma acc update self(g[0:allocated])
//     #pragma acc parallel loop present(a)       #pragma acc parallel loop present(p[..])    p: what references use
//     #pragma omp parallel default(none) shared(a) num_threads(a[0])
//                                                #pragma omp parallel default(shared) shared(record)
//                                                num_threads((p[0]))
//
// The user's compiler has seen the pragmas in the program as plain C: what default(none) wants is written
// there. Compute regions of OpenACC get a clause for each distributed array that they use and do not name.
#pragma once

#include <string>
#include <vector>

#include "compiler/lower/global/arrays.h"

namespace tasuki::cc {

// Offsets [begin, end) that become other text; alike: an insertion.
struct PragmaChange {
  size_t begin, end;
  std::string what;
};

// Text behind a token, where what the directive or pragma at `word` becomes begins or ends.
struct Border {
  size_t word, token;
  std::string text;
};

struct GlobalPragmas {
  std::vector<PragmaChange> changes = {};
  std::vector<Border> openers = {}, closers = {};
};

// Notes what it needs of the arrays in `arrays`. Errors are reported.
GlobalPragmas lower_global_pragmas(const Unit& in, GlobalArrays* arrays);

// A pragma directly before this token that divides loops among threads or on a device.
struct LoopPragma {
  size_t token = kNone;  // kNone: there is none
  int loops = 1;         // collapse(n)
};
LoopPragma loop_pragma_before(const Unit& in, size_t token);

}  // namespace tasuki::cc
