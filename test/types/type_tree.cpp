#include "type_tree.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace types {

// Sizes and alignments of x86-64; the program checks them against MPI_Type_size at its start.
const std::vector<Basic>& basics() {
  static const std::vector<Basic> list = {
      {"CHAR", 1, 1},
      {"SIGNED_CHAR", 1, 1},
      {"UNSIGNED_CHAR", 1, 1},
      {"BYTE", 1, 1},
      {"SHORT", 2, 2},
      {"UNSIGNED_SHORT", 2, 2},
      {"INT", 4, 4},
      {"UNSIGNED", 4, 4},
      {"LONG", 8, 8},
      {"UNSIGNED_LONG", 8, 8},
      {"LONG_LONG", 8, 8},
      {"UNSIGNED_LONG_LONG", 8, 8},
      {"FLOAT", 4, 4},
      {"DOUBLE", 8, 8},
      {"LONG_DOUBLE", 16, 16},
      {"WCHAR", 4, 4},
      {"C_BOOL", 1, 1},
      {"INT8_T", 1, 1},
      {"INT16_T", 2, 2},
      {"INT32_T", 4, 4},
      {"INT64_T", 8, 8},
      {"UINT8_T", 1, 1},
      {"UINT16_T", 2, 2},
      {"UINT32_T", 4, 4},
      {"UINT64_T", 8, 8},
      {"AINT", 8, 8},
      {"OFFSET", 8, 8},
      {"COUNT", 8, 8},
      {"C_FLOAT_COMPLEX", 8, 4},
      {"C_DOUBLE_COMPLEX", 16, 8},
      {"C_LONG_DOUBLE_COMPLEX", 32, 16},
      {"CXX_BOOL", 1, 1},
      {"CXX_DOUBLE_COMPLEX", 16, 8},
      {"INTEGER", 4, 4},
      {"REAL", 4, 4},
      {"DOUBLE_PRECISION", 8, 8},
      {"COMPLEX", 8, 4},
      {"DOUBLE_COMPLEX", 16, 8},
      {"LOGICAL", 4, 4},
      {"CHARACTER", 1, 1},
      {"INTEGER2", 2, 2},
      {"INTEGER8", 8, 8},
      {"REAL8", 8, 8},
  };
  return list;
}

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> list = {
      {"FLOAT_INT", "FLOAT", "INT", 4, 8}, {"DOUBLE_INT", "DOUBLE", "INT", 8, 16},
      {"LONG_INT", "LONG", "INT", 8, 16},  {"2INT", "INT", "INT", 4, 8},
      {"SHORT_INT", "SHORT", "INT", 4, 8}, {"LONG_DOUBLE_INT", "LONG_DOUBLE", "INT", 16, 32},
  };
  return list;
}

const char* name_of(Kind kind) {
  static const char* const names[kKinds] = {
      "basic",         "pair",           "contiguous", "vector",   "hvector", "indexed", "hindexed",
      "indexed_block", "hindexed_block", "struct",     "subarray", "darray",  "resized", "dup"};
  return names[static_cast<int>(kind)];
}

int64_t Tree::bytes() const {
  return std::accumulate(map.begin(), map.end(), int64_t{0},
                         [](int64_t sum, const Entry& e) { return sum + e.size; });
}

int64_t Tree::true_lower() const {
  int64_t low = map.empty() ? 0 : map[0].offset;
  for (const Entry& e : map) low = std::min(low, e.offset);
  return low;
}

int64_t Tree::true_upper() const {
  int64_t high = map.empty() ? 0 : map[0].offset + map[0].size;
  for (const Entry& e : map) high = std::max(high, e.offset + e.size);
  return high;
}

bool disjoint(const Tree& tree, int64_t count) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  spans.reserve(tree.map.size() * static_cast<size_t>(count));
  for (int64_t i = 0; i < count; i++)
    for (const Entry& e : tree.map) spans.emplace_back(e.offset + i * tree.extent(), e.size);
  std::sort(spans.begin(), spans.end());
  for (size_t i = 1; i < spans.size(); i++)
    if (spans[i - 1].first + spans[i - 1].second > spans[i].first) return false;
  return true;
}

