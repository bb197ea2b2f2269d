// tasukicc: the user's MPI compiler for C with dlm arrays, or with coarrays of XcalableMP. The arguments are
// sorted (command_line), each source goes through the stages that translate.cpp lists, and then the user's
// compiler is called again.
#pragma once

#include <string>
#include <vector>

namespace tasuki::cc {

// The exit code.
int run_driver(const std::vector<std::string>& arguments);

}  // namespace tasuki::cc
