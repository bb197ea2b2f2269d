// Where statements begin and end, directives before them included.
#pragma once

#include "compiler/text/text.h"
#include "compiler/tokens/coarray.h"

namespace tasuki::cc {

class Statements {
 public:
  Statements(const Text& text, const CoarrayTokens& tokens) : text_(text), tokens_(tokens) {}

  // Behind the statement that begins at `at`.
  size_t end_of(size_t at) const;
  // The first token of the expression statement that holds `token`: behind the last ";", "{" or "}", labels,
  // and heads of other statements.
  size_t begin_of(size_t token) const;

 private:
  size_t match(size_t open) const { return text_.tokens()[open].match; }

  const Text& text_;
  const CoarrayTokens& tokens_;
};

}  // namespace tasuki::cc
