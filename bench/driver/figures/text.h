// What texts of the benchmarks are made with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tasuki::bench {

// At the end of `out`, at most 1023 characters.
[[gnu::format(printf, 2, 3)]] void append(std::string* out, const char* format, ...);
// Bytes, blocks and whatever a table counts. 4096: "4Ki", 3145728: "3Mi"; other numbers than whole units in
// digits.
std::string readable(uint64_t n);
// A quotient: two decimals, more of one that would else be 0.00.
std::string ratio_text(double value);
// With a blank between two.
std::string joined(const std::vector<std::string>& words);

}  // namespace tasuki::bench