namespace {

size_t basic_index(const char* name) {
  for (size_t i = 0; i < basics().size(); i++)
    if (strcmp(basics()[i].name, name) == 0) return i;
  abort();
}

Entry element(int64_t offset, uint8_t basic) {
  const Basic& b = basics()[basic];
  return {offset, static_cast<uint32_t>(b.size), b.alignment == 16};
}

// A copy of a child placed at a displacement: the one rule from which every constructor's meaning follows.
struct Placed {
  const Tree* child;
  int64_t displacement;
};

void place(Tree& tree, const std::vector<Placed>& copies) {
  bool any = false, any_set = false;
  for (const Placed& copy : copies) {
    const Tree& child = *copy.child;
    for (const Entry& e : child.map) tree.map.push_back({e.offset + copy.displacement, e.size, e.x87});
    tree.alignment = std::max(tree.alignment, child.alignment);
    // A member that describes nothing still counts as a point: the libraries agree on that, the standard is
    // silent. Bounds that a resized type set win over natural ones (MPI 3.1, section 4.1.7).
    if (any_set && !child.bounds_set) continue;
    int64_t low = child.lower + copy.displacement, high = child.upper + copy.displacement;
    if (!any || (child.bounds_set && !any_set)) {
      tree.lower = low;
      tree.upper = high;
    } else {
      tree.lower = std::min(tree.lower, low);
      tree.upper = std::max(tree.upper, high);
    }
    any = true;
    any_set = any_set || child.bounds_set;
  }
  tree.bounds_set = any_set;
}

int depth_above(const std::vector<TreePtr>& children) {
  int depth = 0;
  for (const TreePtr& child : children) depth = std::max(depth, child->depth);
  return depth + 1;
}

// `copies` of the child one extent apart from each displacement on.
std::vector<Placed> blocks_of(const Tree& child, const std::vector<int64_t>& lengths,
                              const std::vector<int64_t>& byte_displacements) {
  std::vector<Placed> copies;
  for (size_t i = 0; i < lengths.size(); i++)
    for (int64_t k = 0; k < lengths[i]; k++)
      copies.push_back({&child, byte_displacements[i] + k * child.extent()});
  return copies;
}

class Builder {
 public:
  Builder(Random& random, bool careful) : random_(random), careful_(careful) {}

  TreePtr build(const uint8_t* sig, size_t n, int depth) {
    if (n == 0) return empty();
    if (depth <= 0) return shallow(sig, n);
    if (n == 1 && random_.chance(40)) return leaf(sig[0]);
    int64_t roll = random_.between(1, 100);
    if (roll <= 6) return dup(build(sig, n, depth - 1));
    if (roll <= 16) return resized(build(sig, n, depth - 1));
    std::vector<size_t> repeats = repetitions(sig, n);
    bool repeat = repeats.size() > 1 || random_.chance(35);
    if (repeat && !(n > 1 && random_.chance(20))) {
      size_t k = random_.pick(repeats);
      if (k == 1 && repeats.size() > 1 && random_.chance(70)) k = random_.pick(repeats);
      return repeated(build(sig, n / k, depth - 1), static_cast<int64_t>(k));
    }
    return structure(sig, n, depth);
  }

  // The same with room for the next element after it.
  TreePtr spread(TreePtr child) {
    if (child->map.empty() || !needs_bytes(*child)) return child;
    int64_t a = child->alignment, low = child->true_lower();
    return resized_to(child, low, (child->true_upper() - low + a - 1) / a * a);
  }

 private:
  Random& random_;
  bool careful_;  // never shrink an extent, never interleave: the result cannot overlap itself

  static std::shared_ptr<Tree> node(Kind kind, std::vector<TreePtr> children) {
    auto tree = std::make_shared<Tree>();
    tree->kind = kind;
    tree->depth = depth_above(children);
    tree->children = std::move(children);
    return tree;
  }

