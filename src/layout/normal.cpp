#include "layout/normal.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace tasuki::layout {
namespace {

// Children with at most this many parts are copied into a list around them rather than pointed to.
constexpr uint64_t kSpliceLimit = 16;
// In a list of blocks, this many equal ones in a row are worth a node of their own.
constexpr uint64_t kEqualBlocks = 256;
// Blocks of different lengths become blocks of their greatest common divisor when that is at most
// kLongestUnit and makes at most kUnitsPerBlock of each on average (measured: beyond, copies of variable
// length win).
constexpr uint64_t kLongestUnit = 64;
constexpr uint64_t kUnitsPerBlock = 4;

uint64_t checked_mul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > static_cast<uint64_t>(INT64_MAX))
    throw std::length_error("layout size");
  return product;
}

uint64_t checked_add(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  if (sum < a || sum > static_cast<uint64_t>(INT64_MAX)) throw std::length_error("layout size");
  return sum;
}

Node block_node(uint64_t length) {
  Node n;
  n.kind = Kind::block;
  n.size = length;
  n.runs = n.leaves = 1;
  n.shape = length;
  n.end = n.max = static_cast<int64_t>(length);
  return n;
}

bool fits32(const std::vector<int64_t>& offsets) {
  return std::all_of(offsets.begin(), offsets.end(), [](int64_t o) {
    return o >= std::numeric_limits<int32_t>::min() && o <= std::numeric_limits<int32_t>::max();
  });
}

// Adds a child at `offset` to the runs and bounds of a list node; `first` for the first one.
void widen(Node& n, int64_t offset, const Node& child, bool first) {
  const int64_t low = wrapping_add(offset, child.min), high = wrapping_add(offset, child.max);
  n.leaves += child.leaves;
  n.runs += child.runs - (!first && n.end == offset ? 1 : 0);
  n.end = wrapping_add(offset, child.end);
  n.min = first ? low : std::min(n.min, low);
  n.max = first ? high : std::max(n.max, high);
}

}  // namespace

Node repeat(uint64_t count, int64_t stride, const Node& child) {
  if (count == 0 || child.kind == Kind::empty) return Node();
  if (count == 1) return child;
  if (child.kind == Kind::block && stride == static_cast<int64_t>(child.size))
    return block_node(count * child.size);
  Node n;
  n.kind = Kind::strided;
  n.size = count * child.size;
  if (child.kind == Kind::strided && stride == wrapping_mul(child.count, child.stride)) {
    n = child;
    n.size = count * child.size;
    n.count = count * child.count;
  } else {
    n.depth = child.depth + 1;
    n.count = count;
    n.stride = stride;
    n.child_size = child.size;
    n.block = child.kind == Kind::block ? child.size : 0;
    n.child = child.kind == Kind::block ? nullptr : &child;
  }
  n.leaves = count * child.leaves;
  n.shape = repeated_shape(n.count, n.child ? n.child->shape : n.block);
  const int64_t last = wrapping_mul(count - 1, stride);
  n.runs = count * child.runs - (stride == child.end ? count - 1 : 0);
  n.end = wrapping_add(last, child.end);
  n.min = wrapping_add(child.min, std::min<int64_t>(last, 0));
  n.max = wrapping_add(child.max, std::max<int64_t>(last, 0));
  return n;
}

bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.size != b.size || a.count != b.count || a.block != b.block || a.end != b.end ||
      a.runs != b.runs || a.min != b.min || a.max != b.max || a.depth != b.depth)
    return false;
  switch (a.kind) {
    case Kind::empty:
    case Kind::block:
      return true;
    case Kind::strided:
      return a.stride == b.stride && (a.child == b.child || same(*a.child, *b.child));
    case Kind::indexed:
      if (!(a.child == b.child || (a.child && b.child && same(*a.child, *b.child)))) return false;
      if (a.offsets32)
        return b.offsets32 && (a.offsets32 == b.offsets32 ||
                               std::memcmp(a.offsets32, b.offsets32, a.count * sizeof(int32_t)) == 0);
      return b.offsets &&
             (a.offsets == b.offsets || std::memcmp(a.offsets, b.offsets, a.count * sizeof(int64_t)) == 0);
    case Kind::blocks:
    case Kind::seq:
      if (a.offsets != b.offsets && std::memcmp(a.offsets, b.offsets, a.count * sizeof(int64_t)) != 0)
        return false;
      if (a.ends != b.ends && std::memcmp(a.ends, b.ends, a.count * sizeof(uint64_t)) != 0) return false;
      if (a.kind == Kind::seq && a.children != b.children)
        for (uint64_t i = 0; i < a.count; i++)
          if (a.children[i] != b.children[i] && !same(*a.children[i], *b.children[i])) return false;
      return true;
  }
  return false;
}

// ---- arena

Arena::~Arena() {
  free_chunks(chunks_);
}

void free_chunks(Chunk* chunks) {
  while (chunks) std::free(std::exchange(chunks, chunks->next));
}

void* Arena::allocate(uint64_t n, size_t each) {
  uint64_t total = 0;
  if (__builtin_mul_overflow(n, each, &total) || __builtin_add_overflow(total, sizeof(Chunk), &total))
    throw std::bad_alloc();
  Chunk* chunk = static_cast<Chunk*>(std::malloc(total));
  if (!chunk) throw std::bad_alloc();
  chunk->next = chunks_;
  chunks_ = chunk;
  return chunk + 1;
}

const Node* Arena::keep(const Node& node) {
  return new (array<Node>(1)) Node(node);
}

Chunk* Arena::take() {
  return std::exchange(chunks_, nullptr);
}

// ---- forms

Form block_form(int64_t origin, uint64_t length) {
  if (length > static_cast<uint64_t>(INT64_MAX)) throw std::length_error("layout size");
  return length ? Form{origin, block_node(length)} : Form{};
}

Form strided_form(Arena& arena, uint64_t count, int64_t stride, const Form& child) {
  checked_mul(count, child.node.size);  // bounds the merged count as well
  Form f{child.origin, repeat(count, stride, child.node)};
  if (f.node.child == &child.node) f.node.child = arena.keep(child.node);
  return f;
}

Form indexed_form(Arena& arena, std::vector<int64_t> origins, const Node& child) {
  const uint64_t n = origins.size();
  if (n == 0 || child.kind == Kind::empty) return Form{};
  if (n == 1) return Form{origins[0], child};
  // The longest regular prefix; when the whole list consists of such pieces it is a grid: nest it.
  const int64_t stride = wrapping_sub(origins[1], origins[0]);
  uint64_t row = 2;
  while (row < n && wrapping_sub(origins[row], origins[row - 1]) == stride) row++;
  bool grid = n % row == 0;
  for (uint64_t i = row; grid && i < n; i++)
    if (i % row != 0) grid = wrapping_sub(origins[i], origins[i - 1]) == stride;
  if (grid) {
    const Form inner = strided_form(arena, row, stride, Form{0, child});
    for (uint64_t i = 0; i < n / row; i++) origins[i] = origins[i * row];
    origins.resize(n / row);
    return indexed_form(arena, std::move(origins), inner.node);
  }

  Form f{origins[0], {}};
  for (int64_t& o : origins) o = wrapping_sub(o, f.origin);
  Node& node = f.node;
  node.kind = Kind::indexed;
  node.depth = child.depth + 1;
  node.size = checked_mul(n, child.size);
  node.count = n;
  node.child_size = child.size;
  node.block = child.kind == Kind::block ? child.size : 0;
  node.child = child.kind == Kind::block ? nullptr : arena.keep(child);
  if (fits32(origins)) {
    int32_t* list = arena.array<int32_t>(n);
    for (uint64_t i = 0; i < n; i++) list[i] = static_cast<int32_t>(origins[i]);
    node.offsets32 = list;
  } else {
    int64_t* list = arena.array<int64_t>(n);
    std::copy(origins.begin(), origins.end(), list);
    node.offsets = list;
  }
  node.shape = repeated_shape(n, child.shape);
  for (uint64_t i = 0; i < n; i++) widen(node, origins[i], child, i == 0);
  node.stride = wrapping_sub(node.max, node.min) / static_cast<int64_t>(n);
  return f;
}

