#include "coarray/global/compute/procedures.h"

#include "coarray/global/records/descriptors.h"

namespace tasuki::coarray {

Procedure::Procedure(Procedures* parts, const char* name)
    : parts_(*parts), name_(name), where_(parts->called_at) {
  parts_.called_at = {nullptr, 0};
  parts_.phase.require_start(name);
  parts_.transfers.complete();
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
  return {parts_.arrays.held(a, 0, where_), team(), a.name, where_};
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
  const Geometry &one = *parts_.arrays.held(a, 0, where_).geometry,
                 &other = *parts_.arrays.held(b, 0, where_).geometry;
  bool same = one.space == other.space && one.only == other.only && one.axis_of == other.axis_of;
  for (size_t d = 0; same && d < one.axis.size(); d++)
    same = one.axis[d].node_dimension < 0 || (one.axis[d].distribution == other.axis[d].distribution &&
                                              one.axis[d].offset == other.axis[d].offset);
  if (!same)
    fail(where_, "%s: '%s' must be aligned as '%s' is, so that the same nodes have the same elements", name_,
         a.name, b.name);
}

}  // namespace tasuki::coarray
