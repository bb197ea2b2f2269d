#include "compiler/meaning/analysis_text.h"

#include <algorithm>
#include <map>

#include "compiler/text/declarator.h"

namespace tasuki::cc {
namespace {

// Interchange and extended types of ISO/IEC TS 18661-3, which gcc has built in and glibc's headers use.
const char* like_type(std::string_view word) {
  if (word == "_Float32") return "float";
  if (word == "_Float64" || word == "_Float32x") return "double";
  if (word == "_Float64x") return "long double";
  if (word == "_Float128" || word == "_Float128x") return "__float128";
  return nullptr;
}

// R"x(...)x" as an ordinary string; clang has raw strings in C++ only. Empty for other tokens.
std::string without_rawness(std::string_view literal) {
  const size_t quote = literal.find('"');
  if (quote == std::string_view::npos || quote == 0 || literal[quote - 1] != 'R') return "";
  const size_t open = literal.find('(', quote);
  const size_t length = open - quote;  // of "x( less one, and of )x" less one
  if (open == std::string_view::npos || literal.size() < open + 1 + length + 1) return "";
  std::string result(literal.substr(0, quote - 1));
  result += '"';
  for (char c : literal.substr(open + 1, literal.size() - open - 2 - length)) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + '"';
}

}  // namespace

AnalysisText::AnalysisText(const Text& text, const DlmTokens& dlm, const Neutral& neutral,
                           const std::set<std::string>& unknown) {
  std::map<size_t, std::string> before = neutral.before;  // token -> what to put in front of it
  std::map<size_t, std::string> instead = neutral.instead;
  const std::map<size_t, std::string>& after = neutral.after;
  for (size_t n = 0; n < dlm.specifiers.size(); n++) {
    const size_t token = dlm.specifiers[n];
    const std::string attribute = " __attribute__((annotate(\"dlm:" + std::to_string(n) + "\"))) ";
    // Behind the brace of a struct an attribute would be the type's.
    const size_t previous = text.previous(token);
    const size_t tag = text.is(previous, "}") ? tag_begin(text, previous) : kNone;
    if (tag != kNone) before[tag] += attribute;
    instead[token] = tag != kNone ? " " : attribute;
  }
  for (size_t i = 0; i < text.tokens().size(); i++) {
    if (text.tokens()[i].kind == TokenKind::string) {
      std::string ordinary = without_rawness(text.spelling(i));
      if (!ordinary.empty()) instead[i] = std::move(ordinary);
    }
    if (!text.is_word(i)) continue;
    const std::string_view word = text.spelling(i);
    if (word[0] != '_') continue;
    if (const char* type = like_type(word)) instead[i] = type;
    if (unknown.contains(std::string(word))) instead[i] = "tasuki" + std::string(word);
  }

  size_t done = 0;
  std::vector<size_t> places;
  for (const auto& [token, what] : after) places.push_back(token);
  for (const auto& [token, what] : before) places.push_back(token);
  for (const auto& [token, what] : instead) places.push_back(token);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  for (size_t token : places) {
    copy(text, done, text.begin_of(token));
    done = text.begin_of(token);
    if (before.contains(token)) put(before[token], done);
    if (instead.contains(token)) {
      put(instead[token], done);
      done = text.end_of(token);
    }
    if (after.contains(token)) {
      copy(text, done, text.end_of(token));
      done = text.end_of(token);
      put(after.at(token), done);
    }
  }
  copy(text, done, text.bytes().size());
}

void AnalysisText::copy(const Text& text, size_t begin, size_t end) {
  pieces_.push_back({bytes_.size(), begin, true});
  bytes_.append(text.bytes(), begin, end - begin);
}

void AnalysisText::put(const std::string& instead, size_t original) {
  pieces_.push_back({bytes_.size(), original, false});
  bytes_ += instead;
}

size_t AnalysisText::original(size_t offset) const {
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                       [](size_t wanted, const Piece& piece) { return wanted < piece.offset; });
  const Piece& piece = *(after - 1);
  return piece.copied ? piece.original + (offset - piece.offset) : piece.original;
}

}  // namespace tasuki::cc
