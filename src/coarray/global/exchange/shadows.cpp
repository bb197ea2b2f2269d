#include "coarray/global/exchange/shadows.h"

#include <algorithm>
#include <functional>
#include <set>

namespace tasuki::coarray {
namespace {

// Part of what one coordinate has memory for in a dimension: its own, or the shadow of what `owner` has.
struct Source {
  int owner;
  bool own;
  Strip strip;  // to: local indices of the coordinate; from: of the owner
};

// Of the subscripts `here`, which are images of here - shift, what the owner has.
void add_pieces(const Axis& axis, int coordinate, int owner, const Run& here, int64_t shift, bool own,
                std::vector<Source>* sources) {
  const Pieces pieces = axis.owned(owner, {here.begin - shift, here.count, here.step});
  std::vector<Run> runs;
  for (int64_t r = 0; r < pieces.runs; r++)
    if (const Run run = pieces.run(r); run.count > 0) runs.push_back(run);
  const auto to = [&](int64_t x) { return axis.local(coordinate, x + shift); };
  const auto from = [&](int64_t x) { return axis.local(owner, x); };
  for (const Strip& strip : strips_of(runs, runs, axis.period(), to, from))
    sources->push_back({owner, own, strip});
}

// All that a coordinate has memory for, by owner. Empty if it owns nothing: then it has no shadow either.
std::vector<Source> sources_of(const Axis& axis, int coordinate, int64_t below, int64_t above,
                               bool periodic) {
  std::vector<Source> sources;
  const Run all = {0, axis.extent, 1};
  const Pieces owned = axis.owned(coordinate, all);
  if (!owned.any()) return sources;
  add_pieces(axis, coordinate, coordinate, all, 0, true, &sources);
  if (axis.full) {
    for (int c = 0; c < axis.nodes(); c++)
      if (c != coordinate) add_pieces(axis, coordinate, c, all, 0, false, &sources);
    return sources;
  }
  if (axis.cyclic()) return sources;
  const Run own = owned.run(0);
  const auto shadow = [&](int64_t low, int64_t high) {
    // Beyond the array's ends its other end follows, if periodic: image number q of it.
    for (int64_t q = floor_div(low, axis.extent); low <= high && q <= floor_div(high, axis.extent); q++) {
      const int64_t shift = q * axis.extent;
      const Run part = clip({shift, axis.extent, 1}, low, high);
      if (part.count == 0 || (q != 0 && !periodic)) continue;
      const int64_t ahead = axis.node_dimension < 0 ? 0 : axis.offset - shift;
      const int first = axis.node_dimension < 0 ? 0 : axis.distribution->owner(part.begin + ahead);
      const int last = axis.node_dimension < 0 ? 0 : axis.distribution->owner(part.last() + ahead);
      for (int c = first; c <= last; c++) add_pieces(axis, coordinate, c, part, shift, false, &sources);
    }
  };
  shadow(own.begin - below, own.begin - 1);
  shadow(own.last() + 1, own.last() + above);
  return sources;
}

// Calls visit for each choice of one source in each dimension with at least one shadow (or exactly one).
void for_each_choice(const std::vector<std::vector<Source>>& sources, bool orthogonal,
                     const std::function<void(const std::vector<const Source*>&)>& visit) {
  std::vector<const Source*> chosen(sources.size());
  const std::function<void(size_t, int)> choose = [&](size_t d, int shadows) {
    if (d == sources.size()) {
      if (shadows > 0) visit(chosen);
      return;
    }
    for (const Source& source : sources[d]) {
      if (!source.own && shadows == 1 && orthogonal) continue;
      chosen[d] = &source;
      choose(d + 1, shadows + (source.own ? 0 : 1));
    }
  };
  choose(0, 0);
}

class Maker {
 public:
  Maker(const Geometry& geometry, const Widths& widths) : g_(geometry), widths_(widths) {}

  std::vector<Source> sources(size_t d, int coordinate) const {
    const Axis& axis = g_.axis[d];
    return sources_of(axis, coordinate, widths_.below[d] < 0 ? axis.below : widths_.below[d],
                      widths_.above[d] < 0 ? axis.above : widths_.above[d], widths_.periodic[d]);
  }

