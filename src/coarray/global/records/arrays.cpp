#include "coarray/global/records/arrays.h"

#include <algorithm>

namespace tasuki::coarray {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr int64_t kLine = 64, kPage = 4096;  // bytes of a cache's line, and of what its lines repeat after

Where of(const tasuki_xmp_array& record) {
  return {record.file, record.line};
}

Run whole(const Axis& axis) {
  return {0, axis.extent, 1};
}

}  // namespace

Pieces Axis::owned(int coordinate, const Run& run) const {
  if (distribution == nullptr) return {run, 1, 0, extent - 1};
  Run of_template = clip(run, 0, extent - 1);
  of_template.begin += offset;
  Pieces p = distribution->pieces(coordinate, of_template);
  p.of.begin -= offset;
  p.low -= offset;
  p.high -= offset;
  return p;
}

int64_t Axis::first(int coordinate) const {
  if (full) return 0;
  if (node_dimension < 0) return -below;
  return std::clamp<int64_t>(distribution->begin(coordinate) - offset, 0, extent) - below;
}

int64_t Axis::local(int coordinate, int64_t x) const {
  if (!cyclic()) return x - first(coordinate);
  return tasuki_xmp_cyclic_index(x + offset - distribution->lower(), distribution->width(),
                                 distribution->nodes()) -
         base;
}

bool Geometry::has(const std::vector<int>& node) const {
  for (size_t n = 0; n < only.size(); n++)
    if (only[n] >= 0 && only[n] != node[n]) return false;
  return true;
}

bool Geometry::here(size_t d, int64_t x) const {
  if (!mine) return false;
  const Axis& a = axis[d];
  const bool inside = x >= 0 && x < a.extent;
  if (a.full) return inside;
  if (a.cyclic()) return inside && a.distribution->owner(x + a.offset) == own(d);
  const Run owned = a.owned(own(d), whole(a)).run(0);
  return owned.count > 0 && x >= owned.begin - a.below && x <= owned.last() + a.above;
}

void Arrays::add(tasuki_xmp_array* record) {
  if (std::find(records_.begin(), records_.end(), record) != records_.end()) return;
  if (started_)
    fail(of(*record),
         "the distributed array '%s' is in a library that was loaded after the start of the program; arrays "
         "of file "
         "scope get their memory in all nodes together, at the start: link the library with the program",
         record->name);
  records_.push_back(record);
}

Segment* Arrays::start() {
  started_ = true;
  start(false);
  return start(true);
}

Segment* Arrays::start(bool mirrored) {
  // All in one segment; no two begin in the same line of the caches.
  std::vector<std::pair<tasuki_xmp_array*, uint64_t>> places;
  uint64_t total = 0;
  for (tasuki_xmp_array* a : records_) {
    if (a->extent[0] == 0 || ((a->flags & TASUKI_XMP_DEVICE) != 0) != mirrored) continue;
    places.emplace_back(a, total);
    total += ((geometry_of(*a, of(*a)).bytes + kAlignment - 1) & ~(kAlignment - 1)) + 5 * kLine;
  }
  if (total == 0) return nullptr;
  Segment* segment = memory_.allocate(teams_.world(), total, kAlignment);
  if (segment == nullptr)
    fail({nullptr, 0},
         "no memory for %llu bytes of distributed arrays in each node; more nodes have smaller parts",
         static_cast<unsigned long long>(total));
  for (const auto& [a, offset] : places) place(a, geometry_of(*a, of(*a)), segment, offset);
  return segment;
}

