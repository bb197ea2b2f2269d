#include "coarray/global/compute/assignments.h"

#include <algorithm>

#include "coarray/global/records/loops.h"

namespace tasuki::coarray {
namespace {

// Calls check(first q, how many, how far the next is) for each run of a loop's iterations on this node.
template <typename Check>
void each_run(const tasuki_xmp_array_loop& loop, const Check& check) {
  if (loop.part == nullptr) {
    if (loop.count > 0) check(0LL, loop.count, 1LL);
    return;
  }
  tasuki_xmp_iterations l = *loop.part;
  for (long long r = 0; r < l.runs; r++) {
    set_run(&l, r);
    if (l.count > 0) check((l.begin - loop.begin) / loop.step, l.count, l.step / loop.step);
  }
}

class Access {
 public:
  Access(const tasuki_xmp_array_access& access, Arrays* arrays, Where where)
      : a_(access),
        where_(where),
        geometry_(*arrays->held(*access.array, 0, where).geometry),
        axis_(geometry_.axis[static_cast<size_t>(access.dimension)]) {}

  void check(const tasuki_xmp_array_loop* loop) const {
    if (loop == nullptr) return check(a_.lower);
    each_run(*loop, [&](long long q, long long count, long long step) {
      // What a node has of other than cyclic distributions is one interval.
      const bool interval = axis_.distribution == nullptr || axis_.distribution->contiguous() ||
                            (axis_.full && a_.written == 0);
      const long long far = interval ? std::max(1LL, count - 1) : 1;
      for (long long k = 0; k < count; k += far) check(a_.lower + (q + k * step) * a_.step);
    });
  }

 private:
  void check(long long x) const {
    const auto d = static_cast<size_t>(a_.dimension);
    const bool there = a_.written == 0 ? geometry_.here(d, x)
                                       : geometry_.mine && axis_.owned(geometry_.own(d), {x, 1, 1}).any();
    if (there) [[likely]]
      return;
    if (x < 0 || x >= axis_.extent)
      fail(where_, "array: dimension %d of '%s' goes from 0 to %lld; element %lld was named",
           a_.dimension + 1, a_.name, static_cast<long long>(axis_.extent - 1), x);
    if (a_.written != 0)
      fail(where_,
           "array: the node that has this part of the template does not have element %lld of dimension %d of "
           "'%s', which is assigned; name the part of the template that the section is aligned with",
           x, a_.dimension + 1, a_.name);
    fail(where_,
         "array: element %lld of dimension %d of '%s' is read on a node that does not have it; align '%s' "
         "with "
         "the template alike, give it a shadow and reflect it, or copy the section with gmove first",
         x, a_.dimension + 1, a_.name, a_.name);
  }

  const tasuki_xmp_array_access& a_;
  const Where where_;
  const Geometry& geometry_;
  const Axis& axis_;
};

}  // namespace

void divide_range(tasuki_xmp_iterations* l, Templates* templates, const void* of, int dimension,
                  const Run& all, long long elements, Where where) {
  const Distribution& d = templates->of(of, where).dimension[static_cast<size_t>(dimension)];
  if (all.step == 0) fail(where, "array: a range of '%s' has the stride 0", name_of_space(of));
  if (elements < 0) fail(where, "array: a section has %lld elements", elements);
  if (all.count != elements)
    fail(where,
         "array: the range of dimension %d of '%s' has %lld elements, and the section on the left side %lld; "
         "give both the same length",
         dimension + 1, name_of_space(of), static_cast<long long>(all.count), elements);
  if (all.count > 0 && (all.least() < d.lower() || all.most() > d.upper()))
    fail(where, "array: dimension %d of '%s' goes from %lld to %lld; %lld to %lld was named", dimension + 1,
         name_of_space(of), static_cast<long long>(d.lower()), static_cast<long long>(d.upper()),
         static_cast<long long>(all.least()), static_cast<long long>(all.most()));
  divide_loop(l, templates, of, dimension, all, {}, where);
}

bool begins(const Assignment& assignment, Templates* templates, Arrays* arrays, Where where) {
  const auto [on, loops, loop, accesses, access] = assignment;
  for (int i = 0; i < accesses; i++) {
    const tasuki_xmp_array_access& a = access[i];
    if (a.loop >= 0 && a.count != TASUKI_XMP_OPEN && a.count != loop[a.loop].count)
      fail(
          where,
          "array: the section of '%s' has %lld elements in dimension %d, and that on the left side has %lld; "
          "give all the same shape",
          a.name, a.count, a.dimension + 1, loop[a.loop].count);
  }
  if (on != nullptr && !templates->executes(*on, where)) return false;
  for (int j = 0; j < loops; j++) {
    bool any = false;
    each_run(loop[j], [&](long long, long long, long long) { any = true; });
    if (!any) return false;
  }
  for (int i = 0; i < accesses; i++)
    if (access[i].array != nullptr)
      Access(access[i], arrays, where).check(access[i].loop < 0 ? nullptr : &loop[access[i].loop]);
  return true;
}

}  // namespace tasuki::coarray
