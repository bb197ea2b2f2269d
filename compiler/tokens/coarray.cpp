#include "compiler/tokens/coarray.h"

#include "compiler/text/declarator.h"

namespace tasuki::cc {
namespace {

size_t match(const Text& text, size_t token) {
  return text.tokens()[token].match;
}

// Words that stand before an expression in parentheses and are no functions.
bool is_statement_word(const Text& text, size_t token) {
  return text.is_any(token, "return", "if", "while", "for", "switch", "else", "do", "case", "sizeof", "goto",
                     "_Alignof", "__alignof__");
}

class Finder {
 public:
  Finder(const Text& text, Diagnostics* diagnostics) : text_(text), diagnostics_(*diagnostics) {}

  CoarrayTokens run() {
    for (size_t i = 0; i < text_.tokens().size(); i++) {
      if (text_.tokens()[i].kind == TokenKind::directive) continue;
      if (text_.is(i, "{")) depth_++;
      if (text_.is(i, "}")) depth_--;
      if (text_.is(i, kDirectiveWord)) {
        directive(i);
        while (i + 1 < text_.tokens().size() && !text_.is(i, ";")) i++;
      } else {
        look(i);
      }
    }
    return std::move(result_);
  }

 private:
  void directive(size_t word) {
    std::vector<TokenRange> expressions;
    if (is_global_directive(text_.spelling(text_.next(word)))) {
      if (std::optional<GlobalDirective> d = read_global_directive(text_, word, &diagnostics_)) {
        expressions = numbers_of(*d);
        for (const TokenRange& range : objects_of(*d)) expressions.push_back(range);
        std::visit([this](auto& one) { place(&one); }, *d);
        add(*d);
      }
    } else if (Directive d{}; read_directive(text_, word, &d, &diagnostics_)) {
      expressions = d.expressions();
      add(d);
    }
    for (const TokenRange& range : expressions)
      for (size_t k = range.first; k < range.last; k++) look(k);
  }

  void place(DirectivePlace* d) const {
    d->in_function = depth_ > 0;
    if (d->in_function) return;
    size_t before = d->word, behind = d->end;
    while (text_.is(text_.previous(before), ";") && is_directive_end(text_.previous(before)))
      before = directive_begin(text_.previous(before));
    while (text_.is(text_.next(behind), kDirectiveWord))
      while (!text_.is(behind = text_.next(behind), ";")) {
      }
    if (text_.is(text_.previous(before), ")") && text_.is(text_.next(behind), "{"))
      d->body = text_.next(behind);
  }

  void add(const GlobalDirective& d) {
    const DirectivePlace& place = place_of(d);
    if (!place.in_function && place.body == kNone && !declares(d)) return misplaced(place.name);
    result_.globals.push_back(d);
  }

  bool is_directive_end(size_t semicolon) const { return directive_begin(semicolon) != kNone; }
  // The first word of the directive that this semicolon ends; kNone for others.
  size_t directive_begin(size_t semicolon) const {
    for (size_t i = semicolon; i-- > 0;) {
      if (text_.is(i, kDirectiveWord)) return i;
      if (text_.is_any(i, ";", "{", "}")) return kNone;
    }
    return kNone;
  }

  void misplaced(size_t name) {
    diagnostics_.error(text_.begin_of(name),
                       "'#pragma xmp " + std::string(text_.spelling(name)) + "' must stand in a function",
                       "move it into a function");
  }

  void add(const Directive& d) {
    if (depth_ == 0 && !d.declares()) return misplaced(d.name);
    result_.directives.push_back(d);
  }

  void look(size_t i) {
    if (text_.is(i, "xmp_desc_of")) descriptor(i);
    if (text_.is(i, "[")) section(i);
    if (text_.is(i, ":") && text_.is(text_.next(i), "[")) coindex(i);
  }

  void descriptor(size_t word) {
    const size_t open = text_.next(word);
    if (text_.is(open, "(") && text_.is_word(text_.next(open)) &&
        text_.next(text_.next(open)) == match(text_, open))
      return result_.descriptors.push_back(word);
    diagnostics_.error(text_.begin_of(word),
                       "xmp_desc_of has one operand: the name of a node array, a template or an array",
                       "write xmp_desc_of(a)");
  }

  // [[...]] holds attributes.
  bool is_attribute_list(size_t open) const {
    return (text_.is(text_.next(open), "[") && text_.is(text_.next(match(text_, text_.next(open))), "]")) ||
           (text_.is(text_.previous(open), "[") &&
            match(text_, text_.previous(open)) == text_.next(match(text_, open)));
  }

