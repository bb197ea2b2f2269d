// shape: which bytes a section of an array is, in the order of its elements. No MPI, no addresses of images.
#pragma once

#include <cstdint>
#include <string>

struct tasuki_xmp_dimension;
struct tasuki_xmp_section;

namespace tasuki::coarray {

inline constexpr int kMostDimensions = 15;

// Normal form: adjacent elements are one block, dimensions of one element and those that continue their inner
// neighbour are gone. Equal memory gives equal shapes in nearly all cases, so shapes are keys of caches.
struct Shape {
  struct Level {
    int64_t count;
    int64_t stride;  // bytes
  };
  int depth = 0;
  uint64_t block = 0;             // contiguous bytes, innermost
  Level levels[kMostDimensions];  // outermost first; only `depth` of them are set

  bool dense() const { return depth == 0; }
  uint64_t bytes() const {
    uint64_t all = block;
    for (int i = 0; i < depth; i++) all *= static_cast<uint64_t>(levels[i].count);
    return all;
  }
  bool operator==(const Shape& other) const;
};

uint64_t hash(const Shape& shape);

inline Shape dense_shape(uint64_t bytes) {
  Shape shape;
  shape.block = bytes;
  return shape;
}

// The same loops over bytes that lie densely in their order.
Shape dense_like(const Shape& shape);

bool descends(const Shape& shape);  // a stride is negative

// A shape with its negative strides turned round, so that it begins `shift` bytes before the first element.
// Of dense bytes in the order of the shape, `dense` are those in the order of `ascending`; they begin at
// `first`.
struct Turned {
  explicit Turned(const Shape& shape);
  Shape ascending, dense;
  int64_t shift = 0, first = 0;
};

// A section relative to its base: [low, high) holds all of its bytes, `first` is its first element.
struct Extent {
  Shape shape;
  uint64_t elements = 0;
  int64_t first = 0, low = 0, high = 0;
};

// One bracket of a section with omitted parts filled in, or in *problem what is wrong with it.
bool resolve(const tasuki_xmp_section& section, int i, tasuki_xmp_dimension* d, std::string* problem);

// What the section describes, or in *problem what is wrong with it (without place and advice on images).
// Compares with the extents if its flags ask for that.
bool measure(const tasuki_xmp_section& section, Extent* extent, std::string* problem);

}  // namespace tasuki::coarray
