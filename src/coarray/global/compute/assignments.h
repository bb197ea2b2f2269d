// assignments: #pragma xmp array (XcalableMP 1.4, section 4.5.5): which elements of an array assignment a
// node computes, and whether it has all that it needs for them. Nothing is assigned before that is known, so
// an assignment that does not fit its template never leaves half a result.
#pragma once

#include "coarray/global/records/arrays.h"
#include "coarray/global/records/templates.h"

namespace tasuki::coarray {

// The part of the range `all` in a dimension of the template `of` that this node computes. `elements`: of the
// section on the left side.
void divide_range(tasuki_xmp_iterations* l, Templates* templates, const void* of, int dimension,
                  const Run& all, long long elements, Where where);

struct Assignment {
  const tasuki_xmp_on* on;
  int loops;
  const tasuki_xmp_array_loop* loop;
  int accesses;
  const tasuki_xmp_array_access* access;
};
// Does this node compute some of it?
bool begins(const Assignment& assignment, Templates* templates, Arrays* arrays, Where where);

}  // namespace tasuki::coarray
