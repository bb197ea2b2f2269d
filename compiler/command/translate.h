// One C source through the stages: preprocess, find `dlm` or what XcalableMP adds to C, understand, rewrite.
#pragma once

#include <string>
#include <vector>

#include "compiler/command/command_line.h"
#include "compiler/command/external_programs.h"

namespace tasuki::cc {

struct Translation {
  bool has_arrays = false;   // it was rewritten: compile `file` in its place
  bool is_xmp = false;       // it has coarrays, sections or directives of XcalableMP, or includes xmp.h
  bool uses_header = false;  // it includes dlm.h or xmp.h from Tasuki's own folder
  std::string file;          // preprocessed C
};

// 0, or the exit code; what is wrong has been printed then. `standard_input` is a file that stands for it
// ("-").
int translate(const CommandLine& line, const Input& input, const std::string& standard_input,
              TemporaryFolder* temporary, Translation* result);

// The command that compiles the rewritten text to `output`.
std::vector<std::string> compile_command(const CommandLine& line, const Translation& translation, Stage stage,
                                         const std::string& output);

}  // namespace tasuki::cc
