// The innermost loops: `count` blocks of one size from one strided or listed sequence of addresses to
// another.
//
// Performance budget: a loop may cost what a loop written by hand for that element type costs; entering it
// costs a few nanoseconds (two switches), no allocation, no system call. Block sizes of up to 24 bytes that
// occur in practice are compiled as constants, other short ones are copied by overlapping pieces, those of up
// to 1 KiB by overlapping vectors, longer ones by memcpy, its slow case aside (base/copy.h).
//
// Measured against hand-written loops that know size and stride, data in cache, one core of a Zen 4, gcc 12
// -O2 (hand-written time / ours, pack and unpack): random lists of 8-byte blocks 1.1 to 1.7, of 24 and 40
// bytes 0.96 to 1.05; 16 x 256 bytes 1.8 to 2.4; grids of 8-byte blocks 0.97 to 1.3, of 92 bytes 0.98 to 1.2;
// 12-byte vectors 1.6 to 1.8; transposes 2.5 to 9 (see copy_grid); 12 x 40 bytes, where entering counts, 0.7.
// The slowest: copies between two lists of blocks (0.6: two lists are read, the hand-written loop reads one).
// When the lines are dirty in another core's cache, fetching them ahead makes scattering 1.5 times and
// gathering of 40-byte blocks 1.3 times faster, and costs up to 5 % when they are not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/copy.h"
#include "layout/layout_impl.h"

namespace tasuki::layout {

// Where the blocks are.
struct Positions {
  char* base;
  int64_t stride = 0;                  // with a list: the average distance
  const int32_t* offsets32 = nullptr;  // when not null: at base + offsets32[i]
  const int64_t* offsets = nullptr;    // likewise

  char* operator()(uint64_t i) const {
    if (offsets32) return at(base, offsets32[i]);
    if (offsets) return at(base, offsets[i]);
    return at(base, wrapping_mul(i, stride));
  }
  Positions from(uint64_t i) const {
    Positions p = *this;
    if (offsets32)
      p.offsets32 += i;
    else if (offsets)
      p.offsets += i;
    else
      p.base = at(base, wrapping_mul(i, stride));
    return p;
  }
  Positions shifted(int64_t offset) const {
    Positions p = *this;
    p.base = at(base, offset);
    return p;
  }
};

inline Positions strided(char* base, int64_t stride) {
  return {base, stride, nullptr, nullptr};
}

// The instructions that move blocks of more than 24 bytes: by vectors of so many bytes. The wider ones
// (AVX2) where the processor has them: see kernels.cpp for what was measured.
enum class Instructions { vectors_of_16, vectors_of_32 };
Instructions instructions();
// For tests and benchmarks; false if the processor lacks them. Not while another thread copies.
bool use_instructions(Instructions set);

// Moves `count` blocks of `block` bytes.
void copy_blocks(uint64_t block, const Positions& to, const Positions& from, uint64_t count);

struct RowStrides {
  int64_t row, step;
};

// The rows lie in the same cache lines, while a row itself visits a new line with every block.
inline bool transposed(const RowStrides& s) {
  return std::abs(s.row) < 64 && std::abs(s.step) >= 128;
}
inline bool transposed(const Node& n) {
  return n.kind == Kind::strided && n.child && n.child->block && n.child->kind == Kind::strided &&
         transposed(RowStrides{n.stride, n.child->stride});
}

// How many of such rows are moved together: those in two lines, which the hardware fetches as a pair.
inline uint64_t rows_together(int64_t row) {
  return static_cast<uint64_t>(128 / std::max<int64_t>(8, std::abs(row)));
}

// Moves `rows` rows of `count` blocks, all strides constant. A matrix transpose row by row would fetch every
// line once per row: instead as many rows as share their lines are moved at once, down the other way (1.5 to
// 5 times faster).
void copy_grid(uint64_t block, char* to, RowStrides to_strides, char* from, RowStrides from_strides,
               uint64_t rows, uint64_t count);

template <size_t N>
struct FixedBlock {
  static constexpr size_t kBytes = N;
  static void copy(char* to, const char* from) { __builtin_memcpy(to, from, N); }
};
struct TinyBlock {                     // below 16 bytes
  static constexpr size_t kBytes = 0;  // not a constant
  uint64_t n;
  void copy(char* to, const char* from) const {
    if (n >= 8) {
      uint64_t head, tail;
      std::memcpy(&head, from, 8);
      std::memcpy(&tail, from + n - 8, 8);
      std::memcpy(to, &head, 8);
      std::memcpy(to + n - 8, &tail, 8);
    } else if (n >= 4) {
      uint32_t head, tail;
      std::memcpy(&head, from, 4);
      std::memcpy(&tail, from + n - 4, 4);
      std::memcpy(to, &head, 4);
      std::memcpy(to + n - 4, &tail, 4);
    } else if (n) {
      const char first = from[0], middle = from[n / 2], last = from[n - 1];
      to[0] = first;
      to[n / 2] = middle;
      to[n - 1] = last;
    }
  }
};
struct SmallBlock {  // 16 bytes and more
  static constexpr size_t kBytes = 0;
  uint64_t n;
  void copy(char* to, const char* from) const {
    struct Bytes16 {
      char b[16];
    } tail, next;
    std::memcpy(&tail, from + n - 16, 16);
    for (uint64_t i = 0; i + 16 < n; i += 16) {
      std::memcpy(&next, from + i, 16);
      std::memcpy(to + i, &next, 16);
    }
    std::memcpy(to + n - 16, &tail, 16);
  }
};
struct LargeBlock {
  static constexpr size_t kBytes = 0;
  uint64_t n;
  void copy(char* to, const char* from) const { copy_run(to, from, n); }
};

// Any number of bytes, short ones without a call.
inline void copy_bytes(char* to, const char* from, uint64_t n) {
  if (n < 16)
    TinyBlock{n}.copy(to, from);
  else if (n <= 64)
    SmallBlock{n}.copy(to, from);
  else
    copy_run(to, from, n);
}

}  // namespace tasuki::layout
