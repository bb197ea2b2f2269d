// `#pragma xmp` as tokens. The preprocessor's output keeps such a line as it is; its arguments are
// expressions with coarrays in them, so the line becomes words that end with a semicolon, and all later
// stages read them as any others:
//
//     #pragma xmp lock(l:[2]) stat(s)        __tasuki_directive lock(l:[2]) stat(s);
#pragma once

#include <string>
#include <vector>

#include "compiler/directives/reader.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/text.h"

namespace tasuki::cc {

inline constexpr const char* kDirectiveWord = "__tasuki_directive";

bool has_directives(const Text& text);

// What stands behind the directives' names, one for each in order; and the text with other ones there.
std::vector<std::string> directive_arguments(const Text& text);
std::string with_directive_arguments(const Text& text, const std::vector<std::string>& arguments);

// The text with directives as words. Those that are unknown, or not supported, are errors at their lines.
std::string directives_as_words(const Text& text, Diagnostics* diagnostics);

// Of the local view; those of the global view are in global_view.h.
enum class DirectiveKind { nonblock, wait_nonblock, post, wait, lock, unlock, nodes, coarray, image };

struct Directive {
  DirectiveKind kind;
  size_t word;  // __tasuki_directive
  size_t name;
  size_t end;                 // its semicolon
  bool option = false;        // (remote), (local)
  NodesReference nodes = {};  // of post, wait, coarray, image; the declared one of nodes
  NodesReference whole = {};  // nodes q(2) = p(3:4)
  std::string origin = {};    // nodes p(4) = "*", "**"
  TokenRange tag = {}, lock = {}, acquired = {}, status = {};
  std::vector<size_t> objects = {};  // the names behind coarray on p ::

  bool has_block() const { return kind == DirectiveKind::nonblock || kind == DirectiveKind::image; }
  bool declares() const { return kind == DirectiveKind::nodes || kind == DirectiveKind::coarray; }
  // Those of its tokens that are expressions of C.
  std::vector<TokenRange> expressions() const;
};

// The directive whose first word is at `word`; errors are reported, and the result is false.
bool read_directive(const Text& text, size_t word, Directive* directive, Diagnostics* diagnostics);

}  // namespace tasuki::cc
