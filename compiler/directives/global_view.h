// Directives of the global view (XcalableMP 1.4, chapter 4), taken apart:
//
//     #pragma xmp align a[i][j] with t(j, i+1)       array: a; sources: i, j; with: t, subscripts j and i+1
//     #pragma xmp loop (i) on t(i) reduction(+:s)    indices: i; on: t with the subscript i; reductions: + of s
//
// Each kind has a structure of its own. Nothing here knows what the names are; that is global_names.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/directives/reader.h"

namespace tasuki::cc {

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

// Where a directive stands: tokens.
struct DirectivePlace {
  size_t word = kNone;  // __tasuki_directive
  size_t name = kNone;
  size_t end = kNone;  // its semicolon
  bool in_function = false;
  size_t body = kNone;  // between a function's parameters and its body: the body's "{"
};

struct TemplateDirective : DirectivePlace {
  NodesReference shape = {};
};

struct DistributeDirective : DirectivePlace {
  size_t template_ = kNone;                // its name
  std::vector<Distribution> formats = {};  // the dimension that varies fastest first
  size_t onto = kNone;                     // the node array's name
};

struct TemplateFixDirective : DirectivePlace {
  NodesReference shape = {};
  std::vector<Distribution> formats = {};  // as in distribute
};

struct AlignDirective : DirectivePlace {
  size_t array = kNone;
  std::vector<size_t> sources = {};  // a word, * or :, in the order of C
  NodesReference with = {};
};

struct ShadowDirective : DirectivePlace {
  size_t array = kNone;
  std::vector<Width> widths = {};  // in the order of C
};

// Where `on` may stand, and nothing or * stands: the executing nodes.
struct LoopDirective : DirectivePlace {
  std::vector<size_t> indices = {};
  std::optional<NodesReference> on = {};
  std::vector<Width> widths = {};  // as in `on`
  bool is_margin = false;          // expand otherwise
  std::vector<Reduction> reductions = {};
  bool no_communication = false, on_device = false;
};

struct TaskDirective : DirectivePlace {
  std::optional<NodesReference> on = {};
  bool no_communication = false;
};

struct TasksDirective : DirectivePlace {};

struct ArrayDirective : DirectivePlace {
  std::optional<NodesReference> on = {};
  bool no_communication = false;
};

enum class ShadowExchange { reflect, reflect_init, reflect_do, reduce_shadow };
struct ReflectDirective : DirectivePlace {
  ShadowExchange what = ShadowExchange::reflect;
  std::vector<TokenRange> variables = {};
  std::vector<Width> widths = {};
  bool orthogonal = false;
  TokenRange async = {};
  bool on_device = false;
};

struct GmoveDirective : DirectivePlace {
  bool in = false, out = false;
  TokenRange async = {};
  bool on_device = false;
  std::vector<size_t> device_names = {};  // acc(a): only these are on the device
};

struct ReductionDirective : DirectivePlace {
  std::vector<Reduction> reductions = {};
  std::optional<NodesReference> on = {};
  TokenRange async = {};
  bool on_device = false;
};

struct BcastDirective : DirectivePlace {
  std::vector<TokenRange> variables = {};
  std::optional<NodesReference> on = {}, from = {};
  TokenRange async = {};
  bool on_device = false;
  size_t from_device = kNone;
};

struct BarrierDirective : DirectivePlace {
  std::optional<NodesReference> on = {};
  bool on_device = false;
};

struct WaitAsyncDirective : DirectivePlace {
  std::vector<TokenRange> ids = {};
  std::optional<NodesReference> on = {};
  bool on_device = false;
};

struct LocalAliasDirective : DirectivePlace {
  size_t pointer = kNone, array = kNone;
};

using GlobalDirective =
    std::variant<TemplateDirective, DistributeDirective, TemplateFixDirective, AlignDirective,
                 ShadowDirective, LoopDirective, TaskDirective, TasksDirective, ArrayDirective,
                 ReflectDirective, GmoveDirective, ReductionDirective, BcastDirective, BarrierDirective,
                 WaitAsyncDirective, LocalAliasDirective>;

const DirectivePlace& place_of(const GlobalDirective& d);

template <typename... Kinds>
bool is_one_of(const GlobalDirective& d) {
  return (std::holds_alternative<Kinds>(d) || ...);
}

// Its expressions of C, those with indices of loops aside: numbers, and variables and arrays.
std::vector<TokenRange> numbers_of(const GlobalDirective& d);
std::vector<TokenRange> objects_of(const GlobalDirective& d);

// Does the statement behind it belong to it?
inline bool has_block(const GlobalDirective& d) {
  return is_one_of<LoopDirective, TaskDirective, TasksDirective, ArrayDirective, GmoveDirective>(d);
}
// Does it declare something? Then it stands where declarations do.
inline bool declares(const GlobalDirective& d) {
  return is_one_of<TemplateDirective, DistributeDirective, AlignDirective, ShadowDirective>(d);
}

bool is_global_directive(std::string_view name);

// What the words at `word` are; nothing after an error, which is reported.
std::optional<GlobalDirective> read_global_directive(const Text& text, size_t word, Diagnostics* diagnostics);

}  // namespace tasuki::cc
