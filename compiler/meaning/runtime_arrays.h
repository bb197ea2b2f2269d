// The arrays of a translation unit that live in memory of the runtime, dlm arrays or coarrays: their
// declarations, checked, every place that uses one, and what else their addresses reach before the program
// starts. What cannot be had is reported here, at the user's own line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/meaning/analysis.h"
#include "compiler/text/declarator.h"
#include "compiler/text/text.h"
#include "compiler/tokens/coarray.h"

namespace tasuki::cc {

struct ArrayDeclaration {
  Declarator declarator;
  const Declaration* what = nullptr;
  bool is_extern = false;      // the specifier is there
  bool is_definition = false;  // tentative ones too
  bool initialised = false;
  bool computed = false;  // the initialiser holds an address that is known at run time only
  // Tokens that must not stay: alignments, which are the array's, not its pointer's; codimensions.
  std::vector<size_t> blanks = {};
};

struct Array {
  std::string name;
  bool block_scope = false;  // static in a function
  std::vector<ArrayDeclaration> declarations = {};
  std::vector<std::string> alignments = {};  // constant expressions
};

struct Use {
  size_t token;
  size_t array;     // index into RuntimeArrays::arrays
  size_t function;  // index into Analysis::functions; kNone outside
};

// An ordinary static variable whose initialiser holds the address of a dlm array.
struct LateVariable {
  const Declaration* what;
  Declarator declarator;
  std::vector<size_t> blanks = {};  // its top-level const
};

// What kind of arrays a text has; one has not both.
enum class ArrayKind { dlm, coarray };

struct RuntimeArrays {
  ArrayKind kind = ArrayKind::dlm;
  std::vector<Array> arrays;
  std::vector<Use> uses;
  std::vector<LateVariable> late;

  std::string noun() const { return kind == ArrayKind::dlm ? "dlm array" : "coarray"; }
  size_t find(size_t entity) const;  // index of the array of this entity; kNone
  std::vector<size_t> entities;      // of arrays[i]
};

// coarray on p :: a: within `scope` the images of `a` are counted in p.
struct OnNodes {
  const Directive* directive;
  size_t entity;
  TokenRange scope;  // tokens
};

// What else may be referred to in other images, by entity: pointers to coarrays, and parameters that are.
struct CoarrayNames {
  std::map<size_t, const Coindex*> codimensions;  // of coarrays, too
  std::vector<OnNodes> on_nodes = {};
};

// Fill in unit->arrays: of coarrays those that live as long as the program. The names of all coarrays, and of
// pointers and parameters that are such, go to unit->names.
void find_dlm_arrays(Unit* unit);
void find_coarrays(Unit* unit);

// The coarrays that directives name, each declared in the same block: unit->names.on_nodes.
void find_on_nodes(Unit* unit);

}  // namespace tasuki::cc
