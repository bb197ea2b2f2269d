// Lines of source code as the XcalableACC paper's table 2 counts programs: those that hold more than blanks
// and comments.
#pragma once

#include <string>

#include "base/status.h"

namespace tasuki::bench {

// C text without its comments; line breaks stay. What looks like a comment inside a string is none.
std::string without_comments(const std::string& source);

struct SourceLines {
  int own = 0;     // of the file itself
  int shared = 0;  // of the files that it includes with quotes, and those that they include, each once
};

// Directives count as lines. Lines between #ifdef, #ifndef, #else and #endif count if they are compiled, by
// the macros that these files themselves have defined before; those of other conditions always count. Fails
// when a file cannot be read.
Result<SourceLines> count_source_lines(const std::string& file);

}  // namespace tasuki::bench
