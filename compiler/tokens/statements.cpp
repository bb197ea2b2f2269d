#include "compiler/tokens/statements.h"

#include <algorithm>

namespace tasuki::cc {

size_t Statements::end_of(size_t at) const {
  if (at >= text_.tokens().size()) return text_.tokens().size();
  const auto behind = [&](size_t open) {
    return match(open) > open ? match(open) + 1 : text_.tokens().size();
  };
  at = text_.skip_directives(at);
  if (at >= text_.tokens().size()) return at;
  if (text_.is(at, kDirectiveWord)) {
    for (const Directive& d : tokens_.directives)
      if (d.word == at) return d.has_block() ? end_of(d.end + 1) : d.end + 1;
    for (const GlobalDirective& d : tokens_.globals)
      if (const DirectivePlace& place = place_of(d); place.word == at)
        return has_block(d) ? end_of(place.end + 1) : place.end + 1;
  }
  if (text_.is(at, "{")) return behind(at);
  if (text_.is_any(at, "for", "while", "switch", "if")) {
    const size_t open = text_.next(at);
    if (!text_.is(open, "(")) return at + 1;
    size_t end = end_of(behind(open));
    if (text_.is(at, "if") && text_.skip_directives(end) < text_.tokens().size() &&
        text_.is(text_.skip_directives(end), "else"))
      end = end_of(text_.skip_directives(end) + 1);
    return end;
  }
  if (text_.is(at, "do")) {
    const size_t end = end_of(at + 1);
    return end_of(end);  // while (..);
  }
  for (; at < text_.tokens().size() && !text_.is_any(at, ";", "}"); at++)
    if (text_.is_any(at, "(", "[", "{") && match(at) > at) at = match(at);
  return std::min(at + 1, text_.tokens().size());
}

size_t Statements::begin_of(size_t token) const {
  size_t at = token;
  for (size_t i = token; i-- > 0;) {
    if (text_.tokens()[i].kind == TokenKind::directive) continue;
    if (text_.is_any(i, ";", "{", "}")) {
      const bool group = text_.is(i, "}") && text_.is_any(text_.next(i), ")", ",", "]");  // of an expression
      if (!group) break;
    }
    if (text_.is_any(i, ")", "]", "}") && match(i) < i) i = match(i);
    at = i;
  }
  while (true) {
    const size_t open = text_.next(at);
    if (open == kNone || at >= token) return at;
    if (text_.is_any(at, "if", "while", "for", "switch") && text_.is(open, "(") && match(open) < token)
      at = text_.next(match(open));
    else if (text_.is_any(at, "else", "do"))
      at = open;
    else if (text_.is(at, "case") ||
             (text_.is_word(at) && text_.is(open, ":") && !tokens_.colons.contains(open)))
      while (at < token && !(text_.is(text_.previous(at), ":") &&
                             !tokens_.colons.contains(text_.previous(at)) && at > open))
        at = text_.next(at);
    else
      return at;
  }
}

}  // namespace tasuki::cc