// ---- sequences

bool Sequence::equal(const Item& a, const Item& b) {
  if (!a.node || !b.node) return a.node == b.node && a.length == b.length;
  return a.node == b.node || same(*a.node, *b.node);
}

Node Sequence::node_of(const Item& item) const {
  return item.node ? *item.node : block_node(item.length);
}

void Sequence::append(const Form& form) {
  const Node& n = form.node;
  if (n.kind == Kind::blocks && (n.count <= kSpliceLimit || n.depth >= kSeqInSeqDepth)) {
    for (uint64_t i = 0; i < n.count; i++)
      push(block_form(wrapping_add(form.origin, n.offsets[i]), n.ends[i] - (i ? n.ends[i - 1] : 0)));
  } else if (n.kind == Kind::seq && (n.count <= kSpliceLimit || n.depth >= kSeqInSeqDepth)) {
    // A spliced part is never a seq deep enough to need splicing itself: it was built by this rule.
    for (uint64_t i = 0; i < n.count; i++)
      push(Form{wrapping_add(form.origin, n.offsets[i]), *n.children[i]});
  } else if (!form.empty()) {
    push(form);
  }
}

void Sequence::push(const Form& form) {
  Node& last = last_.node;
  const Node& next = form.node;
  if (last.kind == Kind::block && next.kind == Kind::block &&
      wrapping_add(last_.origin, last.end) == form.origin) {
    last = block_node(checked_add(last.size, next.size));
    return;
  }
  // A strided node that goes on: with another piece of it, or with one more block.
  if (last.kind == Kind::strided && last.block &&
      wrapping_add(last_.origin, wrapping_mul(last.count, last.stride)) == form.origin) {
    const bool strided = next.kind == Kind::strided && next.block == last.block && next.stride == last.stride;
    if (strided || (next.kind == Kind::block && next.size == last.block)) {
      last = repeat(checked_add(last.count, strided ? next.count : 1), last.stride, block_node(last.block));
      return;
    }
  }
  flush();
  last_ = form;
  // Blocks that precede a strided node at its stride belong to it.
  while (last_.node.kind == Kind::strided && last_.node.block && !items_.empty() && !items_.back().node &&
         items_.back().length == last_.node.block &&
         wrapping_add(items_.back().origin, last_.node.stride) == last_.origin) {
    const Node longer =
        repeat(checked_add(last_.node.count, 1), last_.node.stride, block_node(last_.node.block));
    last_ = Form{items_.back().origin, longer};
    items_.pop_back();
  }
}

void Sequence::flush() {
  if (last_.node.kind == Kind::block) {
    items_.push_back({last_.origin, last_.node.size, nullptr});
  } else if (!last_.empty()) {
    // Equal neighbours share one node.
    if (!items_.empty() && items_.back().node && same(*items_.back().node, last_.node))
      items_.push_back({last_.origin, 0, items_.back().node});
    else
      items_.push_back({last_.origin, 0, arena_.keep(last_.node)});
  }
  last_ = Form{};
}

Form Sequence::finish() {
  flush();
  return finish(std::move(items_));
}

