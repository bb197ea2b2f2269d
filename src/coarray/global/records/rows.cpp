// rows: what a[i] of a distributed array of several dimensions is as a pointer.
#include "coarray/global/records/arrays.h"
#include "coarray/local/runtime.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT void* tasuki_xmp_row(const tasuki_xmp_array* a, int subscripts, const long long* x) {
  const Held held = arrays().held(*a, 0, {a->file, a->line});
  const Geometry& g = *held.geometry;
  int64_t elements = 0;
  for (int i = 0; i < subscripts; i++) {
    const auto d = static_cast<size_t>(i);
    elements += g.axis[d].local(g.coordinate(d, g.space->own), x[i]) * g.axis[d].stride;
  }
  return static_cast<char*>(a->memory) + elements * static_cast<int64_t>(g.element);
}

}  // extern "C"
