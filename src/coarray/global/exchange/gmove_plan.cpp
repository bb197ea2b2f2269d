#include "coarray/global/exchange/gmove_plan.h"

#include <algorithm>
#include <numeric>

#include "coarray/index/shape.h"

namespace tasuki::coarray {
namespace {

// What one other coordinate has in a dimension of the assignment.
struct Share {
  int coordinate;
  Strip strip;
};

bool contains(const std::vector<int>& all, int rank) {
  return std::find(all.begin(), all.end(), rank) != all.end();
}

// The near side is this node's part of one operand, the far side all of the other operand.
class Planner {
 public:
  Planner(const Side& near, const Side& far, Way way, bool single, const std::vector<int>& executing,
          int own_rank)
      : near_(near),
        far_(far),
        pulls_(way == Way::pull),
        single_(single),
        executing_(executing),
        own_rank_(own_rank) {}

  std::vector<Link> links() {
    if (near_.geometry != nullptr && !near_.geometry->mine) return {};
    for (size_t d = 0; d < near_.run.size(); d++)
      if (near_.run[d].count == 1 && near_.positions(d, near_coordinate(d)).empty()) return {};
    // Dimensions of the assignment: those of the left side.
    const size_t pairs = (pulls_ ? near_ : far_).paired.size();
    for (size_t i = 0; i < pairs; i++) shares_.push_back(shares(i));
    for (size_t d = 0; far_.geometry != nullptr && d < far_.run.size(); d++)
      if (far_.run[d].count == 1) set_coordinate(d, owner_of_one(d));
    if (far_.geometry != nullptr) base_.resize(far_.geometry->space->sizes.size());
    choose(0, {});
    return links_;
  }

 private:
  int near_coordinate(size_t d) const {
    return near_.geometry == nullptr ? 0 : near_.geometry->coordinate(d, near_.geometry->space->own);
  }
  int owner_of_one(size_t d) const {
    const Axis& axis = far_.geometry->axis[d];
    return axis.node_dimension < 0 ? 0 : axis.distribution->owner(far_.run[d].begin + axis.offset);
  }
  void set_coordinate(size_t d, int coordinate) {
    const int n = far_.geometry->axis[d].node_dimension;
    base_.resize(far_.geometry->space->sizes.size());
    if (n >= 0) base_[static_cast<size_t>(n)] = coordinate;
  }

  std::vector<Share> shares(size_t i) const {
    static const size_t none = ~size_t{0};
    const size_t near_d = i < near_.paired.size() ? near_.paired[i] : none;
    const size_t far_d = i < far_.paired.size() ? far_.paired[i] : none;
    const int64_t count = near_d != none ? near_.run[near_d].count : far_.run[far_d].count;
    const std::vector<Run> all = {{0, count, 1}};
    const int own = near_d != none ? near_coordinate(near_d) : 0;
    const std::vector<Run> mine = near_d != none ? near_.positions(near_d, own) : all;
    const auto here = [&](int64_t k) { return near_d != none ? near_.local(near_d, own, k) : 0; };
    const int64_t period = std::lcm(near_d != none ? std::max<int64_t>(1, near_.period(near_d)) : 1,
                                    far_d != none ? std::max<int64_t>(1, far_.period(far_d)) : 1);
    const int coordinates =
        far_d != none && far_.geometry != nullptr ? far_.geometry->axis[far_d].nodes() : 1;
    std::vector<Share> result;
    for (int c = 0; c < coordinates; c++) {
      const std::vector<Run> theirs = far_d != none ? far_.positions(far_d, c) : all;
      const auto there = [&](int64_t k) { return far_d != none ? far_.local(far_d, c, k) : 0; };
      const int64_t repeats = period > 1 ? period : 0;
      for (const Strip& strip : pulls_ ? strips_of(mine, theirs, repeats, here, there)
                                       : strips_of(theirs, mine, repeats, there, here))
        result.push_back({c, strip});
    }
    return result;
  }

  void choose(size_t i, std::vector<const Share*> chosen) {
    if (i < shares_.size()) {
      chosen.push_back(nullptr);
      for (const Share& share : shares_[i]) {
        chosen.back() = &share;
        choose(i + 1, chosen);
      }
      return;
    }
    if (far_.geometry == nullptr) {
      add(chosen, Link::kHere, {});
      return;
    }
    std::vector<int> node = base_;
    for (size_t k = 0; k < chosen.size() && k < far_.paired.size(); k++)
      if (const int n = far_.geometry->axis[far_.paired[k]].node_dimension; n >= 0)
        node[static_cast<size_t>(n)] = chosen[k]->coordinate;
    replicas(0, node, chosen);
  }

