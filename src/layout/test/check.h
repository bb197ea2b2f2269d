// One random case: two type trees from the same choices, all properties and movers against the byte map.
#pragma once

#include <cstdint>
#include <string>

#include "layout/test/type_tree.h"

namespace tasuki::layout::testing {

// What was wrong, with the types in words; empty when all was right. `limit` bounds the bytes of a type,
// `threads` lets several threads copy the parts. The first takes patterns
// of applications, the second any trees.
std::string check_patterns(Choices& choices, bool threads);
std::string check_case(Choices& choices, uint64_t limit, bool threads);

}  // namespace tasuki::layout::testing
