// Declarations as runs of tokens: what libclang does not tell, but a change of the text needs.
#pragma once

#include <string>
#include <vector>

#include "compiler/text/text.h"

namespace tasuki::cc {

// __attribute__((...)), asm("..."), typeof(...) ...: a keyword with its parentheses.
struct Group {
  size_t keyword;
  size_t close;  // its last ")"
};

bool is_attribute(const Text& text, size_t token);  // the keyword __attribute__, in both spellings
bool is_asm(const Text& text, size_t token);

// The keyword before the parentheses that end at `close`, if they belong to a declaration's specifiers or
// attributes; kNone otherwise.
size_t group_keyword(const Text& text, size_t close);

// For the "}" of a struct, union or enum: the token of that keyword; kNone for other braces.
size_t tag_begin(const Text& text, size_t close);

// The first token of the declaration whose specifiers the token belongs to.
size_t declaration_begin(const Text& text, size_t token);

// One declared name, from the first "*" or "(" before it to what ends it:
//
//     static double *const a[3][N] __attribute__((x)) = {...}, b;
//                   ^first ^name ^open   ^attributes   ^equals ^end
struct Declarator {
  size_t first;
  size_t name;
  size_t open = kNone;  // the name's own "[", and its partner; kNone if the array comes from a typedef
  size_t close = kNone;
  std::vector<Group> attributes = {};  // behind the name
  size_t asm_label = kNone;            // the keyword
  size_t equals = kNone;               // before the initialiser
  size_t end = kNone;                  // "," or ";", or what else follows
  // The first token that is no more part of the declarator itself: "=" or `end`.
  size_t stop() const { return equals != kNone ? equals : end; }
};

Declarator declarator_of(const Text& text, size_t name);

// What stands before the first declarator of a declaration.
struct Specifiers {
  size_t begin;  // the first token
  size_t end;    // the first token of the first declarator
  bool is_extern = false, is_static = false, is_typedef = false, is_thread = false;
  std::vector<Group> attributes = {};
  std::vector<Group> alignments = {};  // _Alignas(...)
};

// Of the declaration that has `token` among them and declares `first_name` first.
Specifiers specifiers_of(const Text& text, size_t token, size_t first_name);

// One attribute of an __attribute__((...)) list.
struct Attribute {
  std::string name;  // without underscores around it
  size_t begin;      // its tokens: [begin, end)
  size_t end;
  std::string argument;  // the text in its parentheses, on one line; empty if it has none
};

std::vector<Attribute> attributes_in(const Text& text, const Group& group);

// The tokens [first, last) on one line, without directives.
std::string joined(const Text& text, size_t first, size_t last);

}  // namespace tasuki::cc