const Geometry& Arrays::geometry_of(const tasuki_xmp_array& a, Where where) {
  const Template& t = templates_.of(a.template_, where);
  std::vector<int64_t> key = {static_cast<int64_t>(reinterpret_cast<uintptr_t>(&t)),
                              static_cast<int64_t>(a.element), a.dimensions};
  for (int d = 0; d < a.dimensions; d++)
    for (int64_t part : {static_cast<int64_t>(a.extent[d]), static_cast<int64_t>(a.with[d]),
                         static_cast<int64_t>(a.offset[d]), static_cast<int64_t>(a.shadow[d][0]),
                         static_cast<int64_t>(a.shadow[d][1])})
      key.push_back(part);
  for (size_t i = 0; i < t.dimension.size(); i++) {
    key.push_back(a.at_one[i]);
    key.push_back(a.at_one[i] != 0 ? a.one[i] : 0);
  }
  std::unique_ptr<Geometry>& made = known_[key];
  if (made != nullptr) return *made;

  Geometry g;
  g.space = &t;
  g.element = a.element;
  g.only.assign(t.sizes.size(), -1);
  g.axis_of.assign(t.sizes.size(), -1);
  for (int d = 0; d < a.dimensions; d++) {
    Axis axis;
    axis.extent = a.extent[d];
    if (a.with[d] >= 0) {
      const auto i = static_cast<size_t>(a.with[d]);
      axis.distribution = &t.dimension[i];
      axis.node_dimension = t.node_dimension[i];
      axis.offset = a.offset[d];
      if (axis.node_dimension >= 0) g.axis_of[static_cast<size_t>(axis.node_dimension)] = d;
      if (axis.offset < axis.distribution->lower() ||
          axis.offset + axis.extent - 1 > axis.distribution->upper())
        fail(where,
             "dimension %d of '%s' is aligned with elements %lld to %lld of the template '%s', which goes "
             "from %lld to %lld",
             d + 1, a.name, static_cast<long long>(axis.offset),
             static_cast<long long>(axis.offset + axis.extent - 1), a.template_->name,
             static_cast<long long>(axis.distribution->lower()),
             static_cast<long long>(axis.distribution->upper()));
    }
    axis.full = a.shadow[d][0] < 0;
    axis.below = axis.full ? 0 : a.shadow[d][0];
    axis.above = axis.full ? 0 : a.shadow[d][1];
    if (axis.cyclic() && (axis.below != 0 || axis.above != 0))
      fail(where,
           "dimension %d of '%s' is cyclic and cannot have a shadow of some elements; use full shadow (*) or "
           "block",
           d + 1, a.name);
    g.axis.push_back(axis);
  }
  for (size_t i = 0; i < t.dimension.size(); i++) {
    if (a.at_one[i] == 0) continue;
    if (a.one[i] < t.dimension[i].lower() || a.one[i] > t.dimension[i].upper())
      fail(where,
           "'%s' is aligned with element %lld of dimension %zu of the template '%s', which goes from %lld to "
           "%lld",
           a.name, a.one[i], i + 1, a.template_->name, static_cast<long long>(t.dimension[i].lower()),
           static_cast<long long>(t.dimension[i].upper()));
    if (t.node_dimension[i] >= 0)
      g.only[static_cast<size_t>(t.node_dimension[i])] = t.dimension[i].owner(a.one[i]);
  }
  g.mine = t.member && g.has(t.own);

  // As much on each node as the one with the most needs.
  bool fits = true;
  int64_t stride = 1;
  for (size_t d = g.axis.size(); d-- > 0;) {
    Axis& axis = g.axis[d];
    axis.stride = stride;
    axis.allocated = axis.extent;
    if (axis.cyclic()) {
      const Distribution& dealt = *axis.distribution;
      const int64_t round = dealt.width() * dealt.nodes(), first = (axis.offset - dealt.lower()) / round;
      axis.base = first * dealt.width();
      axis.allocated = ((axis.offset + axis.extent - 1 - dealt.lower()) / round - first + 1) * dealt.width();
    } else if (axis.node_dimension >= 0 && !axis.full) {
      axis.allocated = 0;
      for (int c = 0; c < axis.nodes(); c++)
        axis.allocated = std::max(axis.allocated, axis.owned(c, whole(axis)).run(0).count);
    }
    if (!axis.full) axis.allocated += axis.below + axis.above;
    // Planes that are whole pages apart meet in the same lines of the caches, and a stencil reads many of
    // them.
    const auto bytes = stride * static_cast<int64_t>(g.element);
    const bool divided = axis.node_dimension >= 0 && !axis.full && !axis.cyclic();
    if (divided && d > 0 && axis.allocated > 0 && axis.allocated * bytes % kPage == 0)
      axis.allocated += bytes >= kLine ? 1 : kLine / bytes;
    fits = fits && !__builtin_mul_overflow(stride, std::max<int64_t>(1, axis.allocated), &stride);
  }
  fits = fits && !__builtin_mul_overflow(static_cast<uint64_t>(stride), g.element, &g.bytes);
  if (!fits) fail(where, "the distributed array '%s' is larger than memory can be", a.name);
  made = std::make_unique<Geometry>(std::move(g));
  return *made;
}

// What the compiled code reads, and where the library finds the rest.
void Arrays::place(tasuki_xmp_array* a, const Geometry& g, Segment* segment, uint64_t offset) {
  a->state[0] = const_cast<Geometry*>(&g);
  a->state[1] = segment;
  a->state[2] = reinterpret_cast<void*>(offset);
  a->memory = segment != nullptr ? segment->begin + offset : nullptr;
  int64_t ahead = 0;
  for (size_t d = 0; d < g.axis.size(); d++) {
    const Axis& axis = g.axis[d];
    const int coordinate = g.coordinate(d, g.space->own);
    a->stride[d] = axis.stride;
    a->allocated[d] = axis.allocated;
    a->first[d] = axis.cyclic() ? axis.distribution->lower() - axis.offset : 0;
    a->width[d] = axis.cyclic() ? axis.distribution->width() : 1;
    a->nodes[d] = axis.cyclic() ? axis.distribution->nodes() : 1;
    ahead += (axis.cyclic() ? axis.base : axis.first(coordinate)) * axis.stride;
    a->lower[d] = 0;
    a->upper[d] = -1;
    if (!g.mine) continue;
    const Pieces owned = axis.owned(coordinate, whole(axis));
    if (!owned.any()) continue;
    a->lower[d] = owned.run(0).begin;
    a->upper[d] = owned.run(owned.runs - 1).last();
  }
  // The origin may lie outside of the memory.
  a->origin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(a->memory) -
                                      static_cast<uintptr_t>(ahead) * g.element);
}

