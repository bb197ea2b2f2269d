// The innermost loops: `count` blocks of one size from one strided or listed sequence of addresses to
// another.
//
// Performance budget: a loop may cost what a loop written by hand for that element type costs; entering it
// costs a few nanoseconds (two switches), no allocation, no system call. Block sizes that occur in practice
// are compiled as constants, the others are copied by overlapping 16-byte pieces (up to 256 bytes) or by
// memcpy.
//
// Measured with layout_bench (-DTASUKI_BENCH=ON; hand-written time / ours; shared 2-core Xeon virtual
// machine, gcc 12 -O2, data in cache): geometric mean over 20 DDTBench-like patterns 1.03 for pack, 1.12 for
// unpack, 1.00 for layout to layout; transposes 1.5 to 5 (see copy_grid). The slowest: arrays of 13-byte
// records (0.5), copies between two lists of blocks (0.6: two lists are read, the hand-written loop reads
// one), layout to layout with 40-byte blocks (0.82) and rows of only 24 blocks (0.9). When the lines are
// dirty in another core's cache, fetching them ahead makes scattering 1.5 times and gathering of 40-byte
// blocks 1.3 times faster, and costs up to 5 % when they are not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

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

// The instructions that move blocks of more than 24 bytes: the widest that the processor has.
enum class Instructions { sse2, avx2, avx512 };
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
  void copy(char* to, const char* from) const { std::memcpy(to, from, n); }
};

// Any number of bytes, short ones without a call.
inline void copy_bytes(char* to, const char* from, uint64_t n) {
  if (n < 16)
    TinyBlock{n}.copy(to, from);
  else if (n <= 64)
    SmallBlock{n}.copy(to, from);
  else
    std::memcpy(to, from, n);
}

}  // namespace tasuki::layout