Form Sequence::finish(std::vector<Item> items) {
  // Items that are equal and follow each other become one indexed (or strided) item, the blocks between them
  // one list; what is left is a seq.
  std::vector<Item> parts;
  const auto add = [&](const Form& f) {
    if (f.node.kind == Kind::block)
      parts.push_back({f.origin, f.node.size, nullptr});
    else
      parts.push_back({f.origin, 0, arena_.keep(f.node)});
  };
  const uint64_t n = items.size();
  uint64_t blocks_from = 0;  // items[blocks_from, i) are blocks that are in no part yet
  for (uint64_t i = 0; i < n;) {
    uint64_t j = i + 1;
    while (j < n && equal(items[j], items[i])) j++;
    const bool everything = j - i == n;
    if (items[i].node || everything || j - i >= kEqualBlocks) {
      if (blocks_from < i) add(block_list(&items[blocks_from], i - blocks_from));
      std::vector<int64_t> origins(j - i);
      for (uint64_t k = i; k < j; k++) origins[k - i] = items[k].origin;
      const Form f = indexed_form(arena_, std::move(origins), node_of(items[i]));
      if (everything) return f;
      add(f);
      blocks_from = j;
    }
    i = j;
  }
  if (blocks_from < n) {
    const Form f = block_list(&items[blocks_from], n - blocks_from);
    if (blocks_from == 0) return f;
    add(f);
  }
  if (parts.empty()) return Form{};
  if (parts.size() == 1) return Form{parts[0].origin, node_of(parts[0])};
  return seq(parts);
}

Form Sequence::block_list(const Item* items, uint64_t n) {
  Form f{items[0].origin, block_node(items[0].length)};
  if (n == 1) return f;
  uint64_t unit = 0, total = 0;
  for (uint64_t i = 0; i < n; i++) {
    unit = std::gcd(unit, items[i].length);
    total = checked_add(total, items[i].length);
  }
  if (n > 4 && unit <= kLongestUnit && total / unit <= n * kUnitsPerBlock) {
    std::vector<int64_t> origins;
    origins.reserve(total / unit);
    for (uint64_t i = 0; i < n; i++)
      for (uint64_t k = 0; k < items[i].length; k += unit)
        origins.push_back(wrapping_add(items[i].origin, static_cast<int64_t>(k)));
    return indexed_form(arena_, std::move(origins), block_node(unit));
  }
  Node& node = f.node;
  node = Node();
  node.kind = Kind::blocks;
  node.shape = 0x626c6f636b73;
  node.depth = 1;
  node.count = n;
  int64_t* offsets = arena_.array<int64_t>(n);
  uint64_t* ends = arena_.array<uint64_t>(n);
  for (uint64_t i = 0; i < n; i++) {
    offsets[i] = wrapping_sub(items[i].origin, f.origin);
    node.size = ends[i] = checked_add(node.size, items[i].length);
    widen(node, offsets[i], block_node(items[i].length), i == 0);
    node.shape = mix(node.shape, items[i].length);
  }
  node.offsets = offsets;
  node.ends = ends;
  return f;
}

Form Sequence::seq(const std::vector<Item>& items) {
  const uint64_t n = items.size();
  Form f{items[0].origin, {}};
  Node& node = f.node;
  node.kind = Kind::seq;
  node.shape = 0x736571;
  node.count = n;
  int64_t* offsets = arena_.array<int64_t>(n);
  uint64_t* ends = arena_.array<uint64_t>(n);
  const Node** children = arena_.array<const Node*>(n);
  for (uint64_t i = 0; i < n; i++) {
    offsets[i] = wrapping_sub(items[i].origin, f.origin);
    node.size = ends[i] = checked_add(node.size, items[i].size());
    children[i] = items[i].node ? items[i].node : arena_.keep(block_node(items[i].length));
    node.depth = std::max(node.depth, children[i]->depth + 1);
    widen(node, offsets[i], *children[i], i == 0);
    node.shape = mix(node.shape, children[i]->shape);
  }
  node.offsets = offsets;
  node.ends = ends;
  node.children = children;
  return f;
}

}  // namespace tasuki::layout