  // Node dimensions that the far array is replicated in: where it is fetched from, or all where it is stored
  // to.
  void replicas(size_t n, std::vector<int> node, const std::vector<const Share*>& chosen) {
    const Geometry& g = *far_.geometry;
    if (n == node.size()) {
      const int rank = g.space->everywhere ? own_rank_ : g.space->rank_of(node);
      if (pulls_ || sends_to(rank)) add(chosen, rank, node);
      return;
    }
    if (g.only[n] >= 0) {
      node[n] = g.only[n];
    } else if (g.axis_of[n] < 0 && pulls_) {
      // This node's own copy if there is one; else the copies serve in turn.
      node[n] = g.space->member ? g.space->own[n] : own_rank_ % g.space->sizes[n];
    } else if (g.axis_of[n] < 0) {
      for (int c = 0; c < g.space->sizes[n]; c++) {
        node[n] = c;
        replicas(n + 1, node, chosen);
      }
      return;
    }
    replicas(n + 1, node, chosen);
  }

  // Push: of the nodes that have the same elements of the right side one stores them in `rank`.
  bool sends_to(int rank) const {
    const std::vector<int>* senders = &executing_;
    std::vector<int> copies;
    if (near_.geometry != nullptr && !near_.geometry->space->everywhere) {
      const Geometry& g = *near_.geometry;
      std::vector<std::vector<int>> coordinates;
      for (size_t n = 0; n < g.space->sizes.size(); n++) {
        coordinates.push_back({g.space->own[n]});
        if (g.axis_of[n] >= 0 || g.only[n] >= 0) continue;
        coordinates.back().resize(static_cast<size_t>(g.space->sizes[n]));
        std::iota(coordinates.back().begin(), coordinates.back().end(), 0);
      }
      for (int copy : g.space->ranks_of(coordinates))
        if (contains(executing_, copy)) copies.push_back(copy);
      senders = &copies;
    }
    if (contains(*senders, rank)) return rank == own_rank_;
    return (*senders)[static_cast<size_t>(rank) % senders->size()] == own_rank_;
  }

  void add(const std::vector<const Share*>& chosen, int far_rank, const std::vector<int>& node) {
    const Side &to = pulls_ ? near_ : far_, &from = pulls_ ? far_ : near_;
    Box box(near_.element, single_);
    for (size_t k = 0; k < chosen.size(); k++)
      box.add(chosen[k]->strip, to.stride[to.paired[k]],
              k < from.paired.size() ? from.stride[from.paired[k]] : 0);
    const auto fixed = [](const Side& side, const auto& coordinate) {
      int64_t at = 0;
      for (size_t d = 0; d < side.run.size(); d++)
        if (side.run[d].count == 1) at += side.local(d, coordinate(d), 0) * side.stride[d];
      return at;
    };
    const int64_t here = fixed(near_, [&](size_t d) { return near_coordinate(d); });
    const int64_t there = fixed(
        far_, [&](size_t d) { return far_.geometry == nullptr ? 0 : far_.geometry->coordinate(d, node); });
    box.move(pulls_ ? here : there, pulls_ ? there : here);
    const int near_rank = near_.geometry == nullptr ? Link::kHere : own_rank_;
    links_.push_back(pulls_ ? box.link(near_rank, far_rank) : box.link(far_rank, near_rank));
  }

  const Side &near_, &far_;
  bool pulls_, single_;
  const std::vector<int>& executing_;
  int own_rank_;
  std::vector<std::vector<Share>> shares_;  // by dimension of the assignment
  std::vector<int> base_;                   // coordinates of the far side that its single subscripts give
  std::vector<Link> links_;
};

// Whether some element is on both sides, at whatever position.
bool overlap(const Side& a, const Side& b) {
  if (a.geometry != b.geometry) return true;
  for (size_t d = 0; d < a.run.size(); d++)
    if (common(a.run[d], b.run[d]).count == 0) return false;
  return true;
}

// Has every one of these nodes all of it?
bool is_whole_on(const std::vector<int>& ranks, const Geometry& g) {
  if (g.space->everywhere) return true;
  for (size_t n = 0; n < g.space->sizes.size(); n++)
    if (g.space->sizes[n] > 1 && (g.axis_of[n] >= 0 || g.only[n] >= 0)) return false;
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return contains(g.space->ranks, rank); });
}

}  // namespace

