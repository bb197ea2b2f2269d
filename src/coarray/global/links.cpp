#include "coarray/global/links.h"

#include <map>

#include "coarray/runtime.h"

namespace tasuki::coarray {
namespace {

Extent extent_of(uint64_t element, const std::vector<tasuki_xmp_dimension>& levels) {
  const tasuki_xmp_section section = {nullptr, element, levels.data(), static_cast<int>(levels.size()), 0,
                                      0,       ""};
  Extent extent;
  std::string problem;
  if (!measure(section, &extent, &problem)) fail({nullptr, 0}, "%s", problem.c_str());
  return extent;
}

}  // namespace

std::vector<Strip> strips_of(const std::vector<Run>& to_positions, const std::vector<Run>& from_positions,
                             int64_t period, const std::function<int64_t(int64_t)>& to,
                             const std::function<int64_t(int64_t)>& from) {
  struct Open {
    size_t strip;
    int64_t next;  // position at which the strip would go on
  };
  std::map<int64_t, Open> open;  // by position modulo the period
  std::vector<Strip> strips;
  for (size_t i = 0, j = 0; i < to_positions.size() && j < from_positions.size();) {
    const Run &a = to_positions[i], &b = from_positions[j];
    const Run both = common(a, b);
    if (a.last() < b.last())
      i++;
    else
      j++;
    if (both.count == 0) continue;
    Strip strip;
    strip.count = both.count;
    strip.to = to(both.begin);
    strip.from = from(both.begin);
    if (both.count > 1) {
      strip.to_step = to(both.at(1)) - strip.to;
      strip.from_step = from(both.at(1)) - strip.from;
    }
    if (period > 0) {
      const auto [entry, fresh] = open.try_emplace(both.begin % period, Open{0, 0});
      Open& known = entry->second;
      if (!fresh && known.next == both.begin && strips[known.strip].count == strip.count) {
        Strip& last = strips[known.strip];
        if (last.repeat == 1) {
          last.to_again = strip.to - last.to;
          last.from_again = strip.from - last.from;
        }
        last.repeat++;
        known.next += period;
        continue;
      }
      known = {strips.size(), both.begin + period};
    }
    strips.push_back(strip);
  }
  return strips;
}

void Box::add(const Strip& strip, int64_t to_stride, int64_t from_stride) {
  move(strip.to * to_stride, strip.from * from_stride);
  if (strip.repeat > 1)
    levels_.push_back({strip.repeat, strip.to_again * to_stride, strip.from_again * from_stride});
  if (strip.count > 1)
    levels_.push_back({strip.count, strip.to_step * to_stride, strip.from_step * from_stride});
}

void Box::move(int64_t to_bytes, int64_t from_bytes) {
  to_at_ += to_bytes;
  from_at_ += from_bytes;
}

Link Box::link(int to_rank, int from_rank) const {
  Link link;
  link.to_rank = to_rank;
  link.from_rank = from_rank;
  link.to_at = to_at_;
  link.from_at = from_at_;
  std::vector<tasuki_xmp_dimension> to, from;
  for (const Level& level : levels_) {
    // A stride for one step of a dimension of elements of one byte.
    to.push_back({0, level.count, level.to, 0, 1});
    if (!single_) from.push_back({0, level.count, level.from, 0, 1});
  }
  link.to.extent = extent_of(element_, to);
  link.from.extent = extent_of(element_, from);
  return link;
}

Place place_in(const Held& held, int rank, int64_t at, Where where) {
  const int target = held.segment->team->index[static_cast<size_t>(rank)];
  if (target < 0)
    fail(where,
         "a distributed array has memory only on the nodes that executed its declaration; another node's "
         "part is wanted");
  return place_of(held.segment, target, held.segment->begin + held.offset + at);
}

}  // namespace tasuki::coarray
