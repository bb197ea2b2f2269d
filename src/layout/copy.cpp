// Layout to layout, and the public operations that move bytes.
//
// Three ways, cheapest first: one side is dense: pack or unpack; both have the same shape: one recursion over
// both; anything else: two cursors where the pieces are long enough to pay for a step of them, else through a
// buffer in the L1 cache, which costs one more access per block but keeps tight loops on both sides.
#include <algorithm>

#include "layout/cursor.h"
#include "layout/kernels.h"
#include "layout/move.h"

namespace tasuki::layout {
namespace {

constexpr uint64_t kStage = 4096;
// For a transposed side (see copy_grid): several rows must be in hand to be moved together.
constexpr uint64_t kTransposeStage = 32768;
// Bytes that one step of two cursors must move on average to beat the buffer.
constexpr uint64_t kLongStep = 512;

Piece single(char* memory, uint64_t block) {
  return Piece{strided(memory, 0), block, 1};
}

}  // namespace

// ---- cursor

void Cursor::descend(const Node& root, char* memory, uint64_t from) {
  const Node* n = &root;
  for (;;) {
    switch (n->kind) {
      case Kind::empty:
        piece = Piece{strided(memory, 0), 0, 0};
        return;
      case Kind::block:
        piece = single(memory, n->size);
        skip = from;
        return;
      case Kind::strided:
      case Kind::indexed: {
        const uint64_t i = from ? from / n->child_size : 0;
        from -= i * n->child_size;
        if (n->block) {
          piece =
              Piece{Positions{memory, n->stride, n->offsets32, n->offsets}.from(i), n->block, n->count - i};
          skip = from;
          return;
        }
        frames_[depth_++] = Frame{n, memory, i};
        memory = at(memory, offset_of(*n, i));
        n = n->child;
        break;
      }
      case Kind::blocks:
      case Kind::seq: {
        uint64_t start = 0;
        const uint64_t i = from ? find_child(*n, from, &start) : 0;
        from -= start;
        frames_[depth_++] = Frame{n, memory, i};
        memory = at(memory, n->offsets[i]);
        if (n->kind == Kind::blocks) {
          piece = single(memory, n->ends[i] - start);
          skip = from;
          return;
        }
        n = n->children[i];
        break;
      }
    }
  }
}

void Cursor::next() {
  while (depth_ > 0) {
    Frame& f = frames_[depth_ - 1];
    const Node& n = *f.node;
    if (++f.index == n.count) {
      depth_--;
      continue;
    }
    char* memory = at(f.memory, offset_of(n, f.index));
    if (n.kind == Kind::blocks)
      piece = single(memory, n.ends[f.index] - n.ends[f.index - 1]);
    else
      descend(n.kind == Kind::seq ? *n.children[f.index] : *n.child, memory, 0);
    return;
  }
}

namespace {

// Where both sides are at the start of blocks of one size, one loop moves as many as both have; otherwise the
// side with the longer block is dense for the blocks of the other one.
void copy_by_cursors(const Opened& to, const Opened& of, uint64_t from, uint64_t n) {
  Cursor d(*to.node, to.start, from), s(*of.node, of.start, from);
  while (n) {
    const uint64_t d_left = std::min(d.available(), n), s_left = std::min(s.available(), n);
    const uint64_t d_block = d.piece.block, s_block = s.piece.block;
    if (d.skip == 0 && s.skip == 0 && d_block == s_block && d_block <= n) {
      const uint64_t count = std::min({d.piece.count, s.piece.count, n / d_block});
      copy_blocks(d_block, d.piece.at, s.piece.at, count);
      n -= count * d_block;
      d.advance_blocks(count);
      s.advance_blocks(count);
    } else if (s.skip == 0 && s_block <= d_left) {
      const uint64_t count = std::min(s.piece.count, d_left / s_block), bytes = count * s_block;
      copy_blocks(s_block, strided(d.address(), static_cast<int64_t>(s_block)), s.piece.at, count);
      n -= bytes;
      s.advance_blocks(count);
      d.advance_bytes(bytes);
    } else if (d.skip == 0 && d_block <= s_left) {
      const uint64_t count = std::min(d.piece.count, s_left / d_block), bytes = count * d_block;
      copy_blocks(d_block, d.piece.at, strided(s.address(), static_cast<int64_t>(d_block)), count);
      n -= bytes;
      d.advance_blocks(count);
      s.advance_bytes(bytes);
    } else {
      const uint64_t bytes = std::min(d_left, s_left);
      copy_bytes(d.address(), s.address(), bytes);
      n -= bytes;
      d.advance_bytes(bytes);
      s.advance_bytes(bytes);
    }
  }
}

template <uint64_t kSize>
void copy_by_stages(const Opened& to, const Opened& of, uint64_t from, uint64_t n) {
  alignas(64) char stage[kSize];
  while (n) {
    // Stages end at multiples of their size, so that most blocks stay whole on both sides.
    const uint64_t bytes = std::min(n, kSize - from % kSize);
    move_range<Direction::pack>(*of.node, of.start, stage, from, bytes);
    move_range<Direction::unpack>(*to.node, to.start, stage, from, bytes);
    from += bytes;
    n -= bytes;
  }
}

// Bytes in an innermost piece, at most: of one block or a sequence of equal blocks.
uint64_t piece_bytes(const Node& n) {
  const Node* leaf = &n;
  while (leaf->child) leaf = leaf->child;
  return leaf->kind == Kind::strided || leaf->kind == Kind::indexed ? leaf->size : n.size / n.leaves;
}

uint64_t leaf_block(const Node& n) {
  const Node* leaf = &n;
  while (leaf->child) leaf = leaf->child;
  return leaf->block ? leaf->block : n.size / n.leaves;
}

bool long_steps(const Node& a, const Node& b) {
  const uint64_t block_a = leaf_block(a), block_b = leaf_block(b);
  // Equal blocks: as many as the shorter piece has; otherwise the longer block is filled from the other side.
  const uint64_t step = block_a == block_b ? std::min(piece_bytes(a), piece_bytes(b))
                                           : std::min(std::max(block_a, block_b),
                                                      block_a < block_b ? piece_bytes(a) : piece_bytes(b));
  return step >= kLongStep;
}

}  // namespace

// Dense at a glance; a region that is dense only after its elements were merged is found by is_dense.
static inline bool plainly_dense(const Region& r, char** start) {
  const Layout& l = *r.layout;
  if (l.root.kind != Kind::block || (r.count != 1 && l.extent != static_cast<int64_t>(l.root.size)))
    return false;
  *start = at(r.base, l.origin);
  return true;
}

bool is_dense(const Region& r, char** start) {
  if (plainly_dense(r, start)) return true;
  const Opened o(r);
  if (o.node->kind != Kind::block && o.node->kind != Kind::empty) return false;
  *start = o.start;
  return true;
}

uint64_t grain(const Region& r) {
  const Opened o(r);
  const Node& n = *o.node;
  if (transposed(n)) return n.child_size * rows_together(n.stride);
  if (n.block) return n.block;
  // Whole children, unless they are so large that a part should be smaller.
  constexpr uint64_t kLargest = 64 << 10;
  const Node* child = &n;
  while (child->child && child->child_size > kLargest) child = child->child;
  return child->block ? child->block : child->child ? child->child_size : 1;
}

// The whole of one element that is a plain sequence of blocks: straight into the kernel. Half the time of a
// small pack went into getting there by the general way (16 blocks of 8 bytes: 33 ns, 19 with it).
static inline bool is_whole_sequence(const Region& r, uint64_t from, uint64_t n) {
  const Node& root = r.layout->root;
  return root.block != 0 && r.count == 1 && from == 0 && n == root.size;
}
static inline Positions blocks_of(const Region& r) {
  const Node& root = r.layout->root;
  return {at(r.base, r.layout->origin), root.stride, root.offsets32, root.offsets};
}

void pack(char* out, const Region& src, uint64_t from, uint64_t n) {
  if (n == 0) return;
  const Node& root = src.layout->root;
  if (is_whole_sequence(src, from, n))
    return copy_blocks(root.block, strided(out, static_cast<int64_t>(root.block)), blocks_of(src),
                       root.count);
  char* start;
  if (plainly_dense(src, &start)) return copy_bytes(out, start + from, n);
  const Opened o(src);
  move_range<Direction::pack>(*o.node, o.start, out, from, n);
}

void unpack(const Region& dst, uint64_t from, uint64_t n, const char* in) {
  if (n == 0) return;
  const Node& root = dst.layout->root;
  if (is_whole_sequence(dst, from, n)) {
    char* packed = const_cast<char*>(in);
    return copy_blocks(root.block, blocks_of(dst), strided(packed, static_cast<int64_t>(root.block)),
                       root.count);
  }
  char* start;
  if (plainly_dense(dst, &start)) return copy_bytes(start + from, in, n);
  const Opened o(dst);
  move_range<Direction::unpack>(*o.node, o.start, const_cast<char*>(in), from, n);
}

void copy(const Region& dst, const Region& src, uint64_t from, uint64_t n) {
  if (n == 0) return;
  char* start;
  if (plainly_dense(src, &start)) return unpack(dst, from, n, start + from);
  if (plainly_dense(dst, &start)) return pack(start + from, src, from, n);
  const Opened to(dst), of(src);
  if (of.node->kind == Kind::block)
    move_range<Direction::unpack>(*to.node, to.start, of.start + from, from, n);
  else if (to.node->kind == Kind::block)
    move_range<Direction::pack>(*of.node, of.start, to.start + from, from, n);
  else if (same_shape(*to.node, *of.node))
    copy_range(*to.node, to.start, *of.node, of.start, from, n);
  else if (transposed(*to.node) || transposed(*of.node))
    copy_by_stages<kTransposeStage>(to, of, from, n);
  else if (long_steps(*to.node, *of.node))
    copy_by_cursors(to, of, from, n);
  else
    copy_by_stages<kStage>(to, of, from, n);
}

void for_each_run(const Region& r, uint64_t from, uint64_t n,
                  bool (*visit)(void* context, char* address, uint64_t length), void* context) {
  if (n == 0) return;
  const Opened o(r);
  Cursor c(*o.node, o.start, from);
  char* run = nullptr;
  uint64_t length = 0;
  while (n) {
    char* address = c.address();
    const uint64_t bytes = std::min(c.available(), n);
    if (length && run + length == address) {
      length += bytes;
    } else {
      if (length && !visit(context, run, length)) return;
      run = address;
      length = bytes;
    }
    n -= bytes;
    c.advance_bytes(bytes);
  }
  visit(context, run, length);
}

}  // namespace tasuki::layout