  TreePtr leaf(uint8_t basic) {
    auto tree = std::make_shared<Tree>();
    const Basic& b = basics()[basic];
    tree->kind = Kind::basic;
    tree->count = basic;
    tree->map = {element(0, basic)};
    tree->upper = b.size;
    tree->alignment = b.alignment;
    return tree;
  }

  // A predefined pair type if the two elements have one, else null.
  TreePtr pair(const uint8_t* sig) {
    for (size_t i = 0; i < pairs().size(); i++) {
      const Pair& p = pairs()[i];
      if (sig[0] != basic_index(p.first) || sig[1] != basic_index(p.second)) continue;
      auto tree = std::make_shared<Tree>();
      tree->kind = Kind::pair;
      tree->count = static_cast<int64_t>(i);
      tree->map = {element(0, sig[0]), element(p.second_offset, sig[1])};
      tree->upper = p.extent;
      tree->alignment = basics()[sig[0]].alignment > 4 ? basics()[sig[0]].alignment : 4;
      return tree;
    }
    return nullptr;
  }

  // Elements that describe nothing.
  TreePtr empty() {
    TreePtr child = leaf(static_cast<uint8_t>(random_.between(0, static_cast<int64_t>(basics().size()) - 1)));
    switch (random_.between(0, 3)) {
      case 0:
        return contiguous(child, 0);
      case 1:
        return node(Kind::structure, {});
      case 2: {
        auto tree = node(Kind::vector, {child});
        tree->block = 3;
        tree->stride = 5;
        return tree;
      }
      default: {
        auto tree = node(Kind::indexed, {child});
        tree->blocks = {0, 0};
        tree->displacements = {4, 7};
        return tree;
      }
    }
  }

  TreePtr shallow(const uint8_t* sig, size_t n) {
    if (n == 1) return leaf(sig[0]);
    if (n == 2 && random_.chance(80))
      if (TreePtr p = pair(sig)) return p;
    if (std::all_of(sig, sig + n, [&](uint8_t b) { return b == sig[0]; }))
      return repeated(leaf(sig[0]), static_cast<int64_t>(n));
    return structure(sig, n, 0);
  }

  // All k such that the signature is k times the same.
  static std::vector<size_t> repetitions(const uint8_t* sig, size_t n) {
    std::vector<size_t> list;
    for (size_t k = 1; k <= n; k++) {
      if (n % k != 0) continue;
      size_t period = n / k;
      if (memcmp(sig, sig + period, n - period) == 0) list.push_back(k);
    }
    return list;
  }

  // The libraries differ in how they pad an extent that is no multiple of the alignment (the standard's
  // epsilon; MPICH pads explicit bounds too, Open MPI member by member): such an extent is rounded up
  // explicitly. `unit`: displacements are multiples of it.
  TreePtr settle(std::shared_ptr<Tree> tree, int64_t unit = 0) {
    int64_t a = tree->alignment;
    bool as_expected = unit == 0 || unit % a == 0;
    if (as_expected && tree->extent() % a == 0) return tree;
    return resized_to(tree, tree->lower, (tree->extent() + a - 1) / a * a);
  }

  TreePtr dup(TreePtr child) {
    auto tree = node(Kind::dup, {child});
    place(*tree, {{child.get(), 0}});
    return tree;
  }

  TreePtr resized_to(TreePtr child, int64_t lower, int64_t extent) {
    auto tree = node(Kind::resized, {child});
    tree->map = child->map;
    tree->alignment = child->alignment;
    tree->lower = lower;
    tree->upper = lower + extent;
    tree->bounds_set = true;
    return tree;
  }

  TreePtr resized(TreePtr child) {
    if (child->map.empty()) return dup(child);
    int64_t a = child->alignment, low = child->true_lower(), high = child->true_upper();
    int64_t lower = low - a * random_.between(0, 3);
    if (random_.chance(15)) lower = low + a * random_.between(-5, 5);
    int64_t extent = (high - lower + a - 1) / a * a + a * random_.between(0, 3);
    if (extent <= 0) extent = a;
    // Smaller than what it holds: consecutive elements interleave (columns of a matrix), or overlap.
    if (!careful_ && random_.chance(20))
      extent = a * random_.between(1, std::max<int64_t>(1, (high - low) / a));
    return resized_to(child, lower, extent);
  }

