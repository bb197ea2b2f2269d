#include "compiler/xmp_directives.h"

#include <algorithm>
#include <map>

#include "compiler/edits.h"

namespace tasuki::cc {
namespace {

const std::map<std::string_view, DirectiveKind>& known_directives() {
  static const std::map<std::string_view, DirectiveKind> known = {
      {"nonblock", DirectiveKind::nonblock}, {"wait_nonblock", DirectiveKind::wait_nonblock},
      {"post", DirectiveKind::post},         {"wait", DirectiveKind::wait},
      {"lock", DirectiveKind::lock},         {"unlock", DirectiveKind::unlock},
      {"barrier", DirectiveKind::barrier},   {"nodes", DirectiveKind::nodes},
      {"task", DirectiveKind::task}};
  return known;
}

// Directives of the specification that this compiler does not have.
bool is_unsupported(std::string_view name) {
  for (const char* one :
       {"template", "distribute", "align",       "shadow",      "coarray",       "image",    "template_fix",
        "tasks",    "loop",       "array",       "reflect",     "reduce_shadow", "gmove",    "reduction",
        "bcast",    "wait_async", "local_alias", "static_desc", "tasklet",       "tasklets", "taskletwait"})
    if (name == one) return true;
  return false;
}

// Where the body of `#pragma xmp` begins in a directive's text; npos for other directives.
size_t xmp_body(std::string_view directive) {
  size_t at = 1;
  for (std::string_view word : {"pragma", "xmp"}) {
    while (at < directive.size() && (directive[at] == ' ' || directive[at] == '\t')) at++;
    if (directive.substr(at, word.size()) != word) return std::string_view::npos;
    at += word.size();
    if (at < directive.size() && is_word_character(directive[at])) return std::string_view::npos;
  }
  return at;
}

class Reader {
 public:
  Reader(const Text& text, size_t word, Diagnostics* diagnostics)
      : text_(text), diagnostics_(*diagnostics), at_(text.next(word)), word_(word) {}

  bool read(Directive* d) {
    d->word = word_;
    d->name = at_;
    d->end = at_;
    while (d->end != kNone && !text_.is(d->end, ";")) d->end = text_.next(d->end);
    const auto known =
        text_.is_word(at_) ? known_directives().find(text_.spelling(at_)) : known_directives().end();
    if (d->end == kNone || known == known_directives().end()) return false;
    d->kind = known->second;
    end_ = d->end;
    advance();
    const bool good = arguments(d);
    return good && (at_ == end_ || expected("the end of the directive"));
  }

 private:
  void advance() { at_ = text_.next(at_); }
  bool expected(const std::string& what) {
    const size_t name = text_.next(word_);
    diagnostics_.error(
        text_.begin_of(name),
        "'#pragma xmp " + std::string(text_.spelling(name)) + "': " + what + " is expected" +
            (at_ == end_ ? " at its end" : " before '" + std::string(text_.spelling(at_)) + "'"),
        "write #pragma xmp " + form_of());
    return false;
  }
  std::string form_of() const {
    switch (known_directives().at(text_.spelling(text_.next(word_)))) {
      case DirectiveKind::nonblock:
        return "nonblock, or nonblock (remote), before a block";
      case DirectiveKind::wait_nonblock:
        return "wait_nonblock, or wait_nonblock (local)";
      case DirectiveKind::post:
        return "post(p(i), tag), with a node array p";
      case DirectiveKind::wait:
        return "wait, wait(p(i)) or wait(p(i), tag), with a node array p";
      case DirectiveKind::lock:
        return "lock(l:[image]) acquired_lock(success) stat(status); the last two may be left out";
      case DirectiveKind::unlock:
        return "unlock(l:[image]) stat(status); stat may be left out";
      case DirectiveKind::barrier:
        return "barrier";
      case DirectiveKind::nodes:
        return "nodes p(4), nodes p[4], nodes p(2,*) or nodes q(2)=p(1:2)";
      case DirectiveKind::task:
        return "task on p(1:2), before a block";
    }
    return "";
  }

  bool arguments(Directive* d) {
    switch (d->kind) {
      case DirectiveKind::nonblock:
        return option("remote", d);
      case DirectiveKind::wait_nonblock:
        return option("local", d);
      case DirectiveKind::post:
        return post(d);
      case DirectiveKind::wait:
        return at_ == end_ || post(d);
      case DirectiveKind::lock:
      case DirectiveKind::unlock:
        return lock(d);
      case DirectiveKind::barrier:
        return true;
      case DirectiveKind::nodes:
        return nodes(d);
      case DirectiveKind::task:
        if (!text_.is(at_, "on")) return expected("'on'");
        advance();
        return nodes_reference(&d->nodes, false);
    }
    return false;
  }

