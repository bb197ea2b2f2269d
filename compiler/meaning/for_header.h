// The head of a loop that can be divided: for (int i = lower; i < bound; i += step).
#pragma once

#include <string>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

struct ForHeader {
  size_t keyword = kNone, close = kNone;  // "for" and its ")"
  size_t variable = kNone;
  TokenRange type;          // as declared in it; empty otherwise
  TokenRange lower, bound;  // expressions
  TokenRange step;          // an expression; empty: 1
  TokenRange change;        // i++, i += step
  bool negative = false;    // the step is subtracted
  std::string op;           // <, <=, >, >=, !=; the variable stands on its left

  bool upwards() const { return op == "<" || op == "<=" || (op == "!=" && !negative); }
};

// The variable of the loop whose "for" is at this token; kNone if it has none. No errors.
size_t loop_variable(const Text& text, size_t keyword);

// False after an error, which is reported.
bool read_for(const Unit& in, size_t keyword, ForHeader* header);

}  // namespace tasuki::cc
