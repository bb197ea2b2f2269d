#include "compiler/text/text.h"

#include <algorithm>
#include <fstream>

namespace tasuki::cc {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// One pass over the text. After the preprocessor there are no macros and (normally) no comments, and what
// starts with # is a marker or a pragma.
class Scanner {
 public:
  Scanner(std::string_view bytes, std::vector<Token>* tokens) : bytes_(bytes), tokens_(tokens) {}

  // The next token into *token; false at the end.
  bool next(Token* token) {
    skip_blank();
    if (at_ >= bytes_.size()) return false;
    const size_t begin = at_;
    const TokenKind kind = scan();
    line_start_ = false;
    *token = {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin),
              static_cast<uint32_t>(tokens_->size()), kind};
    return true;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < bytes_.size() ? bytes_[at_ + ahead] : '\0'; }

  void skip_blank() {
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == '\n') {
        line_start_ = true;
        at_++;
      } else if (is_blank(bytes_[at_])) {
        at_++;
      } else if (bytes_[at_] == '\\' && peek(1) == '\n') {
        at_ += 2;
      } else if (bytes_[at_] == '/' && peek(1) == '/') {
        at_ = std::min(bytes_.find('\n', at_), bytes_.size());
      } else if (bytes_[at_] == '/' && peek(1) == '*') {
        const size_t end = bytes_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? bytes_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  TokenKind scan() {
    const char c = bytes_[at_];
    if (c == '#' && line_start_) return directive();
    if (c == '"') return literal('"', TokenKind::string);
    if (c == '\'') return literal('\'', TokenKind::character);
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_word_character(c) || (c == '\\' && (peek(1) == 'u' || peek(1) == 'U'))) return word();
    return punctuator();
  }

  TokenKind directive() {
    while (at_ < bytes_.size() && bytes_[at_] != '\n') at_ += bytes_[at_] == '\\' && peek(1) != 0 ? 2 : 1;
    at_ = std::min(at_, bytes_.size());
    return TokenKind::directive;
  }

