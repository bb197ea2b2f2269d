// What readers of directives share: a cursor over the tokens of one, and references to node arrays and
// templates.
#pragma once

#include <string>
#include <vector>

#include "compiler/text/diagnostics.h"
#include "compiler/text/text.h"

namespace tasuki::cc {

struct TokenRange {
  size_t first = kNone, last = kNone;  // [first, last)
  bool empty() const { return first == kNone || first >= last; }
};

// One subscript of p(i), p(1:2), p[0:2], p(*), p(:).
struct NodeSubscript {
  bool own = false;  // *
  bool is_range = false;
  TokenRange lower, upper, stride;  // with brackets `upper` is the length
};

// p(1, 2:3), p[0][*], t(i, j), or p alone
struct NodesReference {
  size_t name = kNone;
  bool brackets =
      false;  // a range has a length, and the first node of a dimension is 0; else an upper bound, and 1
  // The dimension that varies fastest comes first: the first in parentheses, the last of brackets.
  std::vector<NodeSubscript> subscripts = {};
};

class DirectiveReader {
 public:
  // `word` is the directive's first token. `form` is how the user should have written it.
  DirectiveReader(const Text& text, size_t word, std::string form, Diagnostics* diagnostics);

  // Reports that `what` should stand here; false. `form`: how to write the part that is wrong; empty: the
  // directive's.
  bool expected(const std::string& what, const std::string& form = "");

  bool at_end() const { return at == end; }
  bool is(const char* what) const { return at != end && text.is(at, what); }
  void advance() { at = text.next(at); }
  // Passes over `what`, or reports that it is expected.
  bool take(const char* what);
  // Passes over `what` if it stands here.
  bool accept(const char* what);

  size_t match(size_t open) const { return text.tokens()[open].match; }
  // Up to a "," outside of brackets or the closing bracket, or also a ":".
  size_t argument_end(bool at_colon) const;
  bool expression(TokenRange* range, const char* what);
  bool in_parentheses(TokenRange* range, const char* what);
  // `what`: "a node array". Without `needed` the name may stand alone.
  bool reference(NodesReference* r, const char* what, bool one_node, bool needed);
  bool subscript(NodeSubscript* s);

  const Text& text;
  Diagnostics& diagnostics;
  const size_t name;  // of the directive
  size_t at;
  size_t end;  // its semicolon

 private:
  std::string form_;
};

}  // namespace tasuki::cc
