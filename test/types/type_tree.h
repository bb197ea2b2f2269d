// Random datatypes as data: what MPI is asked to build, and, computed from the standard's definitions alone,
// what it must mean. Nothing here calls MPI.
//
//   signature  the basic types of a message in order; what both sides must have in common
//   map        the standard's type map: for each basic element its byte offset, in order
//   tree       one way to describe a signature: constructors, their arguments, their children
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "random.h"

namespace types {

using Signature = std::vector<uint8_t>;  // indices into basics()

struct Basic {
  const char* name;
  int64_t size;
  int64_t alignment;
};
const std::vector<Basic>& basics();

// The predefined types of two elements: value and index.
struct Pair {
  const char* name;
  const char* first;
  const char* second;
  int64_t second_offset;
  int64_t extent;
};
const std::vector<Pair>& pairs();

enum class Kind {
  basic,
  pair,
  contiguous,
  vector,
  hvector,
  indexed,
  hindexed,
  indexed_block,
  hindexed_block,
  structure,
  subarray,
  darray,
  resized,
  dup,
};
inline constexpr int kKinds = static_cast<int>(Kind::dup) + 1;
const char* name_of(Kind kind);

struct Entry {
  int64_t offset;
  uint32_t size;
  bool x87;  // long doubles; on x86-64 10 bytes of value, then 6 of padding that a library may copy or not
};

struct Tree {
  Kind kind = Kind::basic;
  // The constructor's arguments; what each holds is said where the tree is built (type_tree.cpp) and read
  // (realise.cpp).
  int64_t count = 0;
  int64_t block = 0;
  int64_t stride = 0;
  std::vector<int64_t> blocks;
  std::vector<int64_t> displacements;
  std::vector<int64_t> sizes, subsizes, starts;  // subarray; darray: sizes
  std::vector<int64_t> distributions, arguments, grid;
  int64_t grid_rank = 0, grid_size = 0;
  bool fortran_order = false;
  std::vector<std::shared_ptr<const Tree>> children;

  // What it means.
  std::vector<Entry> map;
  int64_t lower = 0, upper = 0;  // MPI_Type_get_extent: lower bound, lower bound + extent
  bool bounds_set = false;       // by a resized type inside; such bounds hide the natural ones
  int64_t alignment = 1;
  int depth = 0;

  int64_t extent() const { return upper - lower; }
  int64_t bytes() const;
  int64_t true_lower() const;
  int64_t true_upper() const;
};
using TreePtr = std::shared_ptr<const Tree>;

// Distribution kinds of a darray dimension; realise.cpp translates them to MPI's constants.
enum Distribution { kDistributeNone, kDistributeBlock, kDistributeCyclic };
inline constexpr int64_t kDefaultArgument = -1;

Signature random_signature(Random& random, size_t most);

// A random type with this signature, at most `depth` constructors deep (a struct of runs more where a
// signature leaves no other way). `receive`: no byte is described twice, not even by `count` of them in a
// row.
TreePtr random_tree(Random& random, const Signature& signature, int depth, int64_t count, bool receive);

// True when `count` elements touch no byte twice.
bool disjoint(const Tree& tree, int64_t count);

std::string describe(const Tree& tree);

}  // namespace types
