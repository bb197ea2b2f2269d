#include "coarray/global/exchange/gmove.h"

#include <algorithm>
#include <cstring>

namespace tasuki::coarray {
namespace {

void check(const Side& to, const Side& from, Where where) {
  if (to.element != from.element)
    fail(where, "gmove: elements of %llu bytes are assigned to elements of %llu bytes",
         static_cast<unsigned long long>(from.element), static_cast<unsigned long long>(to.element));
  if (from.elements == 1) return;
  bool fits = to.paired.size() == from.paired.size();
  for (size_t i = 0; fits && i < to.paired.size(); i++)
    fits = to.run[to.paired[i]].count == from.run[from.paired[i]].count;
  if (!fits || to.elements != from.elements)
    fail(where,
         "gmove: %llu elements are assigned to %llu; both sides need the same numbers of elements in the "
         "same order of "
         "dimensions, or a single one on the right",
         static_cast<unsigned long long>(from.elements), static_cast<unsigned long long>(to.elements));
}

}  // namespace

// All that a plan follows from.
class Gmoves::Key {
 public:
  void add(int64_t value) {
    if (used_ < values_.size()) values_[used_] = value;
    used_++;
  }
  void add(const void* pointer) { add(static_cast<int64_t>(reinterpret_cast<uintptr_t>(pointer))); }
  bool fits() const { return used_ <= values_.size(); }
  bool operator==(const Key& other) const {
    return used_ == other.used_ &&
           memcmp(values_.data(), other.values_.data(), used_ * sizeof values_[0]) == 0;
  }
  size_t hash() const {
    uint64_t value = used_;
    for (size_t i = 0; i < used_; i++)
      value = (value ^ static_cast<uint64_t>(values_[i])) * 0xff51afd7ed558ccd;
    return value ^ (value >> 32);
  }

 private:
  std::array<int64_t, 176> values_;
  size_t used_ = 0;
};

struct Gmoves::Known {
  Key key;
  Plan plan;
};

Gmoves::Gmoves(const Teams* teams, Sync* sync, Device* device, Transfers* transfers, Coarrays* coarrays,
               Arrays* arrays)
    : teams_(*teams),
      sync_(*sync),
      device_(*device),
      transfers_(*transfers),
      coarrays_(*coarrays),
      arrays_(*arrays) {}

Gmoves::~Gmoves() = default;

void Gmoves::add(Key* key, const tasuki_xmp_global_section& section, Where where) {
  key->add(section.dimensions);
  if (section.array != nullptr) {
    key->add(arrays_.held(*section.array, 0, where).geometry);
    for (int d = 0; d < section.dimensions; d++) {
      key->add(section.subscript[d].begin);
      key->add(section.subscript[d].count);
      key->add(section.subscript[d].step);
    }
    return;
  }
  const tasuki_xmp_section& s = *section.local;
  key->add(static_cast<const void*>(nullptr));
  key->add(static_cast<int64_t>(s.element));
  key->add(s.dimensions);
  for (int d = 0; d < s.dimensions; d++) {
    const tasuki_xmp_dimension& l = s.dimension[d];
    for (int64_t value :
         {static_cast<int64_t>(l.lower), static_cast<int64_t>(l.length), static_cast<int64_t>(l.stride),
          static_cast<int64_t>(l.extent), static_cast<int64_t>(l.bytes)})
      key->add(value);
  }
  key->add(s.flags);
}

// Where a side's memory is, besides what the plan says of it.
struct Gmoves::Ground {
  bool distributed = false;
  Held held = {};
  char* base = nullptr;
  bool device = false;