  TokenKind literal(char quote, TokenKind kind) {
    at_++;
    while (at_ < bytes_.size() && bytes_[at_] != quote && bytes_[at_] != '\n')
      at_ += bytes_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, bytes_.size());
    if (peek() == quote) at_++;
    return kind;
  }

  TokenKind number() {
    while (is_word_character(peek()) || peek() == '.' ||
           ((peek() == '+' || peek() == '-') && std::string_view("eEpP").find(bytes_[at_ - 1]) < 4))
      at_++;
    return TokenKind::number;
  }

  TokenKind word() {
    const size_t begin = at_;
    while (is_word_character(peek()) || (peek() == '\\' && (peek(1) == 'u' || peek(1) == 'U')))
      at_ += peek() == '\\' ? 2 : 1;
    const std::string_view prefix = bytes_.substr(begin, at_ - begin);
    // R"x(...)x", which gcc takes in C too.
    if (peek() == '"' &&
        (prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R"))
      return raw_string();
    return TokenKind::word;
  }

  TokenKind raw_string() {
    const size_t open = bytes_.find('(', at_);
    if (open == std::string_view::npos) return literal('"', TokenKind::string);
    const std::string close = ")" + std::string(bytes_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t end = bytes_.find(close, open);
    at_ = end == std::string_view::npos ? bytes_.size() : end + close.size();
    return TokenKind::string;
  }

  TokenKind punctuator() {
    static constexpr std::string_view several[] = {"...", "<<=", ">>=", "->", "==", "<=", ">=", "!=", "+=",
                                                   "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "++", "--",
                                                   "&&",  "||",  "<<",  ">>", "<:", ":>", "<%", "%>", "##"};
    for (std::string_view p : several) {
      if (bytes_.substr(at_, p.size()) == p) {
        at_ += p.size();
        return TokenKind::punctuator;
      }
    }
    at_++;
    return TokenKind::punctuator;
  }

  std::string_view bytes_;
  std::vector<Token>* tokens_;
  size_t at_ = 0;
  bool line_start_ = true;
};

std::string_view canonical(std::string_view punctuator) {
  if (punctuator == "<:") return "[";
  if (punctuator == ":>") return "]";
  if (punctuator == "<%") return "{";
  if (punctuator == "%>") return "}";
  return punctuator;
}

}  // namespace

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

Text::Text(std::string bytes) : bytes_(std::move(bytes)) {
  files_.push_back("<input>");
  marks_.push_back({0, 0, 1, false});
  read_tokens();
  match_brackets();
}

void Text::read_tokens() {
  Scanner scanner(bytes_, &tokens_);
  for (Token token; scanner.next(&token);) {
    tokens_.push_back(token);
    if (token.kind == TokenKind::directive)
      read_marker(spelling(tokens_.size() - 1), token.offset + token.length + 1);
  }
}

// # 12 "file.c" 1 3, or #line 12 "file.c"; anything else is no marker. The flag 3 means a system header.
void Text::read_marker(std::string_view directive, size_t next_line) {
  size_t at = 1;
  const auto blanks = [&] {
    while (at < directive.size() && is_blank(directive[at])) at++;
  };
  blanks();
  if (directive.substr(at, 4) == "line") at += 4;
  blanks();
  if (at >= directive.size() || !is_digit(directive[at])) return;
  unsigned line = 0;
  while (at < directive.size() && is_digit(directive[at]))
    line = line * 10 + static_cast<unsigned>(directive[at++] - '0');
  blanks();
  Mark mark{next_line, marks_.back().file, line, marks_.back().system};
  if (at < directive.size() && directive[at] == '"') {
    std::string file;
    for (at++; at < directive.size() && directive[at] != '"'; at++) {
      if (directive[at] == '\\' && at + 1 < directive.size()) at++;
      file += directive[at];
    }
    const auto known = std::find(files_.begin(), files_.end(), file);
    mark.file = static_cast<size_t>(known - files_.begin());
    if (known == files_.end()) files_.push_back(file);
    mark.system = directive.find(" 3", at) != std::string_view::npos;
  }
  marks_.push_back(mark);
}

// Partners of the same kind only: a text that does not nest is no C, and the compiler will say so.
void Text::match_brackets() {
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens_.size(); i++) {
    if (tokens_[i].kind != TokenKind::punctuator) continue;
    if (is_any(i, "(", "[", "{")) {
      open.push_back(i);
    } else if (is_any(i, ")", "]", "}")) {
      const char* partner = is(i, ")") ? "(" : is(i, "]") ? "[" : "{";
      if (!open.empty() && is(open.back(), partner)) {
        tokens_[i].match = static_cast<uint32_t>(open.back());
        tokens_[open.back()].match = static_cast<uint32_t>(i);
        open.pop_back();
      }
    }
  }
}

bool Text::is(size_t token, std::string_view what) const {
  if (token >= tokens_.size()) return false;
  const TokenKind kind = tokens_[token].kind;
  if (kind == TokenKind::punctuator) return canonical(spelling(token)) == what;
  return kind == TokenKind::word && spelling(token) == what;
}

size_t Text::next(size_t token) const {
  for (size_t i = token + 1; i < tokens_.size(); i++)
    if (tokens_[i].kind != TokenKind::directive) return i;
  return kNone;
}

size_t Text::previous(size_t token) const {
  for (size_t i = token; i-- > 0;)
    if (tokens_[i].kind != TokenKind::directive) return i;
  return kNone;
}

size_t Text::first_from(size_t offset) const {
  const auto found =
      std::lower_bound(tokens_.begin(), tokens_.end(), offset,
                       [](const Token& token, size_t wanted) { return token.offset < wanted; });
  return found == tokens_.end() ? kNone : static_cast<size_t>(found - tokens_.begin());
}

size_t Text::skip_directives(size_t token) const {
  while (token < tokens_.size() && tokens_[token].kind == TokenKind::directive) token++;
  return token;
}

