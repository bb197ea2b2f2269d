// What stands behind `on` and `from`, as a struct tasuki_xmp_on:
//
//     on t(1:n, *)        &(const struct __tasuki_xmp_on){&__tasuki_template_t, (..[]){{1, n, 1}, {0, 0, 0}}}
//     on p[2]             &(const struct __tasuki_xmp_on){&__tasuki_nodes_p, (..[]){{2, 1, 1}}}
#pragma once

#include <set>
#include <string>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

// A node array or template that a directive refers to.
struct NodeSpace {
  const NodeArray* nodes = nullptr;
  const Template* template_ = nullptr;

  explicit operator bool() const { return nodes != nullptr || template_ != nullptr; }
  int dimensions() const { return nodes != nullptr ? nodes->dimensions() : template_->dimensions(); }
  bool is_distributed(int dimension) const {
    return nodes != nullptr || template_->format(dimension) != Format::duplicated;
  }
  std::string record() const {
    return nodes != nullptr ? "__tasuki_nodes_" + nodes->name : template_->record();
  }
  // What a subscript in parentheses has to be lowered by: nodes are counted from 1 there.
  bool from_one(const NodesReference& r) const { return nodes != nullptr && !r.brackets; }
};

// Nothing after an error, which is reported.
NodeSpace find_space(const Unit& in, const NodesReference& r);

// A pointer to the set. Of the dimensions in `open` it has all.
std::string node_set(const Unit& in, const NodeSpace& space, const NodesReference& r,
                     const std::set<int>& open = {});

// [lower:length:stride] of a distributed array, or one subscript.
std::string array_triplet(const Unit& in, size_t open);

inline constexpr const char* kOpen = "(-0x7fffffffffffffffLL - 1)";  // TASUKI_XMP_OPEN

}  // namespace tasuki::cc
