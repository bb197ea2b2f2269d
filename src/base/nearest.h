// What a user may have meant by a word that nothing knows.
#pragma once

#include <span>
#include <string_view>

namespace tasuki {

// Letters to insert, remove, replace or swap with their neighbour to make one word of the other.
int distance(std::string_view a, std::string_view b);

// The word of `known` that `word` is a slip of the keyboard away from, or whose beginning it is; empty if
// there is none.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace tasuki
