// What the names of a translation unit mean, found with libclang. The text handed to it is that of the user
// with each `dlm` replaced by an attribute, and coarrays by C that means them; all that comes back is in
// tokens and offsets of the user's text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/text/text.h"

namespace tasuki::cc {

struct Unit;

// A range of offsets.
struct Range {
  size_t begin = 0, end = 0;
  bool holds(size_t offset) const { return offset >= begin && offset < end; }
};

enum class Declares { variable, parameter, field, type, function, constant, other };
enum class Shape { array, variable_array, pointer, other };

// A declaration of any name. `entity` is the same number for all declarations of one thing: the offset of the
// first.
struct Declaration {
  std::string name;
  Declares what = Declares::other;
  size_t offset = 0;  // of the name
  size_t begin = 0;   // of its specifiers
  size_t entity = 0;
  Range scope;                  // where the name can be seen, from `offset` on
  std::vector<size_t> dlm;      // indices into DlmTokens::specifiers of what marks it
  size_t function = kNone;      // inside this function's body; index into Analysis::functions
  bool global_storage = false;  // lives as long as the program
  bool thread_local_storage = false;
  bool is_const = false;  // itself, or as an array its elements
  Shape shape = Shape::other;
  long long count = -1;  // of an array: its elements; -1: not known at this declaration
  int rank = 0;          // of an array: its dimensions; of a pointer: one more than what it points to has
  long long bytes = -1;  // of a variable; -1: not known
  Range initialiser;     // empty without one
};

struct Function {
  std::string name;
  Range extent;
  Range body;
};

// A top-level piece of the text with something that libclang does not take.
struct Broken {
  size_t end = 0;
  std::string message;   // the first
  bool misread = false;  // declarations may be lost; otherwise only expressions are
};

// The type of an expression, before it decays or is converted.
struct ExpressionType {
  Shape shape = Shape::other;
  long long count = -1;  // of an array: its elements; -1: not known
  std::string name;      // canonical, without const and volatile of its own; of a parameter as it is declared
  bool decayed =
      false;  // a parameter that is declared as an array: a pointer, but `count` and `name` tell of the array
};

struct Analysis {
  std::vector<Declaration> declarations;
  std::vector<Function> functions;
  std::map<size_t, size_t> references;  // offset of a name in an expression -> its entity
  std::map<size_t, bool> other_names;   // offsets of members, labels and tags
  std::set<size_t> bit_fields;          // offsets of members in expressions that are such
  std::vector<Range> unevaluated;       // operands of sizeof and its kin
  std::vector<Range> compound_literals;
  std::map<size_t, Broken> broken;  // by the begin of the piece
  std::map<size_t, bool> blocks;    // offsets of the "{" of compound statements
  // Of the expressions in a text with coarrays, by their ranges.
  std::map<std::pair<size_t, size_t>, ExpressionType> types;

  // The declaration that a plain name at this place means; nullptr if it has none.
  const Declaration* find(std::string_view name, size_t offset) const;
  // The function whose body holds the offset; kNone for none.
  size_t function_at(size_t offset) const;
  // Why what libclang says about this place cannot be relied on; nullptr if it can.
  const Broken* broken_at(size_t offset) const;
  bool is_unevaluated(size_t offset) const;
};

// Fills in unit->analysis, from its text, dlm specifiers or neutral text, and options. False if libclang
// cannot be used at all; the reason is printed then.
bool analyse(Unit* unit);

}  // namespace tasuki::cc
