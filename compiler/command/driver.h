// tasukicc: the user's MPI compiler for C with dlm arrays, or with coarrays of XcalableMP. In stages: the command line (command_line), the
// preprocessor and the token pass (translate, dlm_tokens), what names mean (analysis, runtime_arrays), the changed text
// (rewrite), and then the user's compiler again.
#pragma once

#include <string>
#include <vector>

namespace tasuki::cc {

// The exit code.
int run_driver(const std::vector<std::string>& arguments);

}  // namespace tasuki::cc