std::vector<Run> Side::positions(size_t d, int coordinate) const {
  const Run& r = run[d];
  if (geometry == nullptr) return {{0, r.count, 1}};
  const Pieces pieces = geometry->axis[d].owned(coordinate, r);
  std::vector<Run> result;
  for (int64_t i = 0; i < pieces.runs; i++) {
    const Run piece = pieces.run(i);
    if (piece.count > 0)
      result.push_back({(piece.begin - r.begin) / r.step, piece.count, piece.step / r.step});
  }
  return result;
}

int64_t Side::local(size_t d, int coordinate, int64_t position) const {
  const int64_t x = run[d].at(position);
  return geometry == nullptr ? x : geometry->axis[d].local(coordinate, x);
}

int64_t Side::period(size_t d) const {
  const int64_t period = geometry == nullptr ? 0 : geometry->axis[d].period();
  return period == 0 ? 0 : period / std::gcd(period, run[d].step);
}

Side side_of(const tasuki_xmp_global_section& section, Arrays* arrays, Where where) {
  Side side;
  if (section.array == nullptr) {
    const tasuki_xmp_section& s = *section.local;
    side.element = s.element;
    for (int i = 0; i < s.dimensions; i++) {
      tasuki_xmp_dimension d;
      std::string problem;
      if (!resolve(s, i, &d, &problem)) fail(where, "%s", problem.c_str());
      side.run.push_back({d.lower, d.length, d.stride});
      side.stride.push_back(static_cast<int64_t>(d.bytes));
    }
  } else {
    const tasuki_xmp_array& a = *section.array;
    side.geometry = arrays->held(a, 0, where).geometry;
    side.element = side.geometry->element;
    for (int i = 0; i < section.dimensions; i++) {
      const Axis& axis = side.geometry->axis[static_cast<size_t>(i)];
      const tasuki_xmp_triplet& t = section.subscript[i];
      if (t.step == 0)
        fail(where, "dimension %d of '%s' has the stride 0; it must be positive or negative", i + 1, a.name);
      Run run = {t.begin, t.count, t.step};
      if (t.begin == TASUKI_XMP_OPEN) run.begin = t.step > 0 ? 0 : axis.extent - 1;
      if (t.count == TASUKI_XMP_OPEN)
        run.count = t.step > 0 ? floor_div(axis.extent - 1 - run.begin, t.step) + 1
                               : floor_div(run.begin, -t.step) + 1;
      if (run.count < 0)
        fail(where, "dimension %d of '%s' has the length %lld", i + 1, a.name,
             static_cast<long long>(run.count));
      if (run.count > 0 && (run.least() < 0 || run.most() >= axis.extent))
        fail(where, "dimension %d of '%s' goes from 0 to %lld; %lld to %lld are named", i + 1, a.name,
             static_cast<long long>(axis.extent) - 1, static_cast<long long>(run.begin),
             static_cast<long long>(run.last()));
      side.run.push_back(run);
      side.stride.push_back(axis.stride * static_cast<int64_t>(side.element));
    }
  }
  for (size_t d = 0; d < side.run.size(); d++) {
    side.elements *= static_cast<uint64_t>(side.run[d].count);
    if (side.run[d].count > 1) side.paired.push_back(d);
  }
  return side;
}

Plan plan_of(const Side& to, const Side& from, Way way, bool same_memory, const std::vector<int>& executing,
             int own_rank) {
  Plan plan;
  plan.single = from.elements == 1 && to.elements > 1;
  plan.remote = from.geometry != nullptr && !is_whole_on(executing, *from.geometry);
  plan.staged = same_memory && overlap(to, from);
  if (to.elements == 0) return plan;
  const Side &near = way == Way::pull ? to : from, &far = way == Way::pull ? from : to;
  plan.links = Planner(near, far, way, plan.single, executing, own_rank).links();
  for (const Link& link : plan.links) plan.bytes += link.from.extent.shape.bytes();
  return plan;
}

}  // namespace tasuki::coarray
