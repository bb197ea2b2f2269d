// Texts that are lists of words.
#pragma once

#include <algorithm>
#include <string_view>

namespace tasuki {

// The text before the first separator; *rest is what comes behind it.
inline std::string_view take_word(std::string_view* rest, char separator) {
  const std::string_view word = rest->substr(0, rest->find(separator));
  rest->remove_prefix(std::min(word.size() + 1, rest->size()));
  return word;
}

}  // namespace tasuki
