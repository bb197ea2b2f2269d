// Layouts from text: a C-like expression for humans, tests and command lines, e.g.
//
//   vector(128, 1, 16, double)                  count, block length, stride in elements, type
//   hvector(128, 1, 4096, double)               stride in bytes
//   contiguous(3, float), float[3]
//   indexed([1, 2], [0, 5], int)                block lengths, displacements in elements; hindexed: in bytes
//   indexed_block(3, [0, 12], float)            block length, displacements; hindexed_block: in bytes
//   subarray([10, 20], [3, 4], [1, 2], float)   sizes, subsizes, starts; a fifth argument F: Fortran order
//   resized(-8, 64, double)                     lower bound, extent
//   struct{int[3]@0; vector(4, 2, 8, double)@16}  members at byte displacements; without @ as C places them
//
// Basic types: the C names and the MPI names (double, MPI_DOUBLE, int64, complex, ...). Numbers are integers
// with + - * and parentheses. As with MPI, a struct's extent is rounded up to its alignment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "layout/layout.h"

namespace tasuki::layout {

// A new reference. An error's text begins with "column N: " (from 1); *column is then N.
Result<const Layout*> parse(std::string_view text, size_t* column);

// ---- the communication patterns of applications (DDTBench), with the sizes as parameters
struct NamedPattern {
  const char* name;
  const char* parameters;  // e.g. "nx ny nz"
  const char* defaults;    // the sizes of the benchmark's middle row
};
extern const NamedPattern kPatterns[];
extern const size_t kPatternCount;
const NamedPattern* find_pattern(std::string_view name);  // ignores case; nullptr if there is none

struct PatternExpressions {
  std::string send, receive;  // relative to the first array of the sender's and of the receiver's memory
};
// `sizes`: as many as `parameters` has words, or none for the defaults.
Result<PatternExpressions> pattern_expressions(const NamedPattern& pattern,
                                               const std::vector<int64_t>& sizes);

// ---- what copying a layout costs, as the message layer sees it
enum class CostClass { empty, dense, large_blocks, small_blocks, finely_scattered };
const char* name_of(CostClass c);
struct Cost {
  CostClass cost_class;
  std::string reason;
};
Cost cost_of(const Layout* l);

}  // namespace tasuki::layout
