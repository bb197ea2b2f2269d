#include "compiler/directives/reader.h"

#include <algorithm>
#include <utility>

namespace tasuki::cc {

DirectiveReader::DirectiveReader(const Text& t, size_t word, std::string form, Diagnostics* d)
    : text(t),
      diagnostics(*d),
      name(t.next(word)),
      at(t.next(t.next(word))),
      end(t.next(word)),
      form_(std::move(form)) {
  while (end != kNone && !text.is(end, ";")) end = text.next(end);
}

bool DirectiveReader::expected(const std::string& what, const std::string& form) {
  diagnostics.error(text.begin_of(name),
                    "'#pragma xmp " + std::string(text.spelling(name)) + "': " + what + " is expected" +
                        (at_end() ? " at its end" : " before '" + std::string(text.spelling(at)) + "'"),
                    "write " + (form.empty() ? "#pragma xmp " + form_ : form));
  return false;
}

bool DirectiveReader::take(const char* what) {
  return accept(what) || expected("'" + std::string(what) + "'");
}

bool DirectiveReader::accept(const char* what) {
  if (!is(what)) return false;
  advance();
  return true;
}

size_t DirectiveReader::argument_end(bool at_colon) const {
  size_t i = at;
  for (; i != kNone && i < end; i = text.next(i)) {
    if (text.is(i, ",") || text.is_any(i, ")", "]") || (at_colon && text.is(i, ":"))) break;
    if (text.is_any(i, "(", "[", "{") && match(i) > i) i = match(i);
  }
  return i;
}

bool DirectiveReader::expression(TokenRange* range, const char* what) {
  *range = {at, argument_end(false)};
  if (range->empty()) return expected(what);
  at = range->last;
  return true;
}

bool DirectiveReader::in_parentheses(TokenRange* range, const char* what) {
  return take("(") && expression(range, what) && take(")");
}

bool DirectiveReader::reference(NodesReference* r, const char* what, bool one_node, bool needed) {
  if (at_end() || !text.is_word(at)) return expected("the name of " + std::string(what));
  r->name = at;
  advance();
  if (!is("(") && !is("[")) return !needed || expected("'(' or '['");
  r->brackets = is("[");
  do {
    do {
      advance();
      NodeSubscript s;
      if (!subscript(&s)) return false;
      if (one_node && (s.own || s.is_range)) return expected("the number of one node");
      r->subscripts.push_back(s);
    } while (!r->brackets && is(","));
    if (!take(r->brackets ? "]" : ")")) return false;
  } while (r->brackets && is("["));
  if (r->brackets) std::reverse(r->subscripts.begin(), r->subscripts.end());
  return r->subscripts.size() <= 7 || expected("at most 7 dimensions");
}

bool DirectiveReader::subscript(NodeSubscript* s) {
  if (is("*") && text.is_any(text.next(at), ",", ")", "]")) {
    s->own = true;
    advance();
    return true;
  }
  TokenRange* parts[] = {&s->lower, &s->upper, &s->stride};
  for (int i = 0; i < 3; i++) {
    const size_t stop = argument_end(true);
    if (stop > at) *parts[i] = {at, stop};
    at = stop;
    if (!is(":") || i == 2) break;
    s->is_range = true;
    advance();
  }
  return s->is_range || !s->lower.empty() || expected("a number");
}

}  // namespace tasuki::cc
