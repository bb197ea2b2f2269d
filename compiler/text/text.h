// The text of one translation unit after the preprocessor, as tokens, and where each piece of it stands in
// the user's files. All later stages speak of tokens by index and of places by offset in this text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tasuki::cc {

enum class TokenKind : uint8_t { word, number, string, character, punctuator, directive };

inline constexpr size_t kNone = static_cast<size_t>(-1);

struct Token {
  uint32_t offset;
  uint32_t length;
  uint32_t match;  // of ( [ { ) ] }: the index of the partner; otherwise the own index
  TokenKind kind;
};

// Where a piece of text comes from, by the line markers of the preprocessor.
struct Place {
  std::string file;
  unsigned line = 0;
  bool system = false;  // in a header that the compiler counts as the system's
};

class Text {
 public:
  explicit Text(std::string bytes);

  const std::string& bytes() const { return bytes_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  std::string_view spelling(size_t token) const {
    return std::string_view(bytes_).substr(tokens_[token].offset, tokens_[token].length);
  }
  size_t begin_of(size_t token) const { return tokens_[token].offset; }
  size_t end_of(size_t token) const { return tokens_[token].offset + tokens_[token].length; }
  bool is_word(size_t token) const {
    return token < tokens_.size() && tokens_[token].kind == TokenKind::word;
  }
  // Is it this keyword or punctuator? Digraphs count as what they stand for. False behind the last token, and
  // for kNone.
  bool is(size_t token, std::string_view what) const;
  template <typename... What>
  bool is_any(size_t token, What... what) const {
    return (is(token, what) || ...);
  }
  // Is it = or one of its kin, such as +=?
  bool is_assignment(size_t token) const;
  // Can an operand end with it? Then a & or ++ behind it is no prefix.
  bool ends_operand(size_t token) const;

  // The neighbours that are no directives; kNone at the ends.
  size_t next(size_t token) const;
  size_t previous(size_t token) const;
  // This token, or the first behind it that is no directive; behind the last one, their number.
  size_t skip_directives(size_t token) const;

  // The token that starts at `offset`; kNone if none does. The first token at or behind it.
  size_t token_at(size_t offset) const;
  size_t first_from(size_t offset) const;

  Place place(size_t offset) const;
  // The column, counted from 1, in the user's own line; 0 if the text at `offset` does not stand there (it
  // comes out of a macro, or the file cannot be read). *line is the user's line, empty then.
  unsigned column(size_t offset, std::string* line) const;

 private:
  struct Mark {
    size_t offset;  // of the first line that it describes
    size_t file;    // index into files_
    unsigned line;
    bool system;
  };
  void read_tokens();
  void read_marker(std::string_view directive, size_t next_line);
  void match_brackets();
  const Mark& mark(size_t offset) const;
  std::string word_in_directive(size_t offset, unsigned* before) const;
  unsigned count_before(size_t token) const;

  std::string bytes_;
  std::vector<Token> tokens_;
  std::vector<std::string> files_;
  std::vector<Mark> marks_;
};

bool is_word_character(char c);

// A path or text as a C string literal.
std::string quoted(std::string_view text);

}  // namespace tasuki::cc
