#include "compiler/tokens/dlm.h"

#include "compiler/text/declarator.h"

namespace tasuki::cc {
namespace {

// Words behind which an expression or a statement begins, not the rest of a declaration.
bool begins_expression(const Text& text, size_t token) {
  return text.is_any(token, "return", "case", "else", "do", "sizeof", "_Alignof", "__alignof__", "goto");
}

bool is_type_end(const Text& text, size_t token) {
  if (token == kNone) return false;
  if (text.is_word(token)) return !begins_expression(text, token);
  if (text.is(token, "}")) return tag_begin(text, token) != kNone;
  return text.is(token, ")") && group_keyword(text, token) != kNone;
}

// In `T dlm (a)[3]` the parentheses hold a declarator; in `T dlm(int)` dlm is a function.
bool is_declarator_in_parentheses(const Text& text, size_t open) {
  const size_t close = text.tokens()[open].match;
  return close != open && text.is(text.next(close), "[");
}

bool is_specifier(const Text& text, size_t token) {
  const size_t before = text.previous(token);
  if (text.is_any(before, "struct", "union", "enum", "goto", ".", "->")) return false;
  size_t after = text.next(token);
  while (is_attribute(text, after) && text.is(text.next(after), "("))
    after = text.next(text.tokens()[text.next(after)].match);
  if (text.is_word(after)) return !text.is_any(after, "asm", "__asm", "__asm__");
  // Without a type before it, `dlm * p` is a product and `dlm (a)` a call.
  if (!is_type_end(text, before)) return false;
  return text.is(after, "*") || (text.is(after, "(") && is_declarator_in_parentheses(text, after));
}

// Does the typedef that begins at `token` make `dlm` a type? Not so if dlm only names a parameter or a member
// in it.
bool typedef_names_dlm(const Text& text, size_t token) {
  bool seen_parentheses = false;
  for (size_t i = text.next(token); i != kNone && !text.is(i, ";"); i = text.next(i)) {
    if (text.is(i, "{")) {
      i = text.tokens()[i].match;
    } else if (is_attribute(text, i) || text.is_any(i, "typeof", "__typeof__", "__typeof", "_Alignas")) {
      i = text.next(i);
      if (i == kNone) return false;
      i = text.tokens()[i].match;
    } else if (text.is(i, "(")) {
      const size_t inside = text.next(i);
      const bool declarator = !seen_parentheses && text.is_any(inside, "*", "(", "dlm");
      seen_parentheses = true;
      if (!declarator) i = text.tokens()[i].match;
    } else if (text.is(i, "dlm") && !text.is_any(text.previous(i), "struct", "union", "enum") &&
               text.is_any(text.next(i), ";", ",", ")", "[", "(")) {
      return true;
    }
  }
  return false;
}

}  // namespace

DlmTokens find_dlm_tokens(const Text& text) {
  DlmTokens result;
  int depth = 0;       // of braces
  int type_depth = 0;  // where dlm was made a type
  bool is_type = false;
  for (size_t i = 0; i < text.tokens().size(); i++) {
    if (text.tokens()[i].kind == TokenKind::directive) continue;
    if (text.is(i, "{")) {
      depth++;
    } else if (text.is(i, "}")) {
      depth--;
      if (is_type && depth < type_depth) is_type = false;
    } else if (!is_type && text.is(i, "typedef") && typedef_names_dlm(text, i)) {
      is_type = true;
      type_depth = depth;
      result.ordinary = true;
    } else if (text.is(i, "dlm")) {
      if (!is_type && is_specifier(text, i))
        result.specifiers.push_back(i);
      else
        result.ordinary = true;
    }
  }
  return result;
}

}  // namespace tasuki::cc
