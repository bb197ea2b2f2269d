#include "compiler/meaning/for_header.h"

namespace tasuki::cc {
namespace {

// The first of these behind `from`, brackets passed over; `last` if there is none.
template <typename... What>
size_t find(const Text& text, size_t from, size_t last, What... what) {
  for (size_t i = from; i < last; i++) {
    if (text.tokens()[i].kind == TokenKind::directive) continue;
    if (text.is_any(i, what...)) return i;
    if (text.is_any(i, "(", "[", "{") && text.tokens()[i].match > i) i = text.tokens()[i].match;
  }
  return last;
}

class Reader {
 public:
  Reader(const Unit& in, size_t keyword, ForHeader* header) : in_(in), text_(in.text), h_(*header) {
    h_.keyword = keyword;
  }

  bool run() {
    const size_t open = text_.next(h_.keyword);
    if (!text_.is(open, "(") || in_.match(open) <= open) return refuse(h_.keyword, "this loop has no head");
    h_.close = in_.match(open);
    const size_t first = find(text_, open + 1, h_.close, ";"), second = find(text_, first + 1, h_.close, ";");
    if (second >= h_.close)
      return refuse(h_.keyword, "a divided loop must have a beginning, a bound and a step");
    return start(text_.next(open), first) && condition(text_.next(first), second) &&
           change(text_.next(second));
  }

 private:
  bool refuse(size_t token, const std::string& what) {
    in_.diagnostics.error(text_.begin_of(token), what, "write for (i = lower; i < bound; i++), or i += step");
    return false;
  }
  bool is_variable(size_t token) const {
    return text_.is_word(token) && text_.spelling(token) == text_.spelling(h_.variable);
  }

  bool start(size_t at, size_t end) {
    const size_t equals = find(text_, at, end, "=");
    if (equals >= end || find(text_, at, end, ",") < end || !text_.is_word(text_.previous(equals)))
      return refuse(h_.keyword, "a divided loop must give exactly one variable a first value");
    h_.variable = text_.previous(equals);
    h_.type = {at, h_.variable};
    for (size_t i = at; i < h_.variable; i++)
      if (!text_.is_word(i)) return refuse(i, "the variable of a divided loop must be an integer");
    h_.lower = {text_.next(equals), end};
    return !h_.lower.empty() || refuse(equals, "a divided loop must give its variable a first value");
  }

  bool condition(size_t at, size_t end) {
    const size_t op = find(text_, at, end, "<", "<=", ">", ">=", "!=");
    const bool good = op < end &&
                      find(text_, op + 1, end, "<", "<=", ">", ">=", "!=", "&&", "||", ",") == end &&
                      find(text_, at, op, "&&", "||", ",") == op;
    if (!good) return refuse(at, "a divided loop must compare its variable with a bound");
    h_.op = text_.spelling(op);
    if (is_variable(at) && text_.next(at) == op) {
      h_.bound = {text_.next(op), end};
    } else if (is_variable(text_.next(op)) && text_.next(text_.next(op)) == end) {
      h_.bound = {at, op};
      for (char& c : h_.op) c = c == '<' ? '>' : c == '>' ? '<' : c;
    } else {
      return refuse(at, "a divided loop must compare its variable with a bound");
    }
    for (size_t i = h_.bound.first; i < h_.bound.last; i++)
      if (is_variable(i)) return refuse(i, "the bound of a divided loop must not depend on its variable");
    return true;
  }

  bool change(size_t at) {
    h_.change = {at, h_.close};
    const size_t last = text_.previous(h_.close);
    if (find(text_, at, h_.close, ",") < h_.close)
      return refuse(at, "a divided loop must change nothing but its variable here");
    const size_t second = text_.next(at);
    const bool before = text_.is_any(at, "++", "--") && is_variable(second) && second == last;
    const bool after = is_variable(at) && text_.is_any(second, "++", "--") && second == last;
    if (before || after) {
      h_.negative = text_.is(before ? at : second, "--");
    } else if (is_variable(at) && text_.is_any(second, "+=", "-=")) {
      h_.negative = text_.is(second, "-=");
      h_.step = {text_.next(second), h_.close};
    } else if (is_variable(at) && text_.is(second, "=") && is_variable(text_.next(second)) &&
               text_.is_any(text_.next(text_.next(second)), "+", "-")) {
      const size_t sign = text_.next(text_.next(second));
      h_.negative = text_.is(sign, "-");
      h_.step = {text_.next(sign), h_.close};
      if (find(text_, sign + 1, h_.close, "+", "-") < h_.close)
        return refuse(sign, "the step of a divided loop must be one number");
    } else {
      return refuse(at, "a divided loop must add the same step each time");
    }
    const bool falls = h_.op == ">" || h_.op == ">=", known = h_.step.empty() || is_number(h_.step);
    if (known && h_.op != "!=" && falls != h_.negative)
      return refuse(at, "this loop runs away from its bound");
    return true;
  }

  bool is_number(const TokenRange& r) const {
    return text_.next(r.first) == r.last && text_.tokens()[r.first].kind == TokenKind::number;
  }

  const Unit& in_;
  const Text& text_;
  ForHeader& h_;
};

}  // namespace

size_t loop_variable(const Text& text, size_t keyword) {
  const size_t open = text.next(keyword);
  if (!text.is(keyword, "for") || !text.is(open, "(")) return kNone;
  const size_t semicolon = find(text, open + 1, text.tokens()[open].match, ";");
  const size_t equals = find(text, open + 1, semicolon, "=");
  return equals < semicolon && text.is_word(text.previous(equals)) ? text.previous(equals) : kNone;
}

bool read_for(const Unit& in, size_t keyword, ForHeader* header) {
  return Reader(in, keyword, header).run();
}

}  // namespace tasuki::cc
