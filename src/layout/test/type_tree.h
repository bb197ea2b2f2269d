// Random type trees, built twice: as a Layout and as the plain list of bytes that the MPI definition of the
// constructors gives (displacement of every packed byte, in order, and the lb and ub markers). Slow on
// purpose and as close to the text of the standard as possible.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "layout/layout.h"

namespace tasuki::layout::testing {

// Where the decisions come from: a seeded generator, or the input of a fuzzer.
class Choices {
 public:
  explicit Choices(uint64_t seed) : random_(seed) {}
  Choices(const uint8_t* data, size_t n) : data_(data), left_(n) {}

  // 0 .. n-1
  uint64_t below(uint64_t n);
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }
  bool exhausted() const { return data_ && left_ == 0; }

 private:
  std::mt19937_64 random_;
  const uint8_t* data_ = nullptr;
  size_t left_ = 0;
};

struct Release {
  void operator()(const Layout* l) const { release(l); }
};
using LayoutPtr = std::unique_ptr<const Layout, Release>;

struct Model {
  std::vector<int64_t> bytes;         // displacement of each packed byte
  std::vector<int64_t> lower, upper;  // explicit markers

  int64_t lower_bound() const;
  int64_t upper_bound() const;
  int64_t extent() const { return upper_bound() - lower_bound(); }
  int64_t true_lower() const;
  int64_t true_upper() const;
  void place(const Model& child, int64_t displacement);
};

struct TypeTree {
  LayoutPtr layout;
  Model model;
  std::string text;
};

// A random tree of at most `depth` constructors over one another and about `limit` bytes.
TypeTree random_tree(Choices& choices, int depth, uint64_t limit);

// One of the regular patterns of applications (rows, grids, transposes, lists, structs of lists, records),
// long enough for every loop of the movers, with block sizes that have a loop of their own and others. At
// most 40,000 bytes; never overlaps itself as one element.
TypeTree random_pattern(Choices& choices);

// `count` elements of a tree in memory of their own, not a byte larger than the elements reach.
class Buffer {
 public:
  Buffer(const TypeTree& tree, uint64_t count);

  Region region() const { return {base_, count_, layout_}; }
  uint64_t packed() const { return addresses_.size(); }
  char* address(uint64_t packed_byte) const { return addresses_[packed_byte]; }
  std::vector<char>& memory() { return memory_; }
  void fill(Choices& choices);

 private:
  std::vector<char> memory_;
  std::vector<char*> addresses_;
  char* base_;
  uint64_t count_;
  const Layout* layout_;
};

}  // namespace tasuki::layout::testing
