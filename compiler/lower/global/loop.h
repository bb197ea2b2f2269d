// The loop directive: each node executes its part of the loops behind it.
//
//     #pragma xmp loop (i) on t(i+1)          { struct .. l; tasuki_xmp_loop(&l, &t, 0, 1, count, 1, 1, ..);
//                                               const int b = l.begin, e = b + l.count;
//     for (int i = 1; i < n; i++)               for (int i = b; i < e; i++)
//       x[i] = 0;                                 x[i] = 0; }
//
// The parts of all loops of a nest are computed before it, unless an inner one's bounds change in it. A
// cyclic distribution has several runs of iterations, with a loop over them. What has no such form, such as
// on t(2*i) or on a node array, becomes a condition in the user's own loop. Reductions begin with the
// operation's identity on each node, and are joined with the variable's old value behind the loop. For
// firstmax and its kin the heads of the loops note in which iteration a value was taken, so that of equal
// values on several nodes the one that is chosen is that of the user's loops.
#pragma once

#include <string>
#include <vector>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

struct LoweredLoop {
  struct Piece {
    size_t first, last;  // tokens [first, last)
    std::string text;
  };
  std::string before;               // in the place of the directive
  std::vector<Piece> headers = {};  // for (..)
  // Text behind the statement that ends before this token.
  std::vector<std::pair<size_t, std::string>> behind = {};
  bool known_before = false;             // nothing is called between `before` and the end of the statement
  std::vector<TokenRange> divided = {};  // the loops that nodes execute parts of, [for, behind the loop)
};

// `outer`: the loop directives around it. `locals` stand at its beginning.
LoweredLoop lower_loop(const Unit& in, const LoopDirective& directive,
                       const std::vector<const LoopDirective*>& outer, const std::string& locals);

}  // namespace tasuki::cc