bool Text::is_assignment(size_t token) const {
  return is_any(token, "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=");
}

bool Text::ends_operand(size_t token) const {
  if (token >= tokens_.size()) return false;
  const TokenKind kind = tokens_[token].kind;
  return kind == TokenKind::number || kind == TokenKind::character || kind == TokenKind::string ||
         is_any(token, ")", "]", "++", "--") ||
         (kind == TokenKind::word && !is_any(token, "return", "case", "sizeof", "else", "do"));
}

size_t Text::token_at(size_t offset) const {
  const size_t found = first_from(offset);
  return found != kNone && tokens_[found].offset == offset ? found : kNone;
}

const Text::Mark& Text::mark(size_t offset) const {
  return *--std::upper_bound(marks_.begin(), marks_.end(), offset,
                             [](size_t wanted, const Mark& mark) { return wanted < mark.offset; });
}

Place Text::place(size_t offset) const {
  const Mark& m = mark(offset);
  const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(std::min(m.offset, bytes_.size()));
  const auto to = bytes_.begin() + static_cast<std::ptrdiff_t>(std::min(offset, bytes_.size()));
  const auto lines = from < to ? std::count(from, to, '\n') : 0;
  return {files_[m.file], m.line + static_cast<unsigned>(lines), m.system};
}

namespace {

// Where `word` stands for the first time from `at` on; of a name, not as a part of a longer one.
size_t find_word(std::string_view line, std::string_view word, size_t at) {
  const bool is_name = is_word_character(word[0]);
  for (; (at = line.find(word, at)) != std::string_view::npos; at++) {
    const size_t end = at + word.size();
    const bool part =
        (at > 0 && is_word_character(line[at - 1])) || (end < line.size() && is_word_character(line[end]));
    if (!is_name || !part) break;
  }
  return at;
}

}  // namespace

// The name at an offset inside a pragma, and how often it stands before it there.
std::string Text::word_in_directive(size_t offset, unsigned* before) const {
  size_t end = offset;
  while (end < bytes_.size() && is_word_character(bytes_[end])) end++;
  const std::string word = bytes_.substr(offset, end - offset);
  const size_t begin = offset == 0 ? 0 : bytes_.rfind('\n', offset - 1) + 1;
  *before = 0;
  if (word.empty()) return word;
  const std::string_view line = std::string_view(bytes_).substr(begin, end - begin);
  for (size_t at = 0; (at = find_word(line, word, at)) < offset - begin; at += word.size()) ++*before;
  return word;
}

// How often the token's text stands before it among those of the same line of the user's file.
unsigned Text::count_before(size_t token) const {
  const Place here = place(begin_of(token));
  unsigned before = 0;
  for (size_t i = token; i-- > 0 && token - i < 1000;) {
    if (tokens_[i].kind == TokenKind::directive) continue;
    const Place there = place(begin_of(i));
    if (there.line != here.line || there.file != here.file) break;
    if (spelling(i) == spelling(token)) before++;
  }
  return before;
}

// The preprocessor changes blanks and replaces macros, so columns are found by counting: the n-th time that
// the word stands in the line of the text, it is the n-th in the user's line.
unsigned Text::column(size_t offset, std::string* line) const {
  line->clear();
  const Place here = place(offset);
  std::ifstream file(here.file);
  std::string text;
  for (unsigned n = 0; n < here.line; n++)
    if (!std::getline(file, text)) return 0;
  const size_t token = token_at(offset);
  unsigned before = 0;
  const std::string word = token != kNone ? std::string(spelling(token)) : word_in_directive(offset, &before);
  if (word.empty()) return 0;
  if (token != kNone) before = count_before(token);
  size_t at = find_word(text, word, 0);
  while (at != std::string::npos && before-- > 0) at = find_word(text, word, at + word.size());
  if (at == std::string::npos) return 0;
  *line = text;
  return static_cast<unsigned>(at) + 1;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace tasuki::cc
