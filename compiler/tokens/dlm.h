// The token pass: which of the words `dlm` in a text are the specifier. C has no such keyword, and a program
// may use the word for a variable, a member, a label, a tag or a type of its own; those stay what they are.
#pragma once

#include <vector>

#include "compiler/text/text.h"

namespace tasuki::cc {

struct DlmTokens {
  std::vector<size_t> specifiers;  // tokens, in order
  bool ordinary = false;           // the word is also used for something else
};

DlmTokens find_dlm_tokens(const Text& text);

}  // namespace tasuki::cc
