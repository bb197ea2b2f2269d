// The normal form of a layout, private to src/layout.
//
// A layout is a tree of nodes. Every node is translated so that its first packed byte lies at offset 0; the
// parent (or Layout::origin for the root) says where that is. Kinds:
//
//   block    `size` contiguous bytes
//   strided  `count` children, `stride` bytes apart
//   indexed  `count` equal children at listed offsets, no regularity left in the list
//   blocks   `count` blocks of different lengths at listed offsets
//   seq      `count` different children at listed offsets (what a struct leaves over)
//
// Invariants that the movers rely on: no node is empty; strided, indexed, blocks and seq have count >= 2;
// a strided node of blocks never has stride == block (that is a block), a strided node of a strided node
// never continues it (that is one strided node); blocks adjacent in packed order are merged. A strided or
// indexed node at least doubles the size, so at most 63 of them can be nested; seq directly inside seq is
// spliced beyond a few levels. Hence depth <= kMaxDepth, recursion and cursors are bounded, whatever the
// constructors were.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include "layout/layout.h"

namespace tasuki::layout {

enum class Kind : uint32_t { empty, block, strided, indexed, blocks, seq };

inline constexpr uint32_t kSeqInSeqDepth = 24;
inline constexpr uint32_t kMaxDepth = kSeqInSeqDepth + 2 * 63 + 2;

struct Node {
  Kind kind = Kind::empty;
  uint32_t depth = 0;                // levels below and including this one; a block has 0
  uint64_t size = 0;                 // packed bytes
  uint64_t count = 0;                // children
  uint64_t block = 0;                // strided, indexed: length of the children when they are blocks, else 0
  uint64_t child_size = 0;           // strided, indexed: packed bytes of one child
  int64_t stride = 0;                // strided; indexed: the average distance, for the choice of a loop only
  const Node* child = nullptr;       // strided, indexed of other nodes than blocks
  const int64_t* offsets = nullptr;  // indexed, blocks, seq; offsets[0] == 0
  const int32_t* offsets32 = nullptr;  // indexed: instead of `offsets` when all fit, half the memory traffic
  const uint64_t* ends = nullptr;      // blocks, seq: packed bytes up to and including child i
  const Node* const* children = nullptr;  // seq
  uint64_t leaves = 0;                    // blocks as the movers see them
  uint64_t shape = 0;  // hash of all that does not depend on where the bytes are: see same_shape
  uint64_t runs = 0;   // maximal contiguous pieces in packed order
  int64_t end = 0;     // just past the last packed byte
  int64_t min = 0;     // lowest byte
  int64_t max = 0;     // just past the highest byte
};

struct Chunk {  // memory of a layout's nodes and lists
  Chunk* next;
  uint64_t pad;  // keeps what follows 16-byte aligned
};

struct StaticByte {};

struct Layout {
  Layout() = default;
  constexpr explicit Layout(StaticByte) : is_static(true), extent(1) {
    root.kind = Kind::block;
    root.size = root.runs = root.leaves = root.shape = 1;
    root.end = root.max = 1;
    lines = pages = 1;
  }

  mutable std::atomic<uint64_t> references{1};
  bool is_static = false;
  bool bounded = false;  // has explicit bounds (resized, subarray): MPI's lb and ub markers, which are sticky
  int64_t lower_bound = 0;
  int64_t extent = 0;
  int64_t origin = 0;  // offset of the first packed byte
  float lines = 0;     // that one element touches, on average over where it may begin: see footprint()
  float pages = 0;
  Node root;
  Chunk* chunks = nullptr;
  const Layout** owners = nullptr;  // layouts that hold nodes which this one points into
  uint64_t owner_count = 0;
  mutable const Layout* next_dead = nullptr;  // used by release() only
};

// Addresses are computed modulo 2^64: a buffer may be MPI_BOTTOM (null) with absolute displacements.
inline char* at(const char* base, int64_t offset) {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(base) + static_cast<uint64_t>(offset));
}
inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(uint64_t a, int64_t b) {
  return static_cast<int64_t>(a * static_cast<uint64_t>(b));
}

inline int64_t offset_of(const Node& n, uint64_t i) {
  if (n.kind == Kind::strided) return wrapping_mul(i, n.stride);
  return n.offsets32 ? n.offsets32[i] : n.offsets[i];
}

// Which child of a blocks or seq node holds packed byte `from`; *start is the packed offset of that child.
inline uint64_t find_child(const Node& n, uint64_t from, uint64_t* start) {
  uint64_t low = 0, high = n.count - 1;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (n.ends[middle] > from)
      high = middle;
    else
      low = middle + 1;
  }
  *start = low ? n.ends[low - 1] : 0;
  return low;
}

// The node for `count` repetitions of `child`, `stride` apart, merged with the child where they continue each
// other. The result points to `child` itself only when it did not merge: `child` must then outlive it. Sizes
// are computed modulo 2^64; constructors check them first.
Node repeat(uint64_t count, int64_t stride, const Node& child);

// Pieces of `size` bytes (cache lines, pages) that a node touches.
double touched(const Node& n, double size);
inline constexpr double kLineBytes = 64, kPageBytes = 4096;

// The two nodes consist of the same blocks, nested alike; only strides and offsets may differ. Compares a
// 64-bit hash made at construction, so that a message between two layouts costs nothing for it.
inline bool same_shape(const Node& a, const Node& b) {
  return a.shape == b.shape && a.size == b.size && a.leaves == b.leaves && a.depth == b.depth;
}

// Structural equality: the same bytes in the same order.
bool same(const Node& a, const Node& b);

// For a block: its length. For the others: of their kind of nesting, count and children.
inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9u;
  return hash ^ hash >> 32;
}
inline uint64_t repeated_shape(uint64_t count, uint64_t child_shape) {
  return mix(mix(0x7461737569, count), child_shape);
}

// A region opened for moving: element repetition becomes one more strided level, on the stack.
struct Opened {
  explicit Opened(const Region& r) : start(at(r.base, r.layout->origin)), node(&r.layout->root) {
    if (r.count != 1) node = new (&repeated) Node(repeat(r.count, r.layout->extent, r.layout->root));
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  char* start;  // the first packed byte
  const Node* node;
  union {
    Node repeated;  // not even zeroed for a single element: small messages pass here
  };
};

}  // namespace tasuki::layout
