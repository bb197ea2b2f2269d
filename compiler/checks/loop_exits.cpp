#include "compiler/checks/loop_exits.h"

#include <algorithm>

#include "compiler/tokens/statements.h"

namespace tasuki::cc {
namespace {

class Checker {
 public:
  Checker(const Unit& in, const std::vector<TokenRange>& loops)
      : in_(in), text_(in.text), statements_(in.text, in.tokens), loops_(loops) {}

  void check(const Range& body) {
    first_ = text_.first_from(body.begin);
    last_ = text_.first_from(body.end);
    if (first_ == kNone) return;
    if (last_ == kNone) last_ = text_.tokens().size();
    for (size_t i = first_; i < last_; i++) {
      if (text_.is(i, "goto"))
        jump(i);
      else if (text_.is(i, "return") && holds_any(i))
        leave(i);
      else if (text_.is(i, "break") && ends_divided_loop(i))
        leave(i);
    }
  }

 private:
  static bool holds(const TokenRange& loop, size_t token) { return token > loop.first && token < loop.last; }
  bool holds_any(size_t token) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](const TokenRange& l) { return holds(l, token); });
  }

  void leave(size_t token) {
    in_.diagnostics.error(
        text_.begin_of(token),
        "'" + std::string(text_.spelling(token)) +
            "' would leave a divided loop on one node, and the other nodes would go on with it",
        "let the loop go to its end, and skip what is left with 'continue' or 'if'");
  }

  // Is the innermost statement around it that `break` ends one of the loops?
  bool ends_divided_loop(size_t token) const {
    if (!holds_any(token)) return false;
    for (size_t i = token; i-- > first_;)
      if (text_.is_any(i, "for", "while", "do", "switch") && statements_.end_of(i) > token)
        return std::any_of(loops_.begin(), loops_.end(), [&](const TokenRange& l) { return l.first == i; });
    return false;
  }

  void jump(size_t token) {
    const size_t target = label(text_.next(token));
    for (const TokenRange& loop : loops_) {
      if (holds(loop, token) && (target == kNone || !holds(loop, target))) return leave(token);
      if (!holds(loop, token) && target != kNone && holds(loop, target))
        return in_.diagnostics.error(
            text_.begin_of(token), "'goto' leads into a divided loop",
            "each node must begin a divided loop with its first iteration: jump to a label before the loop");
    }
  }

  // Where the label stands; kNone for `goto *p`.
  size_t label(size_t name) const {
    for (size_t i = first_; i < last_ && text_.is_word(name); i++)
      if (text_.is_word(i) && text_.spelling(i) == text_.spelling(name) && text_.is(text_.next(i), ":") &&
          text_.is_any(text_.previous(i), ";", "{", "}", ":", ")", "else", "do"))
        return i;
    return kNone;
  }

  const Unit& in_;
  const Text& text_;
  const Statements statements_;
  const std::vector<TokenRange>& loops_;
  size_t first_ = 0, last_ = 0;  // the tokens of the function
};

}  // namespace

void check_loop_exits(const Unit& in, const std::vector<TokenRange>& loops) {
  if (loops.empty()) return;
  Checker checker(in, loops);
  for (const Function& f : in.analysis.functions) checker.check(f.body);
}

}  // namespace tasuki::cc
