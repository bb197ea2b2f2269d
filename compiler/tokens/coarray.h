// The token pass of XcalableMP C: where a text declares coarrays, refers to other images and speaks of array
// sections. Nothing of this can be C, so no meaning is needed to find it:
//
//     int a[10]:[4][*];             a codimension: the last bracket behind the colon holds a star, or nothing
//     a[i]:[2][n] = 1;              a reference to another image: an expression in each bracket
//     b[0:n] = a[:]:[1][1];         a section: a colon in a bracket that belongs to no "?"
//
// Directives come as words (xmp_directive.h), and what they hold is theirs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/directives/global_view.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/text.h"
#include "compiler/tokens/xmp_directive.h"

namespace tasuki::cc {

// `:[..][..]`
struct Coindex {
  size_t begin;  // of the expression or name before the colon
  size_t colon;
  std::vector<size_t> opens = {};  // its "["
  size_t end = kNone;              // behind its last "]"
  bool declares = false;
};

// `[lower:length:stride]`
struct SectionBracket {
  size_t open;
  size_t colon;
  size_t second_colon = kNone;
};

struct CoarrayTokens {
  std::vector<Coindex> coindices;
  std::map<size_t, SectionBracket> sections;  // by "["
  std::vector<Directive> directives;
  std::vector<GlobalDirective> globals;  // directives of the global view
  std::set<size_t> colons;               // of the coindices
  std::vector<size_t> descriptors;       // the words of xmp_desc_of(name)

  bool empty() const {
    return coindices.empty() && sections.empty() && directives.empty() && globals.empty();
  }
  const Coindex* coindex_at(size_t colon) const;
  bool has_section(size_t first, size_t last) const;  // among the tokens [first, last)
};

CoarrayTokens find_coarray_tokens(const Text& text, Diagnostics* diagnostics);

// The first token of the postfix expression that ends with `last`: of p->x[3], p.
size_t postfix_begin(const Text& text, const CoarrayTokens& tokens, size_t last);

// What replaces tokens so that the text is C again, with the types of one element at the places of the user:
//
//     a[i]:[2] = b[k];              (&a[i])[image(2)] = b[k];
//     a[0:n] = b[1:n:2] * 3;        a[section(0, n)] = b[section(1, n, 2)] * 3;
//
// The user's compiler checks that text, and libclang reads it.
struct Neutral {
  std::map<size_t, std::string> before, instead, after;  // by token
  bool empty() const { return before.empty(); }
};

Neutral neutral_text(const Text& text, const CoarrayTokens& tokens);

}  // namespace tasuki::cc
