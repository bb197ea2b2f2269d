// One operand of a remote reference or an array assignment, a postfix expression such as p->x[i][0:n]:[2],
// taken apart into what the library wants to know: an address in this image, an image, and a length and
// stride for each bracket.
#pragma once

#include <string>
#include <vector>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

struct Operand {
  size_t begin = kNone, end = kNone;  // tokens
  const Coindex* coindex = nullptr;
  const Coindex* codimensions = nullptr;  // as declared
  std::string name;                       // for messages
  const Directive* on_nodes = nullptr;    // the coarray directive that speaks of it
  std::string object;  // an lvalue: the object, or the first element of the section's dimensions
  std::string typed;   // an lvalue of the same type, for sizeof and typeof only
  std::vector<std::string> dimensions = {};  // initialisers; empty without sections
  int rank = 0;                              // sections among them
  long long elements = 1;                    // of all dimensions; -1: known at run time only
  bool called = false;                       // a function is called in it
  bool device = false;                       // in device memory, by host_data
  std::string bit_field;                     // the member that is one; `object` and `typed` are the structure
  bool good = false;                         // else an error has been reported

  std::string element_type() const { return "__typeof__((void)0, " + typed + ")"; }
};

// The operand that begins at this token, as far as it goes. Where only its type counts, it may be an array.
Operand read_operand(const Unit& in, size_t begin, bool only_type = false);

// The first of these tokens that names something that is no constant, nor part of a type or of sizeof; kNone.
size_t variable_in(const Unit& in, const TokenRange& range);

// Where it ends, without errors.
size_t operand_end(const Unit& in, size_t begin);

// Is it in device memory?
bool is_on_device(const Unit& in, size_t first, size_t last);

// How an operand that is an array is written as a section: m[:][:]:[image] for m:[2].
std::string as_section(const Unit& in, size_t first, size_t last, const ExpressionType& type);

// What a coarray directive keeps its node array in.
std::string on_nodes_name(const Directive& coarray);

// The number of the image that a coindex names, as an expression.
std::string image_of(const Unit& in, const Operand& operand);

// An initialiser of struct __tasuki_xmp_section.
std::string section_of(const Unit& in, const Operand& operand);

}  // namespace tasuki::cc
