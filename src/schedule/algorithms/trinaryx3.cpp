// Trinaryx3: three pipelines at once on a torus or mesh. The message is cut into three parts; each flows in
// segments along a spanning tree of its own, and no directed link belongs to two trees, so the root sends,
// and every other rank receives, on three links all the time. (The name and the idea are those of the
// broadcast in the paper on the threaded MPI library, section 4.2.3, which leaves the trees to its reference;
// those below are our own.)
//
// Three dimensions or more. Tree k (k = 0, 1, 2) takes the dimensions in cyclic order k, k + 1, ...: from the
// root outward along dimension k; from all those nodes outward along k + 1; from all these along k + 2; and
// so on. That reaches every node whose coordinate k differs from the root's. The others, but for the root,
// receive by one inward link of dimension k. Outward links of dimension j from nodes with these distances x
// from the root belong to tree j if no x but x[j] differs from 0; else to tree k where k is the first
// dimension after j, cyclically, with x[k] not 0: never to two. Inward links of dimension k belong to tree k
// only. With wrap-around, outward goes both ways round; the links of the two ways never meet, nor do they
// meet the inward one, which leads into coordinate 0.
//
// Two dimensions, with wrap-around and extents of at least 3: two trees as above would leave no room for a
// third one, so there the trees go one way round. With directions +x, +y, -x in turn for `a`, and the
// direction left of it for `b`: from the root along a, all of that row; from its nodes along b, all of those
// columns; and from the last node of every row along a once more, into the root's column.
//
// The nic of a send is the number of its direction, 2 * dimension and one more for the negative one, so that
// sends in different directions use different injection ports where a node has enough of them.
#include <array>
#include <cerrno>

#include "schedule/algorithms.h"
#include "schedule/algorithms/tree.h"

namespace tasuki::schedule {
namespace {

constexpr uint32_t kTrees = 3;

struct Direction {
  size_t dimension;
  bool positive;
  bool operator==(const Direction&) const = default;
};

// The shape without dimensions of extent 1, and coordinates as distances from the root in positive direction.
class Torus {
 public:
  explicit Torus(const Parameters& p) : wraps_(p.wraps) {
    uint32_t stride = 1;
    for (size_t d = 0; d < p.shape.size(); d++) {
      if (p.shape[d] > 1) {
        dims_.push_back({static_cast<int16_t>(d), p.shape[d], stride, p.root / stride % p.shape[d]});
      }
      stride *= p.shape[d];
    }
  }
  size_t dimensions() const { return dims_.size(); }
  uint32_t extent(size_t d) const { return dims_[d].extent; }
  uint32_t distance(uint32_t rank, size_t d) const {
    const uint32_t c = coordinate(rank, d);
    return (c + dims_[d].extent - dims_[d].root) % dims_[d].extent;
  }
  // Whether the way from the root's coordinate outward to the rank's goes in positive direction.
  bool outward_is_positive(uint32_t rank, size_t d) const {
    return wraps_ ? distance(rank, d) <= dims_[d].extent / 2 : coordinate(rank, d) >= dims_[d].root;
  }
  // A side of the root's coordinate that has a neighbour.
  bool has_positive_neighbour(uint32_t rank, size_t d) const {
    return wraps_ || coordinate(rank, d) + 1 < dims_[d].extent;
  }
  uint32_t neighbour(uint32_t rank, Direction way) const {
    const Dimension& x = dims_[way.dimension];
    const uint32_t c = coordinate(rank, way.dimension);
    const uint32_t to = (c + (way.positive ? 1 : x.extent - 1)) % x.extent;
    return rank - c * x.stride + to * x.stride;
  }
  int16_t nic(Direction way) const {
    return static_cast<int16_t>(2 * dims_[way.dimension].number + (way.positive ? 0 : 1));
  }

 private:
  struct Dimension {
    int16_t number;
    uint32_t extent, stride, root;
  };
  uint32_t coordinate(uint32_t rank, size_t d) const { return rank / dims_[d].stride % dims_[d].extent; }
  std::vector<Dimension> dims_;
  bool wraps_;
};

// By which link a rank other than the root is reached in tree k of three dimensions or more.
Direction reached_cyclic(const Torus& torus, uint32_t rank, size_t k) {
  const size_t n = torus.dimensions();
  if (torus.distance(rank, k) == 0) return {k, !torus.has_positive_neighbour(rank, k)};
  size_t last = k;  // the last dimension, in the tree's order, in which the node differs from the root
  for (size_t i = 1; i < n; i++)
    if (torus.distance(rank, (k + i) % n) != 0) last = (k + i) % n;
  return {last, torus.outward_is_positive(rank, last)};
}

// The same of two dimensions.
Direction reached_one_way(const Torus& torus, uint32_t rank, size_t k) {
  constexpr std::array<Direction, 4> kTurn{{{0, true}, {1, true}, {0, false}, {1, false}}};
  const Direction a = kTurn[k], b = kTurn[k + 1];
  return torus.distance(rank, a.dimension) != 0 && torus.distance(rank, b.dimension) != 0 ? b : a;
}

Direction reached(const Torus& torus, uint32_t rank, size_t tree) {
  return torus.dimensions() == 2 ? reached_one_way(torus, rank, tree) : reached_cyclic(torus, rank, tree);
}

Result<Outline> outline(const Parameters& p) {
  const Torus torus(p);
  if (p.ranks > 1 && torus.dimensions() < 2)
    return Status::error(EINVAL, "trinaryx3: needs at least two dimensions with more than one node");
  if (torus.dimensions() == 2 && (!p.wraps || torus.extent(0) < 3 || torus.extent(1) < 3))
    return Status::error(
        EINVAL, "trinaryx3: three disjoint trees in two dimensions need a torus of at least 3x3 nodes");
  std::vector<uint64_t> bounds;
  for (uint32_t k = 0; k <= kTrees; k++) bounds.push_back(part_begin(p.bytes, k, kTrees));
  return broadcast_outline(p, bounds);
}

void emit(const Parameters& p, uint32_t rank, uint32_t lane, uint32_t round, std::vector<Step>& out) {
  const Torus torus(p);
  Place place;
  if (rank != p.root) {
    const Direction way = reached(torus, rank, lane);
    place.parent = torus.neighbour(rank, {way.dimension, !way.positive});
  }
  for (size_t d = 0; d < torus.dimensions(); d++)
    for (const bool positive : {true, false}) {
      const Direction way{d, positive};
      const uint32_t child = torus.neighbour(rank, way);
      if (child != p.root && reached(torus, child, lane) == way)
        place.children.push_back({child, torus.nic(way)});
    }
  const uint64_t begin = part_begin(p.bytes, lane, kTrees), end = part_begin(p.bytes, lane + 1, kTrees);
  pipeline(place, {0, begin, end - begin}, p.segment, round, out);
}

}  // namespace

const Algorithm kTrinaryx3{"trinaryx3", "broadcast", "three disjoint pipelines on a torus or mesh",
                           true,        &outline,    &emit};

}  // namespace tasuki::schedule
