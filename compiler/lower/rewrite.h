// The last stage before the user's compiler: the text in which each dlm array has become a pointer to an array in
// cluster memory.
//
//     dlm double a[N][N], t[9] = {1, 2};     double (*__dlm_a)[N][N], (*__dlm_t)[9] , __tasuki_image_t[] = {1, 2};
//     a[i][j] = sizeof a;                    (*__dlm_a)[i][j] = sizeof (*__dlm_a);
//
// In C a declarator looks like the use, so one replacement of the name serves both: `(*__dlm_a)` has the array's own
// type, and with it the right size, address, and decay. Lines stay where they are. The pointers are set
// before main by the library: each array leaves a record in the section tasuki_dlm (dlm_compiler.h), in a function
// for an array that is static there.
#pragma once

#include <string>

#include "compiler/meaning/analysis.h"
#include "compiler/meaning/omp_acc_names.h"
#include "compiler/meaning/runtime_arrays.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/text.h"
#include "compiler/tokens/coarray.h"

namespace tasuki::cc {

std::string rewrite(const Text& text, const DlmTokens& dlm, const Analysis& analysis,
                    const RuntimeArrays& arrays, Pragmas pragmas, Diagnostics* diagnostics);

// The same with coarrays, `int a[N]:[*]` as (*__xmp_a)[N], and all that refers to other images lowered (coarray_lowering.h).
std::string rewrite_coarrays(const Text& text, const CoarrayTokens& tokens, const Analysis& analysis,
                             const RuntimeArrays& coarrays, const CoarrayNames& names, Pragmas pragmas,
                             bool checked, Diagnostics* diagnostics);

// Records and what registers them, as this stage may declare them before the user's first line; lowering_declarations() and
// global_declarations() are the rest. A test holds all of it against the headers of include/tasuki.
std::string record_declarations();

}  // namespace tasuki::cc