  // Fetches my shadows from their owners.
  void forwards(Exchange* e) const {
    std::vector<std::vector<Source>> mine;
    for (size_t d = 0; d < g_.axis.size(); d++) mine.push_back(sources(d, g_.coordinate(d, g_.space->own)));
    link(mine, e);
  }

  // Fetches from the shadows of others what is mine.
  void backwards(Exchange* e) const {
    // By dimension: the coordinates that have some of mine, and what.
    std::vector<std::vector<Source>> others;
    for (size_t d = 0; d < g_.axis.size(); d++) {
      const int mine = g_.coordinate(d, g_.space->own);
      others.emplace_back();
      for (int c = 0; c < g_.axis[d].nodes(); c++) {
        for (Source source : sources(d, c)) {
          if (source.owner != mine) continue;
          source.owner = c;  // of the shadow
          std::swap(source.strip.to, source.strip.from);
          std::swap(source.strip.to_step, source.strip.from_step);
          std::swap(source.strip.to_again, source.strip.from_again);
          others.back().push_back(source);
        }
      }
    }
    link(others, e);
  }

 private:
  // With the nodes that the sources of each choice name.
  void link(const std::vector<std::vector<Source>>& sources, Exchange* e) const {
    const std::vector<int>& own = g_.space->own;
    for_each_choice(sources, widths_.orthogonal, [&](const std::vector<const Source*>& chosen) {
      std::vector<int> other = own;
      for (size_t d = 0; d < chosen.size(); d++)
        if (g_.axis[d].node_dimension >= 0)
          other[static_cast<size_t>(g_.axis[d].node_dimension)] = chosen[d]->owner;
      e->links.push_back(box(chosen).link(g_.space->rank_of(own), g_.space->rank_of(other)));
    });
  }

  Box box(const std::vector<const Source*>& chosen) const {
    Box result(g_.element);
    for (size_t d = 0; d < chosen.size(); d++) {
      const int64_t bytes = g_.axis[d].stride * static_cast<int64_t>(g_.element);
      result.add(chosen[d]->strip, bytes, bytes);
    }
    return result;
  }

  const Geometry& g_;
  const Widths& widths_;
};

}  // namespace

bool Widths::same(const Widths& other, size_t dimensions) const {
  if (orthogonal != other.orthogonal) return false;
  for (size_t d = 0; d < dimensions; d++)
    if (below[d] != other.below[d] || above[d] != other.above[d] || periodic[d] != other.periodic[d])
      return false;
  return true;
}

const Exchange& Exchanges::of(const Geometry& geometry, const Widths& widths, bool backwards) {
  std::vector<std::unique_ptr<Exchange>>& all = known_[&geometry];
  for (const auto& exchange : all)
    if (exchange->backwards == backwards && exchange->widths.same(widths, geometry.axis.size()))
      return *exchange;
  auto exchange = std::make_unique<Exchange>();
  exchange->geometry = &geometry;
  exchange->widths = widths;
  exchange->backwards = backwards;
  if (geometry.mine) {
    // Both directions have the same partners: those I read from and those that read from me.
    const Maker maker(geometry, widths);
    Exchange there, back;
    maker.forwards(&there);
    maker.backwards(&back);
    const Team& world = teams_.world();
    std::set<int> partners;
    for (const Exchange* e : {&there, &back})
      for (const Link& link : e->links) partners.insert(world.index[static_cast<size_t>(link.from_rank)]);
    partners.erase(world.me);
    exchange->partners.assign(partners.begin(), partners.end());
    exchange->links = backwards ? std::move(back.links) : std::move(there.links);
  }
  uint64_t staged = 0;
  for (const Link& link : exchange->links) {
    exchange->largest = std::max(exchange->largest, link.to.extent.shape.bytes());
    if (!backwards && Exchange::scattered(link)) staged += link.to.extent.shape.bytes();
  }
  exchange->stage.resize(staged);
  all.push_back(std::move(exchange));
  return *all.back();
}

}  // namespace tasuki::coarray
