// Programs that a benchmark compiles and runs to their end: those of examples/.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"

namespace tasuki::bench {

// Compiles `name`. `failure` says why there is no program then; a note, what the compiler said of one. Fails
// when the user interrupts.
Status compile_program(const std::string& name, const std::vector<std::string>& command,
                       const std::vector<std::string>& environment, double timeout, std::string* failure,
                       std::vector<std::string>* notes);

// What a run of an example came to: its last line, `print_result` of examples/clock.h.
struct ProgramRun {
  nlohmann::json result;
  std::string output;
  std::string failure;  // empty: it ended well and is verified
  bool wrong = false;   // it ended with a result that is not right
};

// `expected`: what the result must say besides `verified` and its times. Fails when the user interrupts.
Status run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                   double timeout, const nlohmann::json& expected, ProgramRun* run);

}  // namespace tasuki::bench
