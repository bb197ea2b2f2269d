// What tasukicc emits calls of for the global view (xmp_global.h): templates, arrays, on clauses, loops. Communication is in files
// of its own.
#include <algorithm>

#include "coarray/global/records/arrays.h"
#include "coarray/index/iterations.h"
#include "coarray/local/runtime.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

EXPORT void tasuki_xmp_register_templates(tasuki_xmp_template* const* begin,
                                          tasuki_xmp_template* const* end) {
  for (tasuki_xmp_template* const* entry = begin; entry != end; entry++)
    if (*entry != nullptr) arrays().add(*entry);
}

EXPORT void tasuki_xmp_template_define(tasuki_xmp_template* t, const char* file, int line) {
  templates().define(t, {file, line});
}

EXPORT void tasuki_xmp_template_fix(tasuki_xmp_template* t, const tasuki_xmp_template_dimension* shape,
                                    const char* file, int line) {
  templates().fix(t, shape, {file, line});
}

EXPORT void tasuki_xmp_register_arrays(tasuki_xmp_array* const* begin, tasuki_xmp_array* const* end) {
  for (tasuki_xmp_array* const* entry = begin; entry != end; entry++)
    if (*entry != nullptr) arrays().add(*entry);
}

EXPORT void tasuki_xmp_array_define(tasuki_xmp_array* a, const char* file, int line) {
  arrays().define(a, {file, line});
}

EXPORT void tasuki_xmp_array_release(tasuki_xmp_array* a) {
  arrays().release(a);
}

EXPORT void tasuki_xmp_array_parameter(tasuki_xmp_array* a, void* memory, const char* file, int line) {
  arrays().parameter(a, memory, {file, line});
}

EXPORT long long tasuki_xmp_owned(const tasuki_xmp_array* a, int d, long long x, const char* file, int line) {
  const Held held = arrays().held(*a, 0, {file, line});
  if (!held.geometry->here(static_cast<size_t>(d), x)) [[unlikely]]
    fail({file, line},
         "element %lld of dimension %d of the distributed array '%s' is not on this node, which has %lld to "
         "%lld",
         x, d + 1, a->name, a->lower[d], a->upper[d]);
  return x;
}

EXPORT int tasuki_xmp_task_begin_on(const tasuki_xmp_on* on, const char* file, int line) {
  Runtime& r = runtime();
  r.require_start("a task");
  const std::vector<int> ranks = nodes_on(*on, {file, line});
  const std::vector<int>& now = r.teams.current().index;
  for (int rank : ranks)
    if (now[static_cast<size_t>(rank)] < 0)
      fail({file, line}, "a node of '%s' that is to execute this task does not execute the task around it",
           name_of_space(on->of));
  const Waiting here("the beginning of a task", -1, {file, line});
  return r.teams.enter(ranks, {file, line}) ? 1 : 0;
}

EXPORT int tasuki_xmp_executes(const tasuki_xmp_on* on, const char* file, int line) {
  runtime().require_start("a task");
  return executes(*on, {file, line}) ? 1 : 0;
}

EXPORT void tasuki_xmp_use_device() {
  runtime().use_device();
}

EXPORT void tasuki_xmp_device_wait() {
  runtime().device.finish_regions();
}

EXPORT void tasuki_xmp_device_update(void* data, size_t bytes, int to_device) {
  Runtime& r = runtime();
  char* copy = r.device.apart() ? r.device_copy(data, bytes) : nullptr;
  if (copy == nullptr) return;
  const Bytes host = {static_cast<char*>(data), false}, device = {copy, true};
  const Shape all = dense_shape(bytes);
  r.device.copy(to_device != 0 ? device : host, all, to_device != 0 ? host : device, all);
  r.device.synchronize();
}

EXPORT void tasuki_xmp_barrier_on(const tasuki_xmp_on* on, const char* file, int line) {
  if (tasuki_xmp_task_begin_on(on, file, line) == 0) return;
  {
    const Waiting here("barrier", -1, {file, line});
    xmp_sync_all(nullptr);
  }
  tasuki_xmp_task_end();
}

EXPORT void tasuki_xmp_loop(tasuki_xmp_iterations* l, const void* of, int dimension, long long begin,
                            long long count, long long step, long long offset, int below, int above,
                            unsigned flags, const char* file, int line) {
  const Template& t = templates().of(of, {file, line});
  *l = {};
  if (!t.member || count <= 0) return;
  const auto d = static_cast<size_t>(dimension);
  const Distribution& distribution = t.dimension[d];
  if ((below != 0 || above != 0) && !distribution.contiguous()) [[unlikely]]
    fail({file, line}, "expand and margin are not for dimension %d of '%s', which is cyclic", dimension + 1,
         name_of_space(of));
  const Pieces p = iterations(distribution, t.own_coordinate(d), {begin + offset, count, step},
                              {below, above, (flags & TASUKI_XMP_UNBOUND) != 0},
                              static_cast<Part>(flags & TASUKI_XMP_PART));
  l->runs = p.runs;
  const long long state[8] = {p.of.begin - offset, p.of.count, p.of.step,   p.low - offset,
                              p.high - offset,     p.low_step, p.high_step, 0};
  std::copy(state, state + 8, l->state);
}

EXPORT void tasuki_xmp_run(tasuki_xmp_iterations* l, long long run) {
  const long long* s = l->state;
  const Pieces p = {{s[0], s[1], s[2]}, l->runs, s[3], s[4], s[5], s[6]};
  const Run r = p.run(run);
  l->begin = r.begin;
  l->count = r.count;
  l->step = r.step;
}
