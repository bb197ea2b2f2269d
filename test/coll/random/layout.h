// Where the elements of a message lie in memory: a derived type, and the same said without MPI.
#pragma once

#include "collectives.h"

namespace collectives {

inline ptrdiff_t round_up(ptrdiff_t n, ptrdiff_t align) {
  return (n + align - 1) / align * align;
}

int draw_divisor(Random& random, int n);

struct Basic {
  MPI_Datatype type;
  const char* name;
  int bytes;
  int value;  // bytes behind these are padding, which need not be transferred
};
const std::vector<Basic>& basics();

using Signature = std::vector<const Basic*>;  // of one unit
size_t bytes_of(const Signature& unit);

class Type {
 public:
  // A random type of so many units. `slots` is how many items of it will lie side by side, or 0; `bytes` is
  // the most that a message has.
  Type(Random& random, const Signature& unit, int units, int slots, size_t bytes);
  ~Type() { free(); }
  Type(Type&& other) noexcept { *this = std::move(other); }
  Type& operator=(Type&& other) noexcept;
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;

  MPI_Datatype handle() const { return handle_; }
  ptrdiff_t extent() const { return high_ - low_; }
  ptrdiff_t align() const { return align_; }
  // How the type was made, from the inside out.
  const std::string& text() const { return text_; }
  // The bytes that items 0..count-1 may touch: from the first to behind the last.
  ptrdiff_t first() const { return first_; }
  ptrdiff_t last(int count) const { return last_ + (count - 1) * extent(); }
  // Puts elements at their places. Padding is as in `now`, if that is given.
  void put(int count, const unsigned char* packed, unsigned char* to, const unsigned char* now) const;
  void free();

 private:
  struct Piece {
    ptrdiff_t at;
    int n;
    const Basic* basic;
  };
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
  bool own_ = false;
  std::vector<Piece> pieces_;  // in the order of the signature
  std::string text_;
  ptrdiff_t low_ = 0, high_ = 0, first_ = 0, last_ = 0, align_ = 1;

  void start(Random& random, const Signature& unit);
  void repeat(Random& random, int n);
  void interleave(int n, int slots);
  void resize(ptrdiff_t low, ptrdiff_t high);
  void replace(MPI_Datatype by);
  void copies_at(const std::vector<int>& lengths, const std::vector<ptrdiff_t>& places);
  void find_bounds();
};

// A buffer between guards. What the sender's and the receiver's types do not name differs, and changes from
// place to place, so that it cannot be overwritten unnoticed.
struct Image {
  Image() = default;
  // From `low` to `high` as MPI counts, with an address that is a multiple of `align` only.
  Image(ptrdiff_t low, ptrdiff_t high, ptrdiff_t align, Random& own);
  Bytes bytes;
  ptrdiff_t origin = 0;
  unsigned char* at(ptrdiff_t offset) { return bytes.data() + origin + offset; }
  const unsigned char* at(ptrdiff_t offset) const { return bytes.data() + origin + offset; }
};

// "" if there is no difference.
std::string difference(const Image& is, const Image& should_be);

}  // namespace collectives
