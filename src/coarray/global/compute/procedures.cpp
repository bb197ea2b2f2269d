#include "coarray/global/compute/procedures.h"

#include "coarray/global/records/descriptors.h"
#include "coarray/local/runtime.h"

using namespace tasuki::coarray;

namespace {

// Where the macros of xmp.h were expanded last. A call takes it, so that one that comes around the macros has none.
Where the_place = {nullptr, 0};

}  // namespace

extern "C" __attribute__((visibility("default"))) void tasuki_xmp_called_at(const char* file, int line) {
  the_place = {file, line};
}

namespace tasuki::coarray {

Procedure::Procedure(const char* name) : name_(name), where_(the_place) {
  the_place = {nullptr, 0};
  Runtime& r = runtime();
  r.require_start(name);
  r.transfers.complete();
}

const tasuki_xmp_array& Procedure::array(xmp_desc_t d, const char* role) const {
  const tasuki_xmp_array* a = array_of(d);
  if (a == nullptr)
    fail(where_,
         "%s: the argument '%s' is not the descriptor of a distributed array; write xmp_desc_of(name), with "
         "the name of an array that has an align directive",
         name_, role);
  if (a->state[0] == nullptr)
    fail(where_, "%s: the distributed array '%s' has no memory yet; xmp_malloc gives it some", name_,
         a->name);
  return *a;
}

const tasuki_xmp_array& Procedure::array(xmp_desc_t d, const char* role, int dimensions) const {
  const tasuki_xmp_array& a = array(d, role);
  if (a.dimensions != dimensions)
    fail(where_, "%s: '%s' has %d dimensions; the argument '%s' has %d", name_, a.name, a.dimensions, role,
         dimensions);
  return a;
}

ElementMap Procedure::elements(const tasuki_xmp_array& a) const {
  return {arrays().held(a, 0, where_), runtime().teams.current(), a.name, where_};
}

void Procedure::same_type(const tasuki_xmp_array& a, const tasuki_xmp_array& b) const {
  if (a.type != b.type || a.element != b.element)
    fail(where_, "%s: the elements of '%s' and '%s' are of different types", name_, a.name, b.name);
}

void Procedure::same_extent(const tasuki_xmp_array& a, int extent, const tasuki_xmp_array& b, int of) const {
  if (a.extent[extent] != b.extent[of])
    fail(where_,
         "%s: dimension %d of '%s' has %lld elements, and dimension %d of '%s' has %lld; both need the same",
         name_, extent + 1, a.name, a.extent[extent], of + 1, b.name, b.extent[of]);
}

void Procedure::same_mapping(const tasuki_xmp_array& a, const tasuki_xmp_array& b) const {
  if (a.dimensions != b.dimensions)
    fail(where_, "%s: '%s' has %d dimensions, and '%s' has %d; both need the same", name_, a.name,
         a.dimensions, b.name, b.dimensions);
  for (int d = 0; d < a.dimensions; d++) same_extent(a, d, b, d);
  const Geometry &one = *arrays().held(a, 0, where_).geometry, &other = *arrays().held(b, 0, where_).geometry;
  bool same = one.space == other.space && one.only == other.only && one.axis_of == other.axis_of;
  for (size_t d = 0; same && d < one.axis.size(); d++)
    same = one.axis[d].node_dimension < 0 || (one.axis[d].distribution == other.axis[d].distribution &&
                                              one.axis[d].offset == other.axis[d].offset);
  if (!same)
    fail(where_, "%s: '%s' must be aligned as '%s' is, so that the same nodes have the same elements", name_,
         a.name, b.name);
}

}  // namespace tasuki::coarray
