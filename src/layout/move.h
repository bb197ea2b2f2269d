// Movers: between a node at an address and a dense buffer, or between two nodes of the same shape.
#pragma once

#include "layout/kernels.h"
#include "layout/layout_impl.h"

namespace tasuki::layout {

enum class Direction { pack, unpack };

// All of `node`, whose first packed byte is at `memory`: its packed bytes [from, from + n).
template <Direction direction>
void move_range(const Node& node, char* memory, char* dense, uint64_t from, uint64_t n);

// Packed bytes [from, from + n) of one node to another one of the same shape.
void copy_range(const Node& to, char* to_memory, const Node& from, char* from_memory, uint64_t first,
                uint64_t n);

}  // namespace tasuki::layout
