// What texts of the benchmarks are made with.
#pragma once

#include <string>
#include <vector>

namespace tasuki::bench {

// At the end of `out`, at most 1023 characters.
[[gnu::format(printf, 2, 3)]] void append(std::string* out, const char* format, ...);
// With a blank between two.
std::string joined(const std::vector<std::string>& words);

}  // namespace tasuki::bench
