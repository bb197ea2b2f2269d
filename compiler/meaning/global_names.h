// What the names in directives of the global view mean, and whether what a directive says of them fits:
//
//     #pragma xmp nodes p(2,4)                       NodeArray
//     #pragma xmp template t(0:M-1,0:N-1)            Template: two dimensions, ..
//     #pragma xmp distribute t(*,block) onto p       .. the second in blocks
//     double a[N][M];
//     #pragma xmp align a[i][j] with t(j,i)          DistributedArray: dimension 0 with t's 1, and 1 with 0
//
// Names are seen from their directive to the end of the block around it, as those of C are. Dimensions of
// node arrays and templates are counted from the one that varies fastest, those of arrays as C writes them.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "compiler/directives/global_view.h"
#include "compiler/meaning/analysis.h"
#include "compiler/tokens/xmp_directive.h"

namespace tasuki::cc {

// i, i+1, i-k, 1+i: a variable, and what is added to it.
struct Shifted {
  size_t variable = kNone;
  TokenRange before;  // without the + behind it
  TokenRange after;   // with its sign
};
bool read_shifted(const Text& text, const TokenRange& range, const std::function<bool(size_t)>& is_variable,
                  Shifted* result);
// The number that is added.
std::string shift_of(const Unit& in, const Shifted& shifted);

struct NodeArray {
  const Directive* directive;
  TokenRange scope;
  std::string name;
  int dimensions() const { return static_cast<int>(directive->nodes.subscripts.size()); }
};

struct Template {
  const TemplateDirective* declared;
  TokenRange scope;
  std::string name;
  const DistributeDirective* distributed = nullptr;  // none: every node has all of it
  const NodeArray* onto = nullptr;

  int dimensions() const { return static_cast<int>(declared->shape.subscripts.size()); }
  Format format(int dimension) const;
  int nodes(int dimension) const;  // the dimension of the node array; -1: none
  bool fixed() const;              // from the beginning
  std::string record() const { return "__tasuki_template_" + name; }
};

struct DistributedArray {
  enum class Kind { array, pointer, parameter };

  std::string name;
  Kind kind = Kind::array;
  const Declaration* declaration = nullptr;  // the one that the align directive speaks of
  const AlignDirective* align = nullptr;
  const ShadowDirective* shadow = nullptr;
  const Template* template_ = nullptr;
  struct Dimension {
    int with = -1;  // dimension of the template
    Shifted offset = {};
  };
  std::vector<Dimension> dimensions = {};
  std::vector<TokenRange> one =
      {};  // by dimension of the template: the one element that it is with; empty: all
  std::vector<bool> shadowed = {};  // by dimension: more than its own elements may be in memory

  bool of_file() const { return declaration->function == kNone && kind != Kind::parameter; }
  int rank() const { return static_cast<int>(dimensions.size()); }
  // All of the dimension is in every node's memory, and nothing else.
  bool is_whole(int dimension) const {
    return format(dimension) == Format::duplicated && !shadowed[static_cast<size_t>(dimension)];
  }
  Format format(int dimension) const {
    const int with = dimensions[static_cast<size_t>(dimension)].with;
    return with < 0 ? Format::duplicated : template_->format(with);
  }
  // An lvalue of its type, for sizeof and typeof only.
  std::string typed() const { return kind == Kind::array ? "(*__xmp_" + name + ")" : name; }
  // The type of what is left behind `subscripts` subscripts.
  std::string part(int subscripts) const;
  std::string element_type() const { return "__typeof__(" + part(rank()) + ")"; }
  std::string record() const { return "__xmp_record_" + name; }
};

struct GlobalNames {
  std::deque<NodeArray> nodes;
  std::deque<Template> templates;
  std::deque<DistributedArray> arrays;

  // What a name means at a token; nullptr if there is no such thing there.
  const NodeArray* find_nodes(std::string_view name, size_t token) const;
  const Template* find_template(std::string_view name, size_t token) const;
  // The array that this word stands for; kNone.
  size_t find_array(const Text& text, const Analysis& analysis, size_t token) const;
};

GlobalNames find_global_names(const Unit& in);

}  // namespace tasuki::cc