  bool option(const char* word, Directive* d) {
    if (at_ == end_) return true;
    if (!text_.is(at_, "(")) return expected("'(" + std::string(word) + ")' or nothing");
    advance();
    if (!text_.is(at_, word)) return expected("'" + std::string(word) + "'");
    advance();
    if (!text_.is(at_, ")")) return expected("')'");
    advance();
    d->option = true;
    return true;
  }

  size_t match(size_t open) const { return text_.tokens()[open].match; }

  // Where the argument that begins here ends: a "," or ":" outside of brackets, or the closing one.
  size_t argument_end(bool at_colon) const {
    size_t i = at_;
    for (; i != kNone && i < end_; i = text_.next(i)) {
      if (text_.is(i, ",") || text_.is_any(i, ")", "]") || (at_colon && text_.is(i, ":"))) break;
      if (text_.is_any(i, "(", "[", "{") && match(i) > i) i = match(i);
    }
    return i;
  }

  bool expression(TokenRange* range, const char* what) {
    const size_t end = argument_end(false);
    *range = {at_, end};
    if (range->empty()) return expected(what);
    at_ = end;
    return true;
  }

  bool post(Directive* d) {
    if (!text_.is(at_, "(")) return expected("'('");
    advance();
    if (!nodes_reference(&d->nodes, true)) return false;
    if (text_.is(at_, ",")) {
      advance();
      if (!expression(&d->tag, "a tag")) return false;
    } else if (d->kind == DirectiveKind::post) {
      return expected("', tag'");
    }
    if (!text_.is(at_, ")")) return expected("')'");
    advance();
    return true;
  }

  bool lock(Directive* d) {
    if (!in_parentheses(&d->lock, "a lock")) return false;
    while (at_ != end_) {
      TokenRange* range = nullptr;
      if (text_.is(at_, "acquired_lock") && d->kind == DirectiveKind::lock && d->acquired.empty())
        range = &d->acquired;
      if (text_.is(at_, "stat") && d->status.empty()) range = &d->status;
      if (range == nullptr)
        return expected(d->kind == DirectiveKind::lock ? "'acquired_lock', 'stat' or the end"
                                                       : "'stat' or the end");
      advance();
      if (!in_parentheses(range, "a variable")) return false;
    }
    return true;
  }

  bool in_parentheses(TokenRange* range, const char* what) {
    if (!text_.is(at_, "(")) return expected("'('");
    advance();
    if (!expression(range, what)) return false;
    if (!text_.is(at_, ")")) return expected("')'");
    advance();
    return true;
  }

  bool nodes(Directive* d) {
    if (!nodes_reference(&d->nodes, false)) return false;
    if (!text_.is(at_, "=")) return true;
    advance();
    if (text_.is(at_, "*")) {
      while (text_.is(at_, "*")) {
        d->origin += "*";
        advance();
      }
      return d->origin.size() <= 2 || expected("'*' or '**'");
    }
    d->origin = "=";
    return nodes_reference(&d->whole, false);
  }

  bool nodes_reference(NodesReference* r, bool one_node) {
    if (!text_.is_word(at_)) return expected("the name of a node array");
    r->name = at_;
    advance();
    if (!text_.is_any(at_, "(", "[")) return expected("'(' or '['");
    r->brackets = text_.is(at_, "[");
    while (text_.is(at_, r->brackets ? "[" : "(")) {
      do {
        advance();
        if (!subscript(r, one_node)) return false;
      } while (!r->brackets && text_.is(at_, ","));
      if (!text_.is(at_, r->brackets ? "]" : ")")) return expected(r->brackets ? "']'" : "')'");
      advance();
      if (!r->brackets) break;
    }
    return r->subscripts.size() <= 7 || expected("at most 7 dimensions");
  }

  bool subscript(NodesReference* r, bool one_node) {
    NodeSubscript s;
    if (text_.is(at_, "*") && text_.is_any(text_.next(at_), ",", ")", "]")) {
      s.own = true;
      advance();
    } else {
      TokenRange* parts[] = {&s.lower, &s.upper, &s.stride};
      for (int i = 0; i < 3; i++) {
        const size_t end = argument_end(true);
        if (end > at_) *parts[i] = {at_, end};
        at_ = end;
        if (!text_.is(at_, ":") || i == 2) break;
        s.is_range = true;
        advance();
      }
      if (!s.is_range && s.lower.empty()) return expected("a number");
    }
    if (one_node && (s.own || s.is_range)) return expected("the number of one node");
    r->subscripts.push_back(s);
    return true;
  }

