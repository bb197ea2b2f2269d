// Directives of the global view (XcalableMP 1.4, chapter 4), taken apart:
//
//     #pragma xmp align a[i][j] with t(j, i+1)       what: a; sources: i, j; on: t with the subscripts j and i+1
//     #pragma xmp loop (i) on t(i) reduction(+:s)    indices: i; on: t with the subscript i; reductions: + of s
//
// Nothing here knows what the names are; that is global_names.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/directives/reader.h"

namespace tasuki::cc {

enum class GlobalKind {
  template_,
  distribute,
  template_fix,
  align,
  shadow,
  loop,
  task,
  tasks,
  array,
  reflect,
  reflect_init,
  reflect_do,
  reduce_shadow,
  gmove,
  reduction,
  bcast,
  barrier,
  wait_async,
  local_alias
};

// Of a dimension of a template, as enum tasuki_xmp_format counts them.
enum class Format { duplicated, block, cyclic, gblock };

struct Distribution {
  Format format = Format::duplicated;
  TokenRange width;   // of block and cyclic; empty: as the dimension's size says, and 1
  TokenRange blocks;  // of gblock: the array of their sizes; empty: gblock(*)
};

// shadow [1:2], width(/periodic/1), expand(/unbound/1:0), margin(..)
struct Width {
  TokenRange below, above;  // alike where one number is written
  bool full = false;        // *
  bool modified = false;    // /periodic/, /unbound/
};

struct Reduction {
  std::string operation;  // +, max, firstmax, ..
  struct Variable {
    TokenRange variable;
    std::vector<TokenRange> locations;
  };
  std::vector<Variable> variables;
};

struct GlobalDirective {
  GlobalKind kind;
  size_t word = kNone;  // __tasuki_directive
  size_t name = kNone;
  size_t end = kNone;  // its semicolon
  // The declared template; that which is distributed, fixed, or stands behind `with` or `on`; a node array there.
  NodesReference on = {};
  bool has_on = false;
  std::vector<Distribution> formats = {};  // the dimension that varies fastest first
  size_t onto = kNone;                     // the node array's name
  size_t what = kNone;                     // the array of align and shadow; the pointer of local_alias
  std::vector<size_t> sources = {};        // of align: a word, * or :, in the order of C
  std::vector<Width> widths = {};          // shadow: in the order of C; loop: as in `on`
  bool is_margin = false, has_widths = false;
  std::vector<size_t> indices = {};  // of loop
  std::vector<Reduction> reductions = {};
  std::vector<TokenRange> variables = {};  // of bcast, reflect and kin, reduce_shadow; numbers of wait_async
  NodesReference from = {};                // of bcast; the array of local_alias
  bool has_from = false;
  TokenRange async = {};
  bool in = false, out = false, orthogonal = false, no_communication = false, on_device = false;
  std::vector<size_t> device_names = {};  // gmove acc(a): only these are on the device
  size_t from_device = kNone;             // of bcast

  bool in_function = false;
  size_t body = kNone;  // between a function's parameters and its body: the body's "{"

  // Its expressions of C, those with indices of loops aside: numbers, and variables and arrays.
  std::vector<TokenRange> numbers() const;
  std::vector<TokenRange> objects() const;
  // Does the statement behind it belong to it?
  bool has_block() const;
  // It declares something, and stands where declarations do.
  bool declares() const { return kind <= GlobalKind::shadow && kind != GlobalKind::template_fix; }
};

bool is_global_directive(std::string_view name);

// Those that the words at `word` are: none after an error, which is reported.
std::vector<GlobalDirective> read_global_directive(const Text& text, size_t word, Diagnostics* diagnostics);

}  // namespace tasuki::cc
