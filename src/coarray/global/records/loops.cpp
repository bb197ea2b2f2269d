#include "coarray/global/records/loops.h"

#include <algorithm>

#include "coarray/index/iterations.h"

namespace tasuki::coarray {

void divide_loop(tasuki_xmp_iterations* l, Templates* templates, const void* of, int dimension,
                 const Run& all, const LoopClauses& clauses, Where where) {
  const Template& t = templates->of(of, where);
  *l = {};
  if (!t.member || all.count <= 0) return;
  const auto d = static_cast<size_t>(dimension);
  const Distribution& distribution = t.dimension[d];
  const auto [offset, below, above, flags] = clauses;
  if ((below != 0 || above != 0) && !distribution.contiguous()) [[unlikely]]
    fail(where, "expand and margin are not for dimension %d of '%s', which is cyclic", dimension + 1,
         name_of_space(of));
  const Pieces p = iterations(distribution, t.own_coordinate(d), {all.begin + offset, all.count, all.step},
                              {below, above, (flags & TASUKI_XMP_UNBOUND) != 0},
                              static_cast<Part>(flags & TASUKI_XMP_PART));
  l->runs = p.runs;
  const long long state[8] = {p.of.begin - offset, p.of.count, p.of.step,   p.low - offset,
                              p.high - offset,     p.low_step, p.high_step, 0};
  std::copy(state, state + 8, l->state);
}

void set_run(tasuki_xmp_iterations* l, long long run) {
  const long long* s = l->state;
  const Pieces p = {{s[0], s[1], s[2]}, l->runs, s[3], s[4], s[5], s[6]};
  const Run r = p.run(run);
  l->begin = r.begin;
  l->count = r.count;
  l->step = r.step;
}

}  // namespace tasuki::coarray
