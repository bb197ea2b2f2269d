// The coarray directive: which coarrays it speaks of, and where.
#include <algorithm>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {
namespace {

// The "{" of the block that holds a token; kNone at file scope.
size_t block_around(const Text& text, size_t token) {
  for (size_t i = token; i-- > 0;) {
    const size_t match = text.tokens()[i].match;
    if (match < i)
      i = match;  // passed over
    else if (text.is(i, "{") && match > token)
      return i;
  }
  return kNone;
}

class Finder {
 public:
  explicit Finder(Unit* unit)
      : text_(unit->text), analysis_(unit->analysis), names_(unit->names), diagnostics_(unit->diagnostics) {}

  void add(const Directive& d) {
    const size_t block = block_around(text_, d.word);
    const size_t end = block == kNone ? text_.tokens().size() : text_.tokens()[block].match;
    for (size_t name : d.objects) {
      const Declaration* declaration = declared_in(block, name);
      if (declaration == nullptr) continue;
      const auto same = [&](const OnNodes& known) {
        return known.entity == declaration->entity && known.scope.last == end;
      };
      if (std::any_of(names_.on_nodes.begin(), names_.on_nodes.end(), same))
        error(name, "the images of '" + declaration->name + "' are counted by a coarray directive already",
              "name it once");
      else
        names_.on_nodes.push_back({&d, declaration->entity, {d.end, end}});
    }
  }

 private:
  void error(size_t token, const std::string& what, const std::string& advice) {
    diagnostics_.error(text_.begin_of(token), what, advice);
  }

  // Is this the block that a declaration stands in? Parameters are in that of their function.
  bool stands_in(const Declaration& d, size_t block) const {
    if (d.what != Declares::parameter) return block_around(text_, text_.token_at(d.offset)) == block;
    return block != kNone &&
           std::any_of(analysis_.functions.begin(), analysis_.functions.end(), [&](const Function& f) {
             return f.extent.holds(d.offset) && f.body.begin == text_.begin_of(block);
           });
  }

  const Declaration* declared_in(size_t block, size_t name) {
    const std::string spelling(text_.spelling(name));
    const Declaration* meant = analysis_.find(spelling, text_.begin_of(name));
    if (meant == nullptr || !names_.codimensions.contains(meant->entity)) {
      error(name, "'" + spelling + "' is not a coarray", "name coarrays that are declared before");
      return nullptr;
    }
    for (const Declaration& d : analysis_.declarations)
      if (d.entity == meant->entity && d.offset < text_.begin_of(name) && stands_in(d, block)) return &d;
    error(name, "'" + spelling + "' is declared in another block",
          "write the directive behind the declaration, in the same block");
    return nullptr;
  }

  const Text& text_;
  const Analysis& analysis_;
  CoarrayNames& names_;
  Diagnostics& diagnostics_;
};

}  // namespace

void find_on_nodes(Unit* unit) {
  Finder finder(unit);
  for (const Directive& d : unit->tokens.directives)
    if (d.kind == DirectiveKind::coarray) finder.add(d);
}

}  // namespace tasuki::cc
