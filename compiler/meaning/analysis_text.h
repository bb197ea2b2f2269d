// The text that libclang reads in place of the user's, and the way back from its offsets.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/text/text.h"
#include "compiler/tokens/coarray.h"
#include "compiler/tokens/dlm.h"

namespace tasuki::cc {

class AnalysisText {
 public:
  // The n-th specifier becomes __attribute__((annotate("dlm:n"))). The names in `unknown`, built-in functions
  // of the user's compiler that libclang does not have, become ordinary ones; types that it lacks become like
  // ones. Coarrays become what `neutral` says.
  AnalysisText(const Text& text, const DlmTokens& dlm, const Neutral& neutral,
               const std::set<std::string>& unknown);

  const std::string& bytes() const { return bytes_; }
  size_t original(size_t offset) const;

 private:
  struct Piece {
    size_t offset;    // here
    size_t original;  // there
    bool copied;      // alike to the next piece; otherwise all of it stands for one place
  };
  void copy(const Text& text, size_t begin, size_t end);
  void put(const std::string& instead, size_t original);

  std::string bytes_;
  std::vector<Piece> pieces_;
};

}  // namespace tasuki::cc