void Arrays::define(tasuki_xmp_array* a, Where where) {
  phase_.require_start("a distributed array");
  for (void*& state : a->state) state = nullptr;
  a->memory = nullptr;
  if (a->extent[0] == 0) return;
  const Geometry& g = geometry_of(*a, where);
  // At another line of the caches than other arrays; on all nodes at the same.
  const uint64_t begin = static_cast<uint64_t>(a->line) * 7 % 61 * kAlignment;
  const Team& team = teams_.current();
  Segment* segment = nullptr;
  {
    const Collective here(&collectives_, team, where);
    segment = memory_.allocate(team, g.bytes + begin, kAlignment);
  }
  if (segment == nullptr)
    fail(where, "no memory for %llu bytes of the distributed array '%s' in each node",
         static_cast<unsigned long long>(g.bytes), a->name);
  if ((a->flags & TASUKI_XMP_DEVICE) != 0) coarrays_.mirror(segment);
  place(a, g, segment, begin);
  a->state[3] = segment;
}

void Arrays::release(tasuki_xmp_array* a) {
  if (a->state[3] == nullptr) return;
  const Waiting here(&patience_, "the end of an array's life", -1, of(*a));
  coarrays_.release(static_cast<Segment*>(a->state[3]));
  for (void*& state : a->state) state = nullptr;
  a->memory = nullptr;
}

void Arrays::parameter(tasuki_xmp_array* a, void* memory, Where where) {
  const Geometry& g = geometry_of(*a, where);
  Segment* segment = memory_.find(memory, g.bytes);
  if (segment == nullptr)
    fail(where,
         "the parameter '%s' is a distributed array with %llu bytes in each node, but what the caller passes "
         "is not the "
         "memory of such an array",
         a->name, static_cast<unsigned long long>(g.bytes));
  place(a, g, segment, static_cast<uint64_t>(static_cast<char*>(memory) - segment->begin));
  a->state[3] = nullptr;
}

void* Arrays::allocate(tasuki_xmp_array* a, const std::vector<int64_t>& extents, Where where) {
  if (a->memory != nullptr)
    fail(where, "xmp_malloc: the distributed array '%s' has memory already; xmp_free comes first", a->name);
  for (size_t d = 0; d < extents.size(); d++) {
    if (extents[d] < 1) fail(where, "xmp_malloc: dimension %zu of '%s' has no elements", d + 1, a->name);
    a->extent[d] = extents[d];
  }
  define(a, where);
  a->state[3] = nullptr;
  allocated_[a->memory] = a;
  return a->memory;
}

bool Arrays::free(void* memory) {
  const auto found = allocated_.find(memory);
  if (found == allocated_.end()) return false;
  tasuki_xmp_array* a = found->second;
  allocated_.erase(found);
  a->state[3] = a->state[1];
  release(a);
  return true;
}

Held Arrays::held(const tasuki_xmp_array& a, unsigned flags, Where where) {
  if (a.state[0] == nullptr)
    fail(where, "the distributed array '%s' has no memory yet; xmp_malloc gives it some", a.name);
  Held h = {static_cast<const Geometry*>(a.state[0]), static_cast<Segment*>(a.state[1]),
            reinterpret_cast<uint64_t>(a.state[2])};
  // Without a device of its own, host memory is device memory.
  if ((flags & TASUKI_XMP_DEVICE) == 0 || !device_.apart()) return h;
  h.device = true;
  if (h.segment->mirror != nullptr || !h.geometry->mine) return h;
  h.copy = device_.address(h.segment, a.memory, h.geometry->bytes);
  if (h.copy == nullptr)
    fail(where,
         "all memory of '%s' must be on the device for this; #pragma acc enter data or declare create comes "
         "first",
         a.name);
  return h;
}

void* Arrays::row(const tasuki_xmp_array& a, int count, const long long* subscripts) {
  const Geometry& g = *held(a, 0, {a.file, a.line}).geometry;
  int64_t elements = 0;
  for (int i = 0; i < count; i++) {
    const auto d = static_cast<size_t>(i);
    elements += g.axis[d].local(g.coordinate(d, g.space->own), subscripts[i]) * g.axis[d].stride;
  }
  return static_cast<char*>(a.memory) + elements * static_cast<int64_t>(g.element);
}

}  // namespace tasuki::coarray
