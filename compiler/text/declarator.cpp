#include "compiler/text/declarator.h"

#include <algorithm>

namespace tasuki::cc {
namespace {

bool is_qualifier(const Text& text, size_t token) {
  return text.is_any(token, "const", "volatile", "restrict", "__restrict", "__restrict__", "__const",
                     "__volatile__", "_Atomic", "_Nonnull", "_Nullable");
}

size_t match(const Text& text, size_t token) {
  return text.tokens()[token].match;
}

// Words that end a statement's head or a label: no declaration reaches back over them.
bool ends_statement_head(const Text& text, size_t token) {
  return text.is_any(token, "else", "do", "return");
}

}  // namespace

bool is_attribute(const Text& text, size_t token) {
  return text.is_any(token, "__attribute__", "__attribute");
}

bool is_asm(const Text& text, size_t token) {
  return text.is_any(token, "asm", "__asm__", "__asm");
}

size_t group_keyword(const Text& text, size_t close) {
  const size_t open = match(text, close);
  if (open == close) return kNone;
  const size_t keyword = text.previous(open);
  const bool known = is_attribute(text, keyword) || text.is_any(keyword, "typeof", "__typeof__", "__typeof",
                                                                "_Alignas", "_Atomic", "__declspec");
  return known ? keyword : kNone;
}

size_t tag_begin(const Text& text, size_t close) {
  const size_t open = match(text, close);
  if (open == close) return kNone;
  // struct ATTRIBUTES NAME {
  size_t at = text.previous(open);
  if (text.is_word(at) && !text.is_any(at, "struct", "union", "enum")) at = text.previous(at);
  while (text.is(at, ")") && group_keyword(text, at) != kNone) at = text.previous(group_keyword(text, at));
  return text.is_any(at, "struct", "union", "enum") ? at : kNone;
}

size_t declaration_begin(const Text& text, size_t token) {
  size_t begin = token;
  for (size_t at = text.previous(token); at != kNone; at = text.previous(begin)) {
    if (text.is(at, ")")) {
      at = group_keyword(text, at);
      if (at == kNone) break;
    } else if (text.is(at, "}")) {
      at = tag_begin(text, at);
      if (at == kNone) break;
    } else if (!text.is_word(at) || ends_statement_head(text, at)) {
      break;
    }
    begin = at;
  }
  return begin;
}

Declarator declarator_of(const Text& text, size_t name) {
  Declarator result{.first = name, .name = name, .end = kNone};
  // Back over "*" and "("; qualifiers and attributes between them count only if one of those stands before
  // them.
  for (size_t at = text.previous(name); at != kNone; at = text.previous(at)) {
    if (text.is_any(at, "*", "(", "^")) {
      result.first = at;
    } else if (text.is(at, ")") && is_attribute(text, group_keyword(text, at))) {
      at = group_keyword(text, at);
    } else if (!is_qualifier(text, at)) {
      break;
    }
  }
  // The name's own "[" comes first behind it, parentheses around the bare name aside.
  size_t at = text.next(name);
  for (size_t open = text.previous(name); text.is(open, "(") && at != kNone && match(text, open) == at;) {
    open = text.previous(open);
    at = text.next(at);
  }
  if (text.is(at, "[") && match(text, at) != at) {
    result.open = at;
    result.close = match(text, at);
  }
  // Forward to the end, over brackets of every kind.
  for (at = result.first; at != kNone; at = text.next(at)) {
    if (at > name && text.is_any(at, ",", ";")) break;
    if (at > name && is_attribute(text, at) && text.is(text.next(at), "(")) {
      if (result.equals == kNone) result.attributes.push_back({at, match(text, text.next(at))});
    } else if (at > name && is_asm(text, at)) {
      if (result.asm_label == kNone) result.asm_label = at;
    } else if (at > name && text.is(at, "=") && result.equals == kNone) {
      result.equals = at;
    } else if (text.is_any(at, ")", "]", "}")) {
      if (match(text, at) == at || match(text, at) < result.first)
        break;  // closes what holds the declaration
    }
    // Parentheses around the name are walked through, all others passed over.
    if (text.is_any(at, "(", "[", "{") && match(text, at) > at && !(at < name && match(text, at) > name))
      at = match(text, at);
  }
  result.end = at;
  return result;
}

Specifiers specifiers_of(const Text& text, size_t token, size_t first_name) {
  Specifiers result{.begin = declaration_begin(text, token), .end = declarator_of(text, first_name).first};
  for (size_t at = result.begin; at != kNone && at < result.end; at = text.next(at)) {
    if (text.is(at, "extern")) result.is_extern = true;
    if (text.is(at, "static")) result.is_static = true;
    if (text.is(at, "typedef")) result.is_typedef = true;
    if (text.is_any(at, "_Thread_local", "__thread", "thread_local")) result.is_thread = true;
    const size_t after = text.next(at);
    if (is_attribute(text, at) && text.is(after, "(")) result.attributes.push_back({at, match(text, after)});
    if (text.is(at, "_Alignas") && text.is(after, "(")) result.alignments.push_back({at, match(text, after)});
    if (text.is_word(at) && text.is(after, "(")) at = match(text, after);
    if (text.is(at, "{")) at = match(text, at);
  }
  return result;
}

std::vector<Attribute> attributes_in(const Text& text, const Group& group) {
  std::vector<Attribute> result;
  const size_t outer = text.next(group.keyword);
  const size_t inner = text.next(outer);
  if (!text.is(inner, "(")) return result;
  for (size_t at = text.next(inner); at != kNone && at < match(text, inner); at = text.next(at)) {
    if (!text.is_word(at)) continue;
    Attribute attribute{std::string(text.spelling(at)), at, at + 1, ""};
    while (attribute.name.size() > 4 && attribute.name.starts_with("__") && attribute.name.ends_with("__"))
      attribute.name = attribute.name.substr(2, attribute.name.size() - 4);
    const size_t open = text.next(at);
    if (text.is(open, "(")) {
      attribute.argument = joined(text, open + 1, match(text, open));
      at = match(text, open);
      attribute.end = at + 1;
    }
    result.push_back(attribute);
  }
  return result;
}

std::string joined(const Text& text, size_t first, size_t last) {
  std::string result;
  for (size_t i = first; i < last && i < text.tokens().size(); i++) {
    if (text.tokens()[i].kind == TokenKind::directive) continue;
    if (!result.empty()) result += ' ';
    result += text.spelling(i);
  }
  return result;
}

}  // namespace tasuki::cc