  TreePtr contiguous(TreePtr child, int64_t count) {
    auto tree = node(Kind::contiguous, {child});
    tree->count = count;
    place(*tree, blocks_of(*child, {count}, {0}));
    return settle(tree);
  }

  int64_t divisor_of(int64_t n) {
    std::vector<int64_t> list;
    for (int64_t d = 1; d <= n; d++)
      if (n % d == 0) list.push_back(d);
    return random_.pick(list);
  }

  // `count` copies of the child by a random constructor.
  TreePtr repeated(TreePtr child, int64_t count) {
    if (careful_ && needs_bytes(*child)) return indexed_block(child, count, true);
    switch (random_.between(0, 8)) {
      case 0:
        return contiguous(child, count);
      case 1:
      case 2:
        return vector(child, count, random_.chance(50));
      case 3:
        return indexed(child, count, random_.chance(50));
      case 4:
        return indexed(child, count, random_.chance(50));
      case 5:
      case 6:
        return indexed_block(child, count, random_.chance(50));
      case 7:
        return subarray(child, count);
      default:
        return darray(child, count);
    }
  }

  // Bytes from the start of one copy to where a next one cannot touch it.
  static int64_t span(const Tree& child, int64_t copies) {
    int64_t one = child.true_upper() - child.true_lower();
    return one + (copies > 0 ? copies - 1 : 0) * std::max<int64_t>(child.extent(), 0);
  }

  int64_t gap() {
    return random_.chance(40) ? 0 : random_.chance(90) ? random_.between(1, 5) : random_.between(6, 60);
  }

  // A type whose copies cannot stand side by side at multiples of its extent is given byte displacements.
  static bool needs_bytes(const Tree& child) {
    return child.extent() <= 0 || child.true_upper() - child.true_lower() > child.extent();
  }

  TreePtr vector(TreePtr child, int64_t copies, bool bytes) {
    int64_t block = divisor_of(copies), count = copies / block;
    bytes = bytes || (careful_ && needs_bytes(*child));
    if (careful_ && needs_bytes(*child)) {
      block = 1;
      count = copies;
    }
    int64_t a = random_.chance(8) ? 1 : child->alignment;  // sometimes not aligned
    int64_t stride = bytes ? (span(*child, block) + a - 1) / a * a + gap() * a : block + gap();
    if (child->extent() > 0 && random_.chance(20)) {
      stride = -stride;
      // Open MPI 4.1 takes elements one extent (or less) apart for a contiguous block, also backwards.
      int64_t unit = bytes ? 1 : child->extent(), room = block * std::max<int64_t>(child->extent(), 1);
      if (-stride * unit <= room) stride = -(room / unit + (unit > 1 ? 1 : a));
    }
    auto tree = node(bytes ? Kind::hvector : Kind::vector, {child});
    tree->count = count;
    tree->block = block;
    tree->stride = stride;
    std::vector<int64_t> lengths(static_cast<size_t>(count), block), at(lengths.size());
    for (size_t i = 0; i < at.size(); i++)
      at[i] = static_cast<int64_t>(i) * stride * (bytes ? 1 : child->extent());
    place(*tree, blocks_of(*child, lengths, at));
    return settle(tree, bytes ? a : 0);
  }