  Place place(int rank, int64_t at, Where where) const {
    if (distributed) return place_in(held, rank, at, where);
    Place place;
    place.direct = base + at;
    place.device = device;
    return place;
  }
  // Others learn where it is when this node has come.
  bool is_told() const { return distributed && held.device && held.segment->mirror == nullptr; }
  bool shares_memory(const Ground& other) const {
    return distributed && other.distributed && held.segment == other.held.segment &&
           held.device == other.held.device && held.offset < other.held.offset + other.held.geometry->bytes &&
           other.held.offset < held.offset + held.geometry->bytes;
  }
};

Gmoves::Ground Gmoves::ground_of(const tasuki_xmp_global_section& section, unsigned flags, Where where) {
  Ground ground;
  ground.distributed = section.array != nullptr;
  if (ground.distributed) {
    ground.held = arrays_.held(*section.array, flags | section.flags, where);
    return ground;
  }
  ground.base = static_cast<char*>(section.local->base);
  ground.device = ((flags | section.flags) & TASUKI_XMP_DEVICE) != 0 && device_.apart();
  if (!ground.device) return ground;
  ground.base = coarrays_.device_copy(ground.base, section.local->element);
  if (ground.base == nullptr)
    fail(where, "'%s' must be on the device for this; #pragma acc enter data or declare create comes first",
         section.local->name);
  return ground;
}

const Plan& Gmoves::plan_for(const tasuki_xmp_global_section& to, const tasuki_xmp_global_section& from,
                             unsigned flags, Way way, bool same_memory, Where where) {
  const bool transposed = (flags & TASUKI_XMP_TRANSPOSED) != 0;
  const Team& current = teams_.current();
  Key key;
  key.add(way == Way::pull ? 1 : 0);
  key.add(same_memory ? 1 : 0);
  key.add(transposed ? 1 : 0);
  key.add(&current);
  add(&key, to, where);
  add(&key, from, where);
  std::unique_ptr<Known>& entry = known_[key.hash() % known_.size()];
  if (entry != nullptr && key.fits() && entry->key == key) return entry->plan;
  const Side left = side_of(to, &arrays_, where);
  Side right = side_of(from, &arrays_, where);
  if (transposed) std::reverse(right.paired.begin(), right.paired.end());
  check(left, right, where);
  entry = std::make_unique<Known>(
      Known{key, plan_of(left, right, way, same_memory, current.ranks, teams_.world().own_rank())});
  return entry->plan;
}

class Gmoves::Move {
 public:
  Move(Transfers* transfers, const Plan& plan, const Ground& to, const Ground& from, Where where)
      : transfers_(*transfers), plan_(plan), to_(to), from_(from), where_(where) {}

  void copy() {
    for (const Link& link : plan_.links) {
      const Operand from = source(link), to = target(link);
      if (!plan_.single) {
        transfers_.copy(to, from, Through::at_complete);
        continue;
      }
      const uint64_t element = from.extent.shape.bytes();
      const auto value = std::make_unique<char[]>(element);
      transfers_.copy(dense_operand(value.get(), element), from, Through::at_return);
      transfers_.fill(to, value.get(), element);
    }
    transfers_.complete_local();
  }

  // Everything is read before anything is written.
  void read() {
    stage_ = std::make_unique<char[]>(plan_.bytes);
    char* next = stage_.get();
    for (const Link& link : plan_.links) {
      const Operand from = source(link);
      const uint64_t bytes = from.extent.shape.bytes();
      transfers_.copy(dense_operand(next, bytes), from, Through::at_complete);
      next += bytes;
    }
    transfers_.complete_local();
  }
  void write() {
    char* next = stage_.get();
    for (const Link& link : plan_.links) {
      const uint64_t bytes = link.from.extent.shape.bytes();
      if (plan_.single)
        transfers_.fill(target(link), next, bytes);
      else
        transfers_.copy(target(link), dense_operand(next, bytes), Through::at_complete);
      next += bytes;
    }
    transfers_.complete_local();
  }

 private:
  Operand source(const Link& link) const {
    Operand from = link.from;
    from.place = from_.place(link.from_rank, link.from_at, where_);
    return from;
  }
  Operand target(const Link& link) const {
    Operand to = link.to;
    to.place = to_.place(link.to_rank, link.to_at, where_);
    return to;
  }

  Transfers& transfers_;
  const Plan& plan_;
  const Ground &to_, &from_;
  Where where_;
  std::unique_ptr<char[]> stage_;
};

// What this node has stored is there, and all executing nodes are here.
void Gmoves::together(Where where) {
  transfers_.complete();
  if (sync_.barrier(teams_.current()) != 0) fail(where, "gmove: an image that is to take part has left main");
  transfers_.complete();
}

void Gmoves::move(const tasuki_xmp_global_section& to, const tasuki_xmp_global_section& from, unsigned flags,
                  Where where) {
  const Ground left = ground_of(to, flags, where), right = ground_of(from, flags, where);
  // What every node has, each fetches itself.
  const bool out =
      (flags & TASUKI_XMP_OUT) != 0 && left.distributed && !left.held.geometry->space->everywhere;
  const bool in = (flags & TASUKI_XMP_IN) != 0;
  const Way way = out ? Way::push : Way::pull;
  const Plan& plan = plan_for(to, from, flags, way, left.shares_memory(right), where);
  Move move(&transfers_, plan, left, right, where);
  // Collective: what is read is ready when all are here, and may be changed when all have read it. With in
  // and out the nodes outside do not take part; the program sees to it that what they have is ready. Where
  // each node has all that it needs nobody waits.
  const bool told = left.is_told() || right.is_told();
  if ((plan.remote && !in && !out) || told) together(where);
  if (plan.staged) {
    move.read();
    together(where);
    move.write();
  } else {
    move.copy();
  }
  if (plan.remote || plan.staged || out || told) together(where);
}

}  // namespace tasuki::coarray
