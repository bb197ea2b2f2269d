// Errors at places of the user's own files, in the form that compilers and editors share.
#pragma once

#include <cstddef>
#include <string>

#include "compiler/text/text.h"

namespace tasuki::cc {

class Diagnostics {
 public:
  // The text may become another one: errors are always of what it is then.
  explicit Diagnostics(const Text& text) : text_(&text) {}

  // `what` is wrong with the text at `offset`; `advice` says what to do. Both begin in lower case, without a
  // period.
  void error(size_t offset, const std::string& what, const std::string& advice);
  // A second place that an error speaks of.
  void note(size_t offset, const std::string& what);

  int errors() const { return errors_; }

 private:
  void print(size_t offset, const char* kind, const std::string& what);
  std::string position(size_t offset, std::string* line, unsigned* column) const;

  const Text* text_;
  int errors_ = 0;
};

// "1 node", "2 nodes"; with a verb, "1 node is", "2 nodes are".
std::string counted(size_t n, const std::string& noun);
std::string counted_are(size_t n, const std::string& noun);

}  // namespace tasuki::cc
