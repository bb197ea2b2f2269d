// Where the elements of a message lie in memory: a derived type, and the same said without MPI.
#pragma once

#include "mixed.h"

namespace mixed {

constexpr int kShapes = 8;

class Layout {
 public:
  // `count` elements of the basic type. Shape 0 is the basic type itself.
  Layout(int shape, int count, Basic basic, uint64_t seed);
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  MPI_Datatype type() const { return type_; }
  int count() const { return count_; }
  int elements() const { return elements_; }
  size_t span() const { return span_; }
  std::string text() const {
    return "receive of " + std::to_string(elements_) + " elements, shape " + std::to_string(shape_);
  }
  // The number of basic elements that came, from a receive with this type.
  int elements_of(const MPI_Status& status) const;
  // Puts bytes of a message at their places, as far as they go.
  void scatter(const std::vector<unsigned char>& bytes, unsigned char* to, size_t limit = SIZE_MAX) const;
  unsigned char first_byte(const unsigned char* from) const { return from[blocks_.front().at]; }

 private:
  struct Block {
    size_t at, bytes;
  };
  MPI_Datatype type_;
  bool own_ = false;
  int count_, elements_, shape_ = 0;
  size_t span_ = 0;
  std::vector<Block> blocks_;
};

// Memory for a layout, with guards on both sides.
class Buffer {
 public:
  explicit Buffer(const Layout& layout) : bytes_(layout.span() + 2 * kGuard, kUntouched) {}
  void* at() { return bytes_.data() + kGuard; }
  unsigned char* data() { return bytes_.data() + kGuard; }
  void wipe() { std::fill(bytes_.begin(), bytes_.end(), kUntouched); }
  // "" if there is exactly this message; whatever the type does not name was not written (3.2.4, 5.1).
  std::string difference(const Layout& layout, const std::vector<unsigned char>& message) const;
  // "" if nothing outside of the layout's places was written; what is in them is not defined.
  std::string written_outside(const Layout& layout) const;

 private:
  static constexpr size_t kGuard = 64;
  static constexpr unsigned char kUntouched = 0xee;
  std::vector<unsigned char> bytes_;
};

}  // namespace mixed
