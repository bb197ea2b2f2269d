#include "layout/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

namespace tasuki::layout {
namespace {

struct StridedBlocks {
  char* base;
  int64_t stride;
  char* operator()(uint64_t i) const { return at(base, wrapping_mul(i, stride)); }
};
template <typename Offset>
struct ListedBlocks {
  char* base;
  const Offset* offsets;
  char* operator()(uint64_t i) const { return at(base, offsets[i]); }
};

// Blocks that lie this far apart each touch a cache line of their own.
constexpr int64_t kFar = 128;
// How many blocks ahead lines are fetched: more than one latency of another core's cache (100 ns and more).
constexpr uint64_t kAhead = 16;
// Shorter blocks are so few instructions that the processor itself has enough of their loads in flight.
constexpr uint64_t kFetchLoads = 16;
// Longer blocks are found by the hardware's own prefetch.
constexpr uint64_t kFetchBlocks = 256;

// Asks for the line to be written: stores to lines of another core otherwise wait for each other, one by one.
// A no-operation on processors that lack it.
inline void fetch_to_write(const char* p) {
  asm volatile("prefetchw %0" : : "m"(*p));
}

enum class Fetch { none, stores, both };

template <Fetch fetch, typename Block, typename To, typename From>
inline void loop(Block block, To to, From from, uint64_t count) {
  uint64_t i = 0;
  if constexpr (fetch != Fetch::none) {
    for (; i + kAhead < count; i++) {
      fetch_to_write(to(i + kAhead));
      if constexpr (fetch == Fetch::both) __builtin_prefetch(from(i + kAhead));
      block.copy(to(i), from(i));
    }
  }
  for (; i < count; i++) block.copy(to(i), from(i));
}

// Calls use(constant) with what is worth fetching.
template <typename Use>
inline void with_fetch(uint64_t block, int64_t to_distance, int64_t from_distance, uint64_t count,
                       Use&& use) {
  using None = std::integral_constant<Fetch, Fetch::none>;
  if (count < 2 * kAhead || block > kFetchBlocks) return use(None{});
  const bool stores = std::abs(to_distance) >= kFar;
  const bool loads = block >= kFetchLoads && std::abs(from_distance) >= kFar;
  if (loads) return use(std::integral_constant<Fetch, Fetch::both>{});
  if (stores) return use(std::integral_constant<Fetch, Fetch::stores>{});
  return use(None{});
}

// Calls use(block) with the block type for `n` bytes.
template <typename Use>
inline void with_block(uint64_t n, Use&& use) {
  switch (n) {
    case 1:
      return use(FixedBlock<1>{});
    case 2:
      return use(FixedBlock<2>{});
    case 4:
      return use(FixedBlock<4>{});
    case 8:
      return use(FixedBlock<8>{});
    case 12:
      return use(FixedBlock<12>{});
    case 16:
      return use(FixedBlock<16>{});
    case 20:
      return use(FixedBlock<20>{});
    case 24:
      return use(FixedBlock<24>{});
    case 32:
      return use(FixedBlock<32>{});
    case 40:
      return use(FixedBlock<40>{});
    case 48:
      return use(FixedBlock<48>{});
    case 64:
      return use(FixedBlock<64>{});
    default:
      if (n < 16) return use(TinyBlock{n});
      if (n <= 256) return use(SmallBlock{n});
      return use(LargeBlock{n});
  }
}

template <typename Use>
inline void with_positions(const Positions& p, Use&& use) {
  if (p.offsets32)
    use(ListedBlocks<int32_t>{p.base, p.offsets32});
  else if (p.offsets)
    use(ListedBlocks<int64_t>{p.base, p.offsets});
  else
    use(StridedBlocks{p.base, p.stride});
}

}  // namespace

void copy_blocks(uint64_t block, const Positions& to, const Positions& from, uint64_t count) {
  with_block(block, [&](auto b) {
    if (to.offsets || from.offsets || (to.offsets32 && from.offsets32)) {
      with_positions(
          to, [&](auto t) { with_positions(from, [&](auto f) { loop<Fetch::none>(b, t, f, count); }); });
      return;
    }
    with_fetch(block, to.stride, from.stride, count, [&](auto fetch) {
      constexpr Fetch kFetch = decltype(fetch)::value;
      const StridedBlocks t{to.base, to.stride}, f{from.base, from.stride};
      if (to.offsets32)
        loop<kFetch>(b, ListedBlocks<int32_t>{to.base, to.offsets32}, f, count);
      else if (from.offsets32)
        loop<kFetch>(b, t, ListedBlocks<int32_t>{from.base, from.offsets32}, count);
      else
        loop<kFetch>(b, t, f, count);
    });
  });
}

namespace {

void copy_rows(uint64_t block, char* to, RowStrides to_strides, char* from, RowStrides from_strides,
               uint64_t rows, uint64_t count) {
  with_block(block, [&](auto b) {
    with_fetch(block, to_strides.step, from_strides.step, count, [&](auto fetch) {
      for (uint64_t r = 0; r < rows; r++) {
        loop<decltype(fetch)::value>(b, StridedBlocks{to, to_strides.step},
                                     StridedBlocks{from, from_strides.step}, count);
        to = at(to, to_strides.row);
        from = at(from, from_strides.row);
      }
    });
  });
}

}  // namespace

void copy_grid(uint64_t block, char* to, RowStrides to_strides, char* from, RowStrides from_strides,
               uint64_t rows, uint64_t count) {
  if (count > 16 && (transposed(to_strides) || transposed(from_strides))) {
    const int64_t row = transposed(to_strides) ? to_strides.row : from_strides.row;
    const uint64_t group = rows_together(row);
    for (uint64_t r = 0; r < rows; r += group) {
      const uint64_t n = std::min(group, rows - r);
      copy_rows(block, at(to, wrapping_mul(r, to_strides.row)), {to_strides.step, to_strides.row},
                at(from, wrapping_mul(r, from_strides.row)), {from_strides.step, from_strides.row}, count, n);
    }
    return;
  }
  copy_rows(block, to, to_strides, from, from_strides, rows, count);
}

}  // namespace tasuki::layout