  void section(size_t open) {
    const size_t close = match(text_, open);
    if (close <= open || is_attribute_list(open)) return;
    std::vector<size_t> colons;
    int questions = 0;
    for (size_t i = text_.next(open); i != kNone && i < close; i = text_.next(i)) {
      if (text_.is_any(i, "(", "[", "{") && match(text_, i) > i) {
        i = match(text_, i);
      } else if (text_.is(i, "?")) {
        questions++;
      } else if (text_.is(i, ":") && text_.is(text_.next(i), "[")) {
        continue;  // of a coindex
      } else if (text_.is(i, ":")) {
        if (questions > 0)
          questions--;
        else
          colons.push_back(i);
      }
    }
    if (colons.empty()) return;
    const size_t before = text_.previous(open);
    if (!ends_postfix(before)) return;
    if (depth_ == 0)
      return diagnostics_.error(text_.begin_of(open),
                                "an array assignment is a statement: it must stand in a function",
                                "move it into a function");
    if (colons.size() > 2)
      diagnostics_.error(text_.begin_of(colons[2]), "a section has three parts at most",
                         "write [lower:length:stride]; each of them may be left out");
    result_.sections[open] = {open, colons[0], colons.size() > 1 ? colons[1] : kNone};
  }

  bool ends_postfix(size_t token) const {
    if (token == kNone) return false;
    return text_.is_any(token, "]", ")") || (text_.is_word(token) && !is_statement_word(text_, token)) ||
           text_.tokens()[token].kind == TokenKind::string;
  }

  // asm("..." : [name] "r"(x)), and attributes behind a label.
  bool is_other(size_t colon) const {
    const size_t open = text_.next(colon), close = match(text_, open);
    if (close <= open || is_attribute_list(open)) return true;
    const size_t behind = text_.next(close);
    if (behind != kNone && text_.tokens()[behind].kind == TokenKind::string) return true;
    return !ends_postfix(text_.previous(colon));
  }

  void coindex(size_t colon) {
    if (is_other(colon)) return;
    Coindex c{.begin = kNone, .colon = colon};
    size_t at = text_.next(colon);
    for (; text_.is(at, "[") && match(text_, at) > at; at = text_.next(match(text_, at)))
      c.opens.push_back(at);
    c.end = match(text_, c.opens.back()) + 1;
    bool star_last = false;
    for (size_t open : c.opens) {
      const size_t inside = text_.next(open), close = match(text_, open);
      star_last = inside == close || (text_.is(inside, "*") && text_.next(inside) == close);
      c.declares = c.declares || star_last;
    }
    c.begin = postfix_begin(text_, result_, text_.previous(colon));
    const size_t before = text_.previous(c.begin);
    const bool in_declaration = text_.is_word(before) && !is_statement_word(text_, before);
    if (c.declares && !star_last)
      return diagnostics_.error(text_.begin_of(colon),
                                "the last codimension must be [*]: it is as large as there are images",
                                "write :[*], :[n][*] or the like");
    if (!c.declares && in_declaration)
      return diagnostics_.error(text_.begin_of(colon), "the last codimension of a coarray must be [*]",
                                "write :[*], or :[n][*] for images in two dimensions");
    if (!c.declares && depth_ == 0)
      return diagnostics_.error(text_.begin_of(colon),
                                "an object in another image is not known before the program runs",
                                "use it in a function");
    result_.colons.insert(colon);
    result_.coindices.push_back(std::move(c));
  }

  const Text& text_;
  Diagnostics& diagnostics_;
  CoarrayTokens result_;
  int depth_ = 0;  // of braces
};

}  // namespace

const Coindex* CoarrayTokens::coindex_at(size_t colon) const {
  for (const Coindex& c : coindices)
    if (c.colon == colon) return &c;
  return nullptr;
}

bool CoarrayTokens::has_section(size_t first, size_t last) const {
  const auto found = sections.lower_bound(first);
  return found != sections.end() && found->first < last;
}

CoarrayTokens find_coarray_tokens(const Text& text, Diagnostics* diagnostics) {
  return Finder(text, diagnostics).run();
}

size_t postfix_begin(const Text& text, const CoarrayTokens& tokens, size_t last) {
  for (size_t at = last; at != kNone;) {
    const size_t before = text.previous(at);
    if (text.is(at, "]") && match(text, at) < at) {
      at = text.previous(match(text, at));
      if (tokens.colons.contains(at)) at = text.previous(at);
    } else if (text.is(at, ")") && match(text, at) < at) {
      const size_t open = match(text, at), called = text.previous(open);
      const bool call = text.is(called, "]") || (text.is_word(called) && !is_statement_word(text, called) &&
                                                 group_keyword(text, at) == kNone);
      if (!call) return open;
      at = called;
    } else if (text.is_word(at) && text.is_any(before, ".", "->")) {
      at = text.previous(before);
    } else {
      return at;
    }
  }
  return 0;
}

constexpr const char* kPreamble =
    "extern const char* const __tasuki_c; long __tasuki_section(const char*, ...); long __tasuki_image(const "
    "char*, ...); "
    "int __tasuki_use(int, ...); ";

// Directives as C: their expressions stay, the rest goes.
class NeutralDirective {
 public:
  NeutralDirective(const Text& text, size_t word, size_t end, Neutral* result)
      : word_(word), end_(end), result_(*result) {
    for (size_t i = word; i <= end; i++)
      if (text.tokens()[i].kind != TokenKind::directive) result_.instead.emplace(i, "");
  }
  void around(const std::string& before, const std::string& after) {
    result_.instead[word_] = before;
    result_.instead[end_] = after;
  }
  void keep(const TokenRange& range, const char* before, const char* after) {
    if (range.empty()) return;
    for (size_t i = range.first; i < range.last; i++) {
      const auto changed = result_.instead.find(i);
      // What was emptied above, and not what a section or coindex became.
      if (changed != result_.instead.end() && changed->second.empty()) result_.instead.erase(changed);
    }
    result_.before[range.first] = before + result_.before[range.first];
    result_.after[range.last - 1] += after;
  }
  void number(const TokenRange& range) { keep(range, ", &__tasuki_c[", "]"); }
  void object(const TokenRange& range) { keep(range, ", &(", ")"); }

