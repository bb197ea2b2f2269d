// One recursion for pack, unpack and copies between layouts of the same shape. It follows the shape of a
// node; each of the two sides says where the parts are: a side is either dense (parts behind each other) or
// placed by a node of that shape.
#include "layout/move.h"

#include <algorithm>

namespace tasuki::layout {
namespace {

// A dense buffer: part i of a node begins at the packed offset of that part.
struct Dense {
  char* p;
  static int64_t offset(const Node& shape, uint64_t i, uint64_t start) {
    return static_cast<int64_t>(shape.child_size ? i * shape.child_size : start);
  }
  Dense part(const Node& shape, uint64_t i, uint64_t start) const { return {at(p, offset(shape, i, start))}; }
  Dense skip(uint64_t n) const { return {p + n}; }
  Dense at_address(char* address) const { return {address}; }
  bool listed() const { return false; }
  int64_t step(const Node& shape) const { return static_cast<int64_t>(shape.child_size); }
  Positions parts(const Node& shape) const { return strided(p, step(shape)); }
  Dense child(const Node&, uint64_t) const { return *this; }
};

// Memory described by a node.
struct Placed {
  char* p;
  const Node* node;
  int64_t offset(const Node&, uint64_t i, uint64_t) const { return offset_of(*node, i); }
  Placed part(const Node& shape, uint64_t i, uint64_t) const {
    return {at(p, offset_of(*node, i)), child(shape, i).node};
  }
  Placed skip(uint64_t n) const { return {p + n, node}; }
  Placed at_address(char* address) const { return {address, node}; }
  bool listed() const { return node->kind == Kind::indexed; }
  int64_t step(const Node&) const { return node->stride; }
  Positions parts(const Node&) const { return {p, node->stride, node->offsets32, node->offsets}; }
  // The node of part i; blocks have none.
  Placed child(const Node&, uint64_t i) const {
    return {p, node->children ? node->children[i] : node->child};
  }
};

// Children of at most this many blocks of this size on average are moved column by column, in groups whose
// cache lines fit the L1 cache: loops over one block size instead of a mixture of sizes in every child.
constexpr uint64_t kColumns = 16;
constexpr uint64_t kColumnBytes = 128;
constexpr uint64_t kColumnGroup = 256;

bool by_columns(const Node& child, uint64_t count) {
  if (child.leaves > kColumns || count < 4 || child.size > child.leaves * kColumnBytes) return false;
  return child.kind != Kind::strided || child.count < 8;
}

// `count` nodes of one shape at the positions of both sides.
template <typename To, typename From>
void move_columns(const Node& n, const To& to_side, const Positions& to, const From& from_side,
                  const Positions& from, uint64_t count) {
  if (n.kind == Kind::block) return copy_blocks(n.size, to, from, count);
  for (uint64_t i = 0, start = 0; i < n.count; i++) {
    const Positions t = to.shifted(to_side.offset(n, i, start)),
                    f = from.shifted(from_side.offset(n, i, start));
    if (n.block || n.kind == Kind::blocks)
      copy_blocks(n.block ? n.block : n.ends[i] - start, t, f, count);
    else
      move_columns(n.child ? *n.child : *n.children[i], to_side.child(n, i), t, from_side.child(n, i), f,
                   count);
    if (n.ends) start = n.ends[i];
  }
}

template <typename To, typename From>
void move_all(const Node& n, const To& to, const From& from);

// Children [first, first + count) of a strided or indexed node, whole; the sides begin at child 0.
template <typename To, typename From>
void move_children(const Node& n, uint64_t first, uint64_t count, const To& to, const From& from) {
  const Positions t = to.parts(n).from(first), f = from.parts(n).from(first);
  if (n.block) return copy_blocks(n.block, t, f, count);
  const Node& child = *n.child;
  const To to_child = to.child(n, 0);
  const From from_child = from.child(n, 0);
  if (by_columns(child, count)) {
    const uint64_t group = std::max<uint64_t>(4, kColumnGroup / child.leaves);
    for (uint64_t i = 0; i < count; i += group)
      move_columns(child, to_child, t.from(i), from_child, f.from(i), std::min(group, count - i));
    return;
  }
  if (child.block && !to.listed() && !from.listed() && !to_child.listed() && !from_child.listed()) {
    const RowStrides t_strides{t.stride, to_child.step(child)}, f_strides{f.stride, from_child.step(child)};
    return copy_grid(child.block, t.base, t_strides, f.base, f_strides, count, child.count);
  }
  for (uint64_t i = 0; i < count; i++)
    move_all(child, to_child.at_address(t(i)), from_child.at_address(f(i)));
}

template <typename To, typename From>
void move_all(const Node& n, const To& to, const From& from) {
  switch (n.kind) {
    case Kind::empty:
      return;
    case Kind::block:
      return copy_bytes(to.p, from.p, n.size);
    case Kind::strided:
    case Kind::indexed:
      return move_children(n, 0, n.count, to, from);
    case Kind::blocks:
      for (uint64_t i = 0, start = 0; i < n.count; start = n.ends[i++])
        copy_bytes(at(to.p, to.offset(n, i, start)), at(from.p, from.offset(n, i, start)), n.ends[i] - start);
      return;
    case Kind::seq:
      for (uint64_t i = 0, start = 0; i < n.count; start = n.ends[i++])
        move_all(*n.children[i], to.part(n, i, start), from.part(n, i, start));
      return;
  }
}

// Packed bytes [first, first + length); both sides begin at the node's first byte.
template <typename To, typename From>
void move_some(const Node& n, const To& to, const From& from, uint64_t first, uint64_t length) {
  if (first == 0 && length == n.size) return move_all(n, to, from);
  if (length == 0) return;
  // Bytes [skip, skip + bytes) of part i.
  const auto part = [&](uint64_t i, uint64_t start, uint64_t skip, uint64_t bytes) {
    const To t = to.part(n, i, start);
    const From f = from.part(n, i, start);
    if (n.block || n.kind == Kind::blocks)
      copy_bytes(t.p + skip, f.p + skip, bytes);
    else
      move_some(n.child ? *n.child : *n.children[i], t, f, skip, bytes);
  };
  switch (n.kind) {
    case Kind::empty:
      return;
    case Kind::block:
      return copy_bytes(at(to.p, static_cast<int64_t>(first)), at(from.p, static_cast<int64_t>(first)),
                        length);
    case Kind::strided:
    case Kind::indexed: {
      uint64_t i = first / n.child_size;
      const uint64_t skip = first - i * n.child_size;
      if (skip) {
        const uint64_t bytes = std::min(length, n.child_size - skip);
        part(i++, 0, skip, bytes);
        length -= bytes;
      }
      const uint64_t whole = length / n.child_size;
      if (whole) move_children(n, i, whole, to, from);
      if (length -= whole * n.child_size) part(i + whole, 0, 0, length);
      return;
    }
    case Kind::blocks:
    case Kind::seq: {
      uint64_t start = 0;
      for (uint64_t i = find_child(n, first, &start); length; start = n.ends[i++]) {
        const uint64_t skip = first > start ? first - start : 0;
        const uint64_t bytes = std::min(length, n.ends[i] - start - skip);
        part(i, start, skip, bytes);
        length -= bytes;
      }
      return;
    }
  }
}

}  // namespace

template <>
void move_range<Direction::pack>(const Node& node, char* memory, char* dense, uint64_t from, uint64_t n) {
  move_some(node, Dense{at(dense, -static_cast<int64_t>(from))}, Placed{memory, &node}, from, n);
}

template <>
void move_range<Direction::unpack>(const Node& node, char* memory, char* dense, uint64_t from, uint64_t n) {
  move_some(node, Placed{memory, &node}, Dense{at(dense, -static_cast<int64_t>(from))}, from, n);
}

void copy_range(const Node& to, char* to_memory, const Node& from, char* from_memory, uint64_t first,
                uint64_t n) {
  move_some(to, Placed{to_memory, &to}, Placed{from_memory, &from}, first, n);
}

}  // namespace tasuki::layout
