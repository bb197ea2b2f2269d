#include "coarray/global/exchange/links.h"

#include <string>

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
  Place place = place_of(held.segment, target, held.segment->begin + held.offset + at);
  if (!held.device) [[likely]]
    return place;
  const Mirror* mirror = held.segment->mirror.get();
  place.device = true;
  place.direct = nullptr;
  if (mirror != nullptr && mirror->direct[static_cast<size_t>(target)] != nullptr)
    place.direct = mirror->direct[static_cast<size_t>(target)] + place.offset;
  else if (mirror == nullptr && target == held.segment->team->me && held.copy != nullptr)
    place.direct = held.copy + at;
  return place;
}

}  // namespace tasuki::coarray
