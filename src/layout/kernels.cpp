#include "layout/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "base/cpu.h"

namespace tasuki::layout {
namespace {

struct StridedBlocks {
  char* base;
  int64_t stride;
  [[gnu::always_inline]] char* operator()(uint64_t i) const {
    return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(base) + i * static_cast<uint64_t>(stride));
  }
};
// Behind each other: what one side of every pack and unpack is.
template <size_t kBlock>
struct DenseBlocks {
  char* base;
  [[gnu::always_inline]] char* operator()(uint64_t i) const { return base + i * kBlock; }
};
template <typename Offset>
struct ListedBlocks {
  char* base;
  const Offset* offsets;
  [[gnu::always_inline]] char* operator()(uint64_t i) const {
    return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(base) +
                                   static_cast<uint64_t>(int64_t{offsets[i]}));
  }
};

// Blocks that lie this far apart each touch a cache line of their own.
constexpr int64_t kFar = 128;
// How many blocks ahead lines are fetched: more than one latency of another core's cache (100 ns and more).
constexpr uint64_t kAhead = 16;
// Shorter blocks are so few instructions that the processor itself has enough of their loads in flight.
constexpr uint64_t kFetchLoads = 16;
// Longer blocks are found by the hardware's own prefetch.
constexpr uint64_t kFetchBlocks = 256;

enum class Fetch { none, stores, both };

template <Fetch fetch, typename Block, typename To, typename From>
[[gnu::always_inline]] inline void move_one(Block block, To to, From from, uint64_t i) {
  if constexpr (fetch != Fetch::none) fetch_to_write(to(i + kAhead));
  if constexpr (fetch == Fetch::both) __builtin_prefetch(from(i + kAhead));
  block.copy(to(i), from(i));
}

// Four blocks a turn, in order: up to 1.5 times faster than one by one (lists of 8-byte blocks, in cache).
template <Fetch fetch, typename Block, typename To, typename From>
[[gnu::always_inline]] inline uint64_t move_fours(Block block, To to, From from, uint64_t i, uint64_t end) {
  for (; i + 4 <= end; i += 4) {
    move_one<fetch>(block, to, from, i);
    move_one<fetch>(block, to, from, i + 1);
    move_one<fetch>(block, to, from, i + 2);
    move_one<fetch>(block, to, from, i + 3);
  }
  return i;
}

template <Fetch fetch, typename Block, typename To, typename From>
inline void loop(Block block, To to, From from, uint64_t count) {
  uint64_t i = 0;
  if constexpr (fetch != Fetch::none) i = move_fours<fetch>(block, to, from, 0, count - kAhead);
  i = move_fours<Fetch::none>(block, to, from, i, count);
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

// Calls use(blocks) for a side without a list.
template <typename Block, typename Use>
inline void with_strided(Block, const Positions& p, Use&& use) {
  if constexpr (Block::kBytes != 0)
    if (p.stride == static_cast<int64_t>(Block::kBytes)) return use(DenseBlocks<Block::kBytes>{p.base});
  use(StridedBlocks{p.base, p.stride});
}
template <typename Block, typename Use>
inline void with_strides(Block block, const Positions& to, const Positions& from, Use&& use) {
  if constexpr (Block::kBytes != 0)
    if (to.stride == static_cast<int64_t>(Block::kBytes))
      return use(DenseBlocks<Block::kBytes>{to.base}, StridedBlocks{from.base, from.stride});
  with_strided(block, from, [&](auto f) { use(StridedBlocks{to.base, to.stride}, f); });
}

// ---- wide blocks: by the widest vectors that win. Blocks of 64 to 256 bytes, data in the L2 cache, us by
// vectors of 16, 32 and 64 bytes (Zen 4): 100 x 128 B 0.26, 0.22, 0.22; 1000 x 92 B 2.39, 2.25, 2.50; 50 x
// 192 B 0.19, 0.12, 0.13. Vectors of 64 bytes (AVX-512) never won: unaligned, each of them touches two lines.
// So they are not here.

template <size_t kBytes>
struct Vector {
  typedef int64_t Type __attribute__((vector_size(kBytes), aligned(1), may_alias));
  [[gnu::always_inline]] static void move(char* to, const char* from) {
    *reinterpret_cast<Type*>(to) = *reinterpret_cast<const Type*>(from);
  }
};

// One to two vectors: both loads before both stores.
template <size_t kBytes>
struct TwoVectors {
  uint64_t n;
  [[gnu::always_inline]] void copy(char* to, const char* from) const {
    using Type = typename Vector<kBytes>::Type;
    const Type head = *reinterpret_cast<const Type*>(from);
    const Type tail = *reinterpret_cast<const Type*>(from + n - kBytes);
    *reinterpret_cast<Type*>(to) = head;
    *reinterpret_cast<Type*>(to + n - kBytes) = tail;
  }
};

// More; the last one may overlap the one before.
template <size_t kBytes>
struct ManyVectors {
  uint64_t n;
  [[gnu::always_inline]] void copy(char* to, const char* from) const {
    const uint64_t last = n - kBytes;
    uint64_t i = 0;
    for (; i + kBytes < last; i += 2 * kBytes) {
      Vector<kBytes>::move(to + i, from + i);
      Vector<kBytes>::move(to + i + kBytes, from + i + kBytes);
    }
    if (i < last) Vector<kBytes>::move(to + i, from + i);
    Vector<kBytes>::move(to + last, from + last);
  }
};

// Longer ones are memcpy's, shorter ones constants.
inline bool is_wide(uint64_t block) {
  return block > 24 && block <= 1024;
}

struct Fetches {
  bool stores, loads;
};

template <typename Block, typename To, typename From>
[[gnu::always_inline]] inline void wide_loop(Block block, To to, From from, uint64_t count, Fetches fetch) {
  uint64_t i = 0;
  if (fetch.stores || fetch.loads) {
    for (; i + kAhead < count; i++) {
      fetch_to_write(to(i + kAhead));
      if (fetch.loads) __builtin_prefetch(from(i + kAhead));
      block.copy(to(i), from(i));
    }
  }
  for (; i < count; i++) block.copy(to(i), from(i));
}

template <typename Block>
[[gnu::always_inline]] inline void wide_positions(Block block, const Positions& to, const Positions& from,
                                                  uint64_t count, Fetches fetch) {
  const StridedBlocks t{to.base, to.stride}, f{from.base, from.stride};
  if (to.offsets32)
    wide_loop(block, ListedBlocks<int32_t>{to.base, to.offsets32}, f, count, fetch);
  else if (from.offsets32)
    wide_loop(block, t, ListedBlocks<int32_t>{from.base, from.offsets32}, count, fetch);
  else
    wide_loop(block, t, f, count, fetch);
}

// Not for lists on both sides or of 64-bit offsets.
template <size_t kWidest>
[[gnu::always_inline]] inline void copy_wide(uint64_t n, const Positions& to, const Positions& from,
                                             uint64_t count, Fetches fetch) {
  if constexpr (kWidest >= 32) {
    if (n > 64) return wide_positions(ManyVectors<32>{n}, to, from, count, fetch);
    if (n > 32) return wide_positions(TwoVectors<32>{n}, to, from, count, fetch);
  }
  if (n > 32) return wide_positions(ManyVectors<16>{n}, to, from, count, fetch);
  wide_positions(TwoVectors<16>{n}, to, from, count, fetch);
}

using CopyWide = void (*)(uint64_t, const Positions&, const Positions&, uint64_t, Fetches);
void wide_by_16(uint64_t n, const Positions& to, const Positions& from, uint64_t count, Fetches fetch) {
  copy_wide<16>(n, to, from, count, fetch);
}
TASUKI_WIDE_VECTORS void wide_by_32(uint64_t n, const Positions& to, const Positions& from, uint64_t count,
                                    Fetches fetch) {
  copy_wide<32>(n, to, from, count, fetch);
}
constexpr CopyWide kCopyWide[] = {wide_by_16, wide_by_32};

bool supported(Instructions set) {
  return set == Instructions::vectors_of_16 || has_wide_vectors();
}

// Until it is initialised, vectors of 16 bytes: right, only slower.
Instructions g_instructions = [] {
  prepare_questions();
  return supported(Instructions::vectors_of_32) ? Instructions::vectors_of_32 : Instructions::vectors_of_16;
}();

}  // namespace

