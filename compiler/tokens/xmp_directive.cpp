#include "compiler/tokens/xmp_directive.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/directives/global_view.h"
#include "compiler/text/edits.h"

namespace tasuki::cc {
namespace {

const std::map<std::string_view, DirectiveKind>& known_directives() {
  static const std::map<std::string_view, DirectiveKind> known = {
      {"nonblock", DirectiveKind::nonblock}, {"wait_nonblock", DirectiveKind::wait_nonblock},
      {"post", DirectiveKind::post},         {"wait", DirectiveKind::wait},
      {"lock", DirectiveKind::lock},         {"unlock", DirectiveKind::unlock},
      {"nodes", DirectiveKind::nodes},       {"coarray", DirectiveKind::coarray},
      {"image", DirectiveKind::image}};
  return known;
}

// Directives of the specification that this compiler does not have.
bool is_unsupported(std::string_view name) {
  for (const char* one : {"static_desc", "tasklet", "tasklets", "taskletwait"})
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

std::string form_of(DirectiveKind kind) {
  switch (kind) {
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
    case DirectiveKind::nodes:
      return "nodes p(4), nodes p[4], nodes p(2,*) or nodes q(2)=p(1:2)";
    case DirectiveKind::coarray:
      return "coarray on p :: a, b, with a node array p and coarrays a and b";
    case DirectiveKind::image:
      return "image(p), with a node array p, before a call of a sync function";
  }
  return "";
}

class Reader {
 public:
  Reader(const Text& text, size_t word, DirectiveKind kind, Diagnostics* diagnostics)
      : in_(text, word, form_of(kind), diagnostics), word_(word), kind_(kind) {}

  bool read(Directive* d) {
    d->kind = kind_;
    d->word = word_;
    d->name = in_.name;
    d->end = in_.end;
    if (d->end == kNone) return false;
    return arguments(d) && (in_.at_end() || in_.expected("the end of the directive"));
  }

 private:
  bool arguments(Directive* d) {
    switch (d->kind) {
      case DirectiveKind::nonblock:
        return option("remote", d);
      case DirectiveKind::wait_nonblock:
        return option("local", d);
      case DirectiveKind::post:
        return post(d);
      case DirectiveKind::wait:
        return in_.at_end() || post(d);
      case DirectiveKind::lock:
      case DirectiveKind::unlock:
        return lock(d);
      case DirectiveKind::nodes:
        return nodes(d);
      case DirectiveKind::coarray:
        return in_.take("on") && whole(d) && objects(d);
      case DirectiveKind::image:
        return in_.take("(") && whole(d) && in_.take(")");
    }
    return false;
  }

  bool option(const char* word, Directive* d) {
    if (in_.at_end()) return true;
    if (!in_.accept("(")) return in_.expected("'(" + std::string(word) + ")' or nothing");
    d->option = true;
    return in_.take(word) && in_.take(")");
  }

  bool post(Directive* d) {
    if (!in_.take("(") || !in_.reference(&d->nodes, kNodeArray, true, true)) return false;
    if (in_.accept(",")) {
      if (!in_.expression(&d->tag, "a tag")) return false;
    } else if (d->kind == DirectiveKind::post) {
      return in_.expected("', tag'");
    }
    return in_.take(")");
  }

  bool lock(Directive* d) {
    if (!in_.in_parentheses(&d->lock, "a lock")) return false;
    while (!in_.at_end()) {
      TokenRange* range = nullptr;
      if (in_.is("acquired_lock") && d->kind == DirectiveKind::lock && d->acquired.empty())
        range = &d->acquired;
      if (in_.is("stat") && d->status.empty()) range = &d->status;
      if (range == nullptr)
        return in_.expected(d->kind == DirectiveKind::lock ? "'acquired_lock', 'stat' or the end"
                                                           : "'stat' or the end");
      in_.advance();
      if (!in_.in_parentheses(range, "a variable")) return false;
    }
    return true;
  }

  bool nodes(Directive* d) {
    if (!in_.reference(&d->nodes, kNodeArray, false, true)) return false;
    for (size_t i = 0; i < d->nodes.subscripts.size(); i++) {
      if (d->nodes.subscripts[i].is_range) return in_.expected("a number of nodes, not a range,");
      if (d->nodes.subscripts[i].own && i + 1 < d->nodes.subscripts.size())
        return in_.expected(d->nodes.brackets ? "'*' in the first dimension only"
                                              : "'*' in the last dimension only");
    }
    if (!in_.accept("=")) return true;
    if (in_.is("*")) {
      while (in_.accept("*")) d->origin += "*";
      return d->origin.size() <= 2 || in_.expected("'*' or '**'");
    }
    d->origin = "=";
    return in_.reference(&d->whole, kNodeArray, false, true);
  }

  bool whole(Directive* d) {
    if (!in_.reference(&d->nodes, kNodeArray, false, false)) return false;
    return d->nodes.subscripts.empty() || in_.expected("a node array without subscripts");
  }

  bool objects(Directive* d) {
    if (!in_.take(":")) return false;
    in_.accept(":");
    do {
      if (in_.at_end() || !in_.text.is_word(in_.at)) return in_.expected("the name of a coarray");
      d->objects.push_back(in_.at);
      in_.advance();
    } while (in_.accept(","));
    return true;
  }

  static constexpr const char* kNodeArray = "a node array";
  DirectiveReader in_;
  size_t word_;
  DirectiveKind kind_;
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

namespace {

// The pieces between commas, or between double colons, that stand in no brackets.
std::vector<std::string> pieces(std::string_view text, std::string_view separator) {
  std::vector<std::string> result(1);
  int depth = 0;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '(' || text[i] == '[') depth++;
    if (text[i] == ')' || text[i] == ']') depth--;
    if (depth == 0 && text.substr(i, separator.size()) == separator) {
      result.emplace_back();
      i += separator.size() - 1;
    } else {
      result.back() += text[i];
    }
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The word that a text begins with.
std::string_view first_word(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && is_word_character(text[end])) end++;
  return text.substr(0, end);
}

// A combined directive: attributes, `::`, and what each of them is said of.
//
//     template, distribute (block) onto p :: t(0:N-1), u(0:M-1)        template t(0:N-1), distribute t(block) onto p, template u..
//     align (i,j) with t(j,i), shadow (1,0) :: a, b                    align a[i][j] with t(j,i), shadow a[1][0], align b..
class Combined {
 public:
  Combined(std::string_view attributes, std::string_view declared) : declared_(declared) {
    for (const std::string& a : pieces(attributes, ",")) attributes_.emplace_back(trimmed(a));
  }

  // What is wrong with it; empty: nothing.
  std::string problem() const {
    std::set<std::string_view> known;
    for (const std::string& a : attributes_) {
      const std::string_view name = first_word(a);
      const std::string quoted_name = "'" + std::string(name) + "'";
      if (rank(name) < 0) return quoted_name + " is no attribute of a combined directive";
      if (!known.insert(name).second) return "the attribute " + quoted_name + " stands here twice";
      if (rank(name) / 2 != rank(first_word(attributes_.front())) / 2)
        return "the attributes '" + std::string(first_word(attributes_.front())) + "' and " + quoted_name +
               " cannot stand in one directive";
    }
    for (const std::string& d : pieces(declared_, ","))
      if (first_word(trimmed(d)).empty()) return "a name is missing behind '::'";
    return "";
  }

  std::vector<std::string> directives() {
    std::sort(attributes_.begin(), attributes_.end(), [](const std::string& a, const std::string& b) {
      return rank(first_word(a)) < rank(first_word(b));
    });
    std::vector<std::string> result;
    for (const std::string& d : pieces(declared_, ","))
      for (const std::string& a : attributes_) result.push_back(directive(a, trimmed(d)));
    return result;
  }

 private:
  // In the order in which the directives are wanted; two together can be said of one thing.
  static int rank(std::string_view name) {
    static constexpr std::string_view kNames[] = {"nodes", "", "template", "distribute", "align", "shadow"};
    const auto found = std::find(std::begin(kNames), std::end(kNames), name);
    return name.empty() || found == std::end(kNames) ? -1 : static_cast<int>(found - std::begin(kNames));
  }

  static std::string directive(const std::string& attribute, std::string_view declared) {
    const std::string_view name = first_word(attribute);
    std::string arguments(trimmed(std::string_view(attribute).substr(name.size())));
    std::string result(name);
    result += ' ';
    if (rank(name) <= rank("template")) return result + std::string(declared) + arguments;
    result += first_word(declared);
    if (rank(name) <= rank("distribute") || !arguments.starts_with("(")) return result + arguments;
    // Arrays have brackets.
    size_t end = 0;
    for (int depth = 0; end < arguments.size(); end++) {
      if (arguments[end] == '(' || arguments[end] == '[') depth++;
      if ((arguments[end] == ')' || arguments[end] == ']') && --depth == 0) break;
    }
    for (const std::string& piece : pieces(arguments.substr(1, end - 1), ",")) result += "[" + piece + "]";
    return result + (end < arguments.size() ? arguments.substr(end + 1) : "");
  }

  std::vector<std::string> attributes_;
  std::string declared_;
};

}  // namespace

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
    const std::string see = "docs/status/xmp.md lists the directives that are supported";
    if (is_unsupported(name))
      diagnostics->error(offset, "'#pragma xmp " + name + "' is not supported", see);
    else if (!known_directives().contains(name) && !is_global_directive(name))
      diagnostics->error(offset,
                         name.empty() ? "'#pragma xmp' without a directive"
                                      : "'" + name + "' is not a directive of XcalableMP",
                         see);
    else if (directive.find(';', body) != std::string_view::npos)
      diagnostics->error(text.begin_of(i) + begin, "a directive cannot contain ';'",
                         "end the directive at the end of its line");
    result.append(text.bytes(), done, text.begin_of(i) - done);
    const std::string_view words = directive.substr(std::min(begin, directive.size()));
    std::vector<std::string> all = {std::string(words)};
    if (const std::vector<std::string> parts = pieces(words, "::"); parts.size() == 2 && name != "coarray") {
      Combined combined(parts[0], parts[1]);
      const std::string problem = combined.problem();
      if (!problem.empty())
        diagnostics->error(offset, problem,
                           "write template, distribute (block) onto p :: t(0:N-1), or align (i) with t(i), "
                           "shadow (1) :: a, b");
      all = problem.empty() ? combined.directives() : std::vector<std::string>();
    } else if (name == "nodes" || name == "template") {
      // nodes p(2), q(4): one directive each.
      all = pieces(words, ",");
      for (size_t k = 1; k < all.size(); k++) all[k].insert(0, name + " ");
    }
    // Blanks at the end of the line leave the columns of the words to the search (Text::column).
    for (const std::string& one : all) result += std::string(kDirectiveWord) + " " + one + " ; ";
    done = text.end_of(i);
  }
  result.append(text.bytes(), done);
  return result;
}

std::vector<TokenRange> Directive::expressions() const {
  std::vector<TokenRange> all;
  if (kind == DirectiveKind::post || kind == DirectiveKind::wait) add(nodes, &all);
  for (const TokenRange& range : {tag, lock, acquired, status})
    if (!range.empty()) all.push_back(range);
  return all;
}

bool read_directive(const Text& text, size_t word, Directive* directive, Diagnostics* diagnostics) {
  const size_t name = text.next(word);
  const auto known =
      text.is_word(name) ? known_directives().find(text.spelling(name)) : known_directives().end();
  return known != known_directives().end() && Reader(text, word, known->second, diagnostics).read(directive);
}

}  // namespace tasuki::cc