 private:
  size_t word_, end_;
  Neutral& result_;
};

void neutral_directive(const Text& text, const Directive& d, Neutral* result) {
  NeutralDirective neutral(text, d.word, d.end, result);
  if (d.has_block()) return;
  if (d.declares()) return neutral.around("struct __tasuki_none;", "");
  neutral.around("__tasuki_use(0", ");");
  for (const NodeSubscript& s : d.nodes.subscripts)
    for (const TokenRange& range : {s.lower, s.upper, s.stride}) neutral.number(range);
  neutral.number(d.tag);
  for (const TokenRange& range : {d.lock, d.acquired, d.status}) neutral.object(range);
}

void neutral_directive(const Text& text, const GlobalDirective& directive, Neutral* result) {
  const DirectivePlace& d = place_of(directive);
  NeutralDirective neutral(text, d.word, d.end, result);
  if (d.body != kNone) return;
  const std::vector<TokenRange> numbers = numbers_of(directive), objects = objects_of(directive);
  if (!d.in_function) {
    neutral.around("extern __typeof__(0", ") __tasuki_size" + std::to_string(d.word) + ";");
    for (const TokenRange& range : numbers) neutral.keep(range, " + 0 * (", ")");
    return;
  }
  // The label makes the statement behind it a part of this one, whatever stands around both.
  const bool block = has_block(directive);
  if (block && numbers.empty() && objects.empty()) return;
  // A pragma before it that wants a loop behind itself would find this statement.
  for (size_t i = d.word; block && i-- > 0 && text.tokens()[i].kind == TokenKind::directive;)
    if (text.spelling(i).find("pragma") != std::string_view::npos) result->instead[i] = "";
  neutral.around(block ? "switch (__tasuki_use(0" : "__tasuki_use(0", block ? ")) default:" : ");");
  for (const TokenRange& range : numbers) neutral.number(range);
  for (const TokenRange& range : objects) neutral.object(range);
}

Neutral neutral_text(const Text& text, const CoarrayTokens& tokens) {
  Neutral result;
  const std::string operand = "&__tasuki_c[";
  for (size_t i = 0; i < text.tokens().size(); i++) {
    if (text.tokens()[i].kind == TokenKind::directive) continue;
    result.before[i] = kPreamble;
    break;
  }
  for (const auto& [at, s] : tokens.sections) {
    const size_t open = at;  // clang 14 captures no structured bindings
    const size_t close = match(text, open);
    const auto part = [&](size_t token, size_t next) {
      const bool empty = text.next(token) == next;
      result.instead[token] = (token == open ? "[__tasuki_section(" : "], ") + operand + (empty ? "0" : "");
    };
    part(open, s.colon);
    part(s.colon, s.second_colon != kNone ? s.second_colon : close);
    if (s.second_colon != kNone) part(s.second_colon, close);
    result.instead[close] = "])]";
  }
  for (const Coindex& c : tokens.coindices) {
    if (c.declares) {
      for (size_t i = c.colon; i < c.end; i++)
        if (text.tokens()[i].kind != TokenKind::directive) result.instead[i] = "";
      continue;
    }
    result.before[c.begin] = "(&" + result.before[c.begin];
    result.instead[c.colon] = ")";
    for (size_t open : c.opens) {
      result.instead[open] = (open == c.opens.front() ? "[__tasuki_image(" : ", ") + operand;
      result.instead[match(text, open)] = open == c.opens.back() ? "])]" : "]";
    }
  }
  for (size_t word : tokens.descriptors) {
    for (size_t i = word; i <= match(text, text.next(word)); i++) result.instead[i] = "";
    result.instead[word] = "((const void*)0)";
  }
  for (const Directive& d : tokens.directives) neutral_directive(text, d, &result);
  for (const GlobalDirective& d : tokens.globals) neutral_directive(text, d, &result);
  return result;
}

}  // namespace tasuki::cc