Instructions instructions() {
  return g_instructions;
}

bool use_instructions(Instructions set) {
  if (!supported(set)) return false;
  g_instructions = set;
  return true;
}

void copy_blocks(uint64_t block, const Positions& to, const Positions& from, uint64_t count) {
  const bool lists = to.offsets || from.offsets || (to.offsets32 && from.offsets32);
  if (is_wide(block) && !lists) {
    const bool fetch = count >= 2 * kAhead && block <= kFetchBlocks;
    const int64_t far = static_cast<int64_t>(block) + kFar;
    const bool loads = fetch && std::abs(from.stride) >= far;
    return kCopyWide[static_cast<size_t>(g_instructions)](
        block, to, from, count, {fetch && (loads || std::abs(to.stride) >= far), loads});
  }
  with_block(block, [&](auto b) {
    if (lists) {
      with_positions(
          to, [&](auto t) { with_positions(from, [&](auto f) { loop<Fetch::none>(b, t, f, count); }); });
      return;
    }
    with_fetch(block, to.stride, from.stride, count, [&](auto fetch) {
      constexpr Fetch kFetch = decltype(fetch)::value;
      if (to.offsets32) {
        const ListedBlocks<int32_t> t{to.base, to.offsets32};
        with_strided(b, from, [&](auto f) { loop<kFetch>(b, t, f, count); });
      } else if (from.offsets32) {
        const ListedBlocks<int32_t> f{from.base, from.offsets32};
        with_strided(b, to, [&](auto t) { loop<kFetch>(b, t, f, count); });
      } else {
        with_strides(b, to, from, [&](auto t, auto f) { loop<kFetch>(b, t, f, count); });
      }
    });
  });
}

namespace {

void copy_rows(uint64_t block, char* to, RowStrides to_strides, char* from, RowStrides from_strides,
               uint64_t rows, uint64_t count) {
  if (is_wide(block)) {
    for (uint64_t r = 0; r < rows; r++)
      copy_blocks(block, strided(at(to, wrapping_mul(r, to_strides.row)), to_strides.step),
                  strided(at(from, wrapping_mul(r, from_strides.row)), from_strides.step), count);
    return;
  }
  with_block(block, [&](auto b) {
    with_fetch(block, to_strides.step, from_strides.step, count, [&](auto fetch) {
      with_strides(b, strided(to, to_strides.step), strided(from, from_strides.step), [&](auto t, auto f) {
        for (uint64_t r = 0; r < rows; r++) {
          loop<decltype(fetch)::value>(b, t, f, count);
          t.base = at(t.base, to_strides.row);
          f.base = at(f.base, from_strides.row);
        }
      });
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
