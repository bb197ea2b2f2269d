#include "base/nearest.h"

#include <algorithm>
#include <climits>
#include <vector>

namespace tasuki {

int distance(std::string_view a, std::string_view b) {
  // Rows of the table of distances between beginnings of a and of b: this one, the one before, the one before
  // that.
  std::vector<int> row(b.size() + 1), above(b.size() + 1), two_above;
  for (size_t j = 0; j <= b.size(); j++) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); i++) {
    two_above = above;
    above = row;
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  int least = INT_MAX;
  for (const std::string_view k : known) {
    const bool begins = word.size() >= 3 && k.substr(0, word.size()) == word;
    const int d = begins ? 1 : distance(word, k);
    // Of short words every other one is near.
    if (d > 1 + static_cast<int>(std::min(word.size(), k.size())) / 5 || d >= static_cast<int>(word.size()))
      continue;
    if (d < least) least = d, best = k;
  }
  return best;
}

}  // namespace tasuki