  const Text& text_;
  Diagnostics& diagnostics_;
  size_t at_;
  size_t word_;
  size_t end_ = kNone;
};

void add(const NodesReference& r, std::vector<TokenRange>* all) {
  for (const NodeSubscript& s : r.subscripts)
    for (const TokenRange& range : {s.lower, s.upper, s.stride})
      if (!range.empty()) all->push_back(range);
}

}  // namespace

bool has_directives(const Text& text) {
  for (size_t i = 0; i < text.tokens().size(); i++)
    if (text.tokens()[i].kind == TokenKind::directive && xmp_body(text.spelling(i)) != std::string_view::npos)
      return true;
  return false;
}

namespace {

// Calls visit(token, where the arguments begin in it) for each directive.
template <typename Visit>
void each_directive(const Text& text, Visit visit) {
  for (size_t i = 0; i < text.tokens().size(); i++) {
    if (text.tokens()[i].kind != TokenKind::directive) continue;
    const std::string_view line = text.spelling(i);
    size_t at = xmp_body(line);
    if (at == std::string_view::npos) continue;
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) at++;
    while (at < line.size() && is_word_character(line[at])) at++;
    visit(i, at);
  }
}

}  // namespace

std::vector<std::string> directive_arguments(const Text& text) {
  std::vector<std::string> result;
  each_directive(text, [&](size_t i, size_t at) { result.emplace_back(text.spelling(i).substr(at)); });
  return result;
}

std::string with_directive_arguments(const Text& text, const std::vector<std::string>& arguments) {
  std::string result;
  size_t done = 0, n = 0;
  each_directive(text, [&](size_t i, size_t at) {
    if (n >= arguments.size()) return;
    result.append(text.bytes(), done, text.begin_of(i) + at - done);
    result += arguments[n++];
    done = text.end_of(i);
  });
  return result + text.bytes().substr(done);
}

std::string directives_as_words(const Text& text, Diagnostics* diagnostics) {
  std::string result;
  size_t done = 0;
  for (size_t i = 0; i < text.tokens().size(); i++) {
    if (text.tokens()[i].kind != TokenKind::directive) continue;
    const std::string_view directive = text.spelling(i);
    const size_t body = xmp_body(directive);
    if (body == std::string_view::npos) continue;
    size_t begin = directive.find_first_not_of(" \t", body), end = begin;
    while (end < directive.size() && is_word_character(directive[end])) end++;
    const std::string name(begin < directive.size() ? directive.substr(begin, end - begin) : "");
    const size_t offset = text.begin_of(i) + (name.empty() ? 0 : begin);
    const std::string directives =
        "supported are nodes, task, barrier, post, wait, lock, unlock, nonblock and wait_nonblock";
    if (is_unsupported(name))
      diagnostics->error(offset, "'#pragma xmp " + name + "' is not supported", directives);
    else if (!known_directives().contains(name))
      diagnostics->error(
          offset,
          name.empty() ? "'#pragma xmp' without a directive" : "'" + name + "' is no directive of XcalableMP",
          directives);
    else if (directive.find(';', body) != std::string_view::npos)
      diagnostics->error(text.begin_of(i) + begin, "a directive holds no ';'",
                         "a directive ends with its line");
    result.append(text.bytes(), done, text.begin_of(i) - done);
    // Blanks at the end of the line leave the columns of the words to the search (Text::column).
    result += std::string(kDirectiveWord) + " " + std::string(directive.substr(body)) + " ;";
    done = text.end_of(i);
  }
  result.append(text.bytes(), done);
  return result;
}

std::vector<TokenRange> Directive::expressions() const {
  std::vector<TokenRange> all;
  if (kind == DirectiveKind::post || kind == DirectiveKind::wait || kind == DirectiveKind::task)
    add(nodes, &all);
  for (const TokenRange& range : {tag, lock, acquired, status})
    if (!range.empty()) all.push_back(range);
  return all;
}

bool read_directive(const Text& text, size_t word, Directive* directive, Diagnostics* diagnostics) {
  return Reader(text, word, diagnostics).read(directive);
}

}  // namespace tasuki::cc