  // Places for blocks of these lengths, in units (bytes or extents): with gaps, in random order, some below
  // zero.
  std::vector<int64_t> places(const std::vector<int64_t>& room, int64_t unit) {
    std::vector<size_t> order(room.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (random_.chance(30)) random_.shuffle(order);
    std::vector<int64_t> at(room.size());
    int64_t next = random_.chance(25) ? -random_.between(0, 20) * unit : random_.between(0, 3) * unit;
    bool dense = random_.chance(15);
    for (size_t i : order) {
      at[i] = next;
      next += room[i] + (dense ? 0 : gap() * unit);
    }
    return at;
  }

  TreePtr indexed(TreePtr child, int64_t copies, bool bytes) {
    std::vector<int64_t> lengths;
    int64_t left = copies, most = std::max<int64_t>(1, copies / random_.between(1, 8));
    if (careful_ && needs_bytes(*child)) {
      bytes = true;
      most = 1;
    }
    while (left > 0) {
      int64_t length = random_.between(1, std::min(left, most));
      if (lengths.size() > 400) length = left;
      if (careful_ && needs_bytes(*child)) length = 1;
      lengths.push_back(length);
      left -= length;
      if (random_.chance(5)) lengths.push_back(0);
    }
    int64_t a = random_.chance(8) ? 1 : child->alignment;
    std::vector<int64_t> room;
    for (int64_t length : lengths)
      room.push_back(bytes ? (length ? (span(*child, length) + a - 1) / a * a : 0) : length);
    auto tree = node(bytes ? Kind::hindexed : Kind::indexed, {child});
    tree->blocks = lengths;
    tree->displacements = places(room, bytes ? a : 1);
    std::vector<int64_t> at = tree->displacements;
    if (!bytes)
      for (int64_t& d : at) d *= child->extent();
    place(*tree, blocks_of(*child, lengths, at));
    return settle(tree, bytes ? a : 0);
  }

  TreePtr indexed_block(TreePtr child, int64_t copies, bool bytes) {
    int64_t block = divisor_of(copies);
    if (careful_ && needs_bytes(*child)) {
      bytes = true;
      block = 1;
    }
    int64_t a = random_.chance(8) ? 1 : child->alignment;
    std::vector<int64_t> lengths(static_cast<size_t>(copies / block), block);
    std::vector<int64_t> room(lengths.size(), bytes ? (span(*child, block) + a - 1) / a * a : block);
    auto tree = node(bytes ? Kind::hindexed_block : Kind::indexed_block, {child});
    tree->block = block;
    tree->displacements = places(room, bytes ? a : 1);
    std::vector<int64_t> at = tree->displacements;
    if (!bytes)
      for (int64_t& d : at) d *= child->extent();
    place(*tree, blocks_of(*child, lengths, at));
    return settle(tree, bytes ? a : 0);
  }

  // `copies` as a product of one to four factors.
  std::vector<int64_t> factors(int64_t copies) {
    std::vector<int64_t> list;
    int64_t dimensions = random_.between(1, 4);
    for (int64_t d = 1; d < dimensions; d++) {
      int64_t f = divisor_of(copies);
      list.push_back(f);
      copies /= f;
    }
    list.push_back(copies);
    random_.shuffle(list);
    return list;
  }

  // The places of a box of an array in memory order, `index[d]` being the chosen places in dimension d.
  static std::vector<int64_t> array_places(const std::vector<int64_t>& sizes,
                                           const std::vector<std::vector<int64_t>>& index, bool fortran) {
    std::vector<int64_t> places{0};
    size_t n = sizes.size();
    int64_t stride = 1;
    // From the slowest dimension to the fastest, so that the list is in the order of the type map.
    std::vector<int64_t> strides(n);
    for (size_t k = 0; k < n; k++) {
      size_t d = fortran ? k : n - 1 - k;
      strides[d] = stride;
      stride *= sizes[d];
    }
    for (size_t k = 0; k < n; k++) {
      size_t d = fortran ? n - 1 - k : k;
      std::vector<int64_t> more;
      for (int64_t at : places)
        for (int64_t i : index[d]) more.push_back(at + i * strides[d]);
      places = std::move(more);
    }
    return places;
  }

  // An array type's bounds are those of the whole array, whatever its element's are.
  TreePtr finish_array(std::shared_ptr<Tree> tree, const std::vector<int64_t>& at) {
    const Tree& child = *tree->children[0];
    std::vector<Placed> copies;
    for (int64_t place_ : at) copies.push_back({&child, place_ * child.extent()});
    place(*tree, copies);
    int64_t elements = 1;
    for (int64_t size : tree->sizes) elements *= size;
    tree->lower = 0;
    tree->upper = elements * child.extent();
    tree->bounds_set = true;
    return tree;
  }

  TreePtr subarray(TreePtr child, int64_t copies) {
    if (child->extent() <= 0 || (careful_ && needs_bytes(*child))) return indexed_block(child, copies, true);
    auto tree = node(Kind::subarray, {child});
    tree->subsizes = factors(copies);
    tree->fortran_order = random_.chance(50);
    std::vector<std::vector<int64_t>> index;
    for (int64_t sub : tree->subsizes) {
      int64_t before = random_.chance(50) ? random_.between(0, 3) : 0,
              after = random_.chance(50) ? random_.between(0, 3) : 0;
      tree->sizes.push_back(before + sub + after);
      tree->starts.push_back(before);
      std::vector<int64_t> list(static_cast<size_t>(sub));
      std::iota(list.begin(), list.end(), before);
      index.push_back(list);
    }
    return finish_array(tree, array_places(tree->sizes, index, tree->fortran_order));
  }

  // The places of dimension `size` that process `p` of `processes` owns (MPI 3.1, section 4.1.4).
  static std::vector<int64_t> owned(int64_t size, int64_t distribution, int64_t argument, int64_t processes,
                                    int64_t p) {
    std::vector<int64_t> list;
    int64_t block = argument;
    if (distribution == kDistributeNone) {
      block = size;
    } else if (argument == kDefaultArgument) {
      block = distribution == kDistributeBlock ? (size + processes - 1) / processes : 1;
    }
    for (int64_t i = 0; i < size; i++)
      if (i / block % processes == p) list.push_back(i);
    return list;
  }

  TreePtr darray(TreePtr child, int64_t copies) {
    if (child->extent() <= 0 || (careful_ && needs_bytes(*child))) return indexed_block(child, copies, true);
    auto tree = node(Kind::darray, {child});
    std::vector<int64_t> local = factors(copies);
    size_t n = local.size();
    tree->fortran_order = random_.chance(50);
    std::vector<int64_t> coordinates;
    std::vector<std::vector<int64_t>> index;
    tree->grid_size = 1;
    for (size_t d = 0; d < n; d++) {
      int64_t distribution = random_.between(0, 2), processes = random_.between(1, 3),
              argument = kDefaultArgument;
      if (distribution == kDistributeNone) processes = 1;
      int64_t p = random_.between(0, processes - 1), size = local[d] * processes;
      if (distribution == kDistributeBlock && random_.chance(50)) {
        // A given block; the last process may own less.
        argument = local[d] + (p == processes - 1 ? random_.between(0, 3) : 0);
        size = argument * p + local[d] +
               (p == processes - 1 ? 0 : random_.between(0, argument * (processes - 1 - p)));
      } else if (distribution == kDistributeCyclic && random_.chance(60)) {
        argument = random_.between(1, 4);
        while (owned(size, distribution, argument, processes, p).size() < static_cast<size_t>(local[d]))
          size++;
        while (owned(size, distribution, argument, processes, p).size() > static_cast<size_t>(local[d]))
          size--;
      }
      tree->sizes.push_back(size);
      tree->distributions.push_back(distribution);
      tree->arguments.push_back(argument);
      tree->grid.push_back(processes);
      tree->grid_size *= processes;
      coordinates.push_back(p);
      index.push_back(owned(size, distribution, argument, processes, p));
      if (index.back().size() != static_cast<size_t>(local[d])) return subarray(child, copies);
    }
    // The process grid is always numbered row-major, also for Fortran arrays.
    for (size_t d = 0; d < n; d++) tree->grid_rank = tree->grid_rank * tree->grid[d] + coordinates[d];
    return finish_array(tree, array_places(tree->sizes, index, tree->fortran_order));
  }

  // Whether a prefix of the members has an extent that would be padded: Open MPI keeps such padding for the
  // whole.
  static bool padded_between(const std::vector<Placed>& copies) {
    int64_t low = 0, high = 0, alignment = 1;
    for (size_t i = 0; i < copies.size(); i++) {
      int64_t from = copies[i].child->lower + copies[i].displacement,
              to = copies[i].child->upper + copies[i].displacement;
      low = i == 0 ? from : std::min(low, from);
      high = i == 0 ? to : std::max(high, to);
      alignment = std::max(alignment, copies[i].child->alignment);
      if ((high - low) % alignment != 0) return true;
    }
    return false;
  }

  TreePtr structure(const uint8_t* sig, size_t n, int depth) {
    std::vector<TreePtr> children;
    std::vector<int64_t> lengths;
    auto add = [&](const uint8_t* piece, size_t length) {
      std::vector<size_t> repeats = repetitions(piece, length);
      size_t k = random_.chance(50) ? random_.pick(repeats) : 1;
      children.push_back(build(piece, length / k, depth - 1));
      lengths.push_back(static_cast<int64_t>(k));
    };
    if (depth <= 0) {  // one member for each run of equal elements
      for (size_t i = 0; i < n;) {
        size_t run = 1;
        while (i + run < n && sig[i + run] == sig[i]) run++;
        children.push_back(leaf(sig[i]));
        lengths.push_back(static_cast<int64_t>(run));
        i += run;
      }
    } else {
      size_t pieces = static_cast<size_t>(random_.between(1, 5)), from = 0;
      for (size_t p = 1; p <= pieces && from < n; p++) {
        size_t to =
            p == pieces ? n : from + static_cast<size_t>(random_.between(1, static_cast<int64_t>(n - from)));
        add(sig + from, to - from);
        from = to;
        if (random_.chance(6)) {  // a member that holds nothing
          children.push_back(random_.chance(50) ? empty() : leaf(0));
          lengths.push_back(children.back()->map.empty() ? random_.between(0, 3) : 0);
        }
      }
    }
    if (careful_)
      for (size_t i = 0; i < children.size(); i++)
        if (lengths[i] > 1 && needs_bytes(*children[i])) {
          children[i] = indexed_block(children[i], lengths[i], true);
          lengths[i] = 1;
        }
    // Whether a member's explicit bounds hide the natural ones of its neighbours is where libraries differ:
    // all members with explicit bounds, or none.
    bool any_set = false;
    for (size_t i = 0; i < children.size(); i++)
      any_set = any_set || (children[i]->bounds_set && lengths[i] > 0);
    int64_t alignment = 1;
    for (size_t i = 0; i < children.size(); i++) {
      TreePtr& child = children[i];
      if (any_set && child->map.empty()) lengths[i] = 0;
      if (any_set && !child->bounds_set && !child->map.empty())
        child = resized_to(child, child->lower, child->extent());
      alignment = std::max(alignment, child->alignment);
    }
    int64_t a = random_.chance(8) ? 1 : alignment;
    std::vector<int64_t> room, at;
    for (size_t i = 0; i < children.size(); i++) {
      int64_t bytes = lengths[i] && !children[i]->map.empty() ? span(*children[i], lengths[i]) : 0;
      room.push_back((bytes + a - 1) / a * a);
    }
    auto tree = node(Kind::structure, children);
    at = places(room, a);
    // `at` is where a member's first byte goes; MPI wants where its origin goes.
    for (size_t i = 0; i < children.size(); i++) at[i] -= children[i]->true_lower() / a * a;
    // A member that holds nothing must not stretch the bounds: it would (both libraries), and Open MPI 4.1
    // then sends wrong bytes.
    size_t solid = 0;
    while (children[solid]->map.empty() || lengths[solid] == 0) solid++;
    for (size_t i = 0; i < children.size(); i++)
      if (children[i]->map.empty()) at[i] = at[solid] + children[solid]->lower;
    tree->blocks = lengths;
    tree->displacements = at;
    std::vector<Placed> copies;
    for (size_t i = 0; i < children.size(); i++)
      for (int64_t k = 0; k < lengths[i]; k++)
        copies.push_back({children[i].get(), at[i] + k * children[i]->extent()});
    place(*tree, copies);
    return settle(tree, padded_between(copies) ? 1 : a);
  }
};

}  // namespace

Signature random_signature(Random& random, size_t most) {
  Signature signature;
  int few = random.chance(50);  // signatures over one or two basic types leave more ways to describe them
  std::vector<uint8_t> alphabet;
  for (int i = 0; i < (few ? 2 : 6); i++)
    alphabet.push_back(static_cast<uint8_t>(random.between(0, static_cast<int64_t>(basics().size()) - 1)));
  if (random.chance(25)) {  // so that the pair types get their turn
    const Pair& p = random.pick(pairs());
    alphabet = {static_cast<uint8_t>(basic_index(p.first)), static_cast<uint8_t>(basic_index(p.second))};
  }
  for (int64_t part = random.between(1, 3); part > 0; part--) {
    Signature unit;
    for (int64_t run = random.between(1, 4); run > 0; run--) {
      uint8_t basic = random.pick(alphabet);
      for (int64_t k = random.chance(60) ? 1 : random.between(1, 4); k > 0; k--) unit.push_back(basic);
    }
    int64_t times = random.chance(30) ? 1 : random.between(1, random.chance(80) ? 12 : 60);
    for (int64_t i = 0; i < times && signature.size() + unit.size() <= most; i++)
      signature.insert(signature.end(), unit.begin(), unit.end());
  }
  return signature;
}

TreePtr random_tree(Random& random, const Signature& signature, int depth, int64_t count, bool receive) {
  // Bytes from the first to the last; now and then much more.
  int64_t widest = random.chance(2) ? 8 << 20 : 512 << 10;
  for (int attempt = 0;; attempt++) {
    // Long signatures may need more room than the first choice, and a tree that cannot overlap itself.
    bool careful = attempt >= (receive ? 4 : 16);
    if (attempt >= 8) widest += widest / 2;
    Builder builder(random, careful);
    TreePtr tree = builder.build(signature.data(), signature.size(), attempt < 12 ? depth : 1);
    if (careful && count > 1) tree = builder.spread(tree);
    if (count > 1 && tree->extent() < 0) continue;
    if (std::max(tree->true_upper() - tree->true_lower(), tree->extent()) * std::max<int64_t>(count, 1) >
        widest)
      continue;
    if (receive && !disjoint(*tree, count)) continue;
    return tree;
  }
}

std::string describe(const Tree& tree) {
  auto list = [](const char* name, const std::vector<int64_t>& values) {
    if (values.empty()) return std::string();
    std::string text = std::string(" ") + name + "=[";
    for (size_t i = 0; i < values.size(); i++) text += (i ? "," : "") + std::to_string(values[i]);
    return text + "]";
  };
  if (tree.kind == Kind::basic) return basics()[static_cast<size_t>(tree.count)].name;
  if (tree.kind == Kind::pair) return pairs()[static_cast<size_t>(tree.count)].name;
  std::string text = std::string(name_of(tree.kind)) + "(";
  switch (tree.kind) {
    case Kind::contiguous:
      text += " count=" + std::to_string(tree.count);
      break;
    case Kind::vector:
    case Kind::hvector:
      text += " count=" + std::to_string(tree.count) + " block=" + std::to_string(tree.block) +
              " stride=" + std::to_string(tree.stride);
      break;
    case Kind::indexed_block:
    case Kind::hindexed_block:
      text += " block=" + std::to_string(tree.block);
      break;
    case Kind::resized:
      text += " lower=" + std::to_string(tree.lower) + " extent=" + std::to_string(tree.extent());
      break;
    case Kind::darray:
      text += " rank=" + std::to_string(tree.grid_rank) + " of " + std::to_string(tree.grid_size);
      break;
    default:
      break;
  }
  text += list("blocks", tree.blocks) + list("at", tree.displacements) + list("sizes", tree.sizes) +
          list("subsizes", tree.subsizes) + list("starts", tree.starts) +
          list("distributions", tree.distributions) + list("arguments", tree.arguments) +
          list("grid", tree.grid);
  if (tree.fortran_order) text += " fortran";
  for (const TreePtr& child : tree.children) text += ", " + describe(*child);
  return text + ")";
}

}  // namespace types
