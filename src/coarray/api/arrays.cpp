// What tasukicc emits calls of for the global view (tasuki/compiler/global_view.h): templates,
// arrays, on clauses, loops, array assignments. Communication is in communication.cpp.
#include "coarray/api/runtime.h"
#include "coarray/global/compute/assignments.h"
#include "coarray/global/records/loops.h"
#include "coarray/local/record_size.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

EXPORT void tasuki_xmp_register_templates(tasuki_xmp_template* const* begin,
                                          tasuki_xmp_template* const* end) {
  for (tasuki_xmp_template* const* entry = begin; entry != end; entry++) {
    if (*entry == nullptr) continue;
    check_size(**entry);
    runtime().templates.add(*entry);
  }
}

EXPORT void tasuki_xmp_template_define(tasuki_xmp_template* t, const char* file, int line) {
  check_size(*t, {file, line});
  runtime().templates.define(t, {file, line});
}

EXPORT void tasuki_xmp_template_fix(tasuki_xmp_template* t, const tasuki_xmp_template_dimension* shape,
                                    const char* file, int line) {
  runtime().templates.fix(t, shape, {file, line});
}

EXPORT void tasuki_xmp_register_arrays(tasuki_xmp_array* const* begin, tasuki_xmp_array* const* end) {
  for (tasuki_xmp_array* const* entry = begin; entry != end; entry++) {
    if (*entry == nullptr) continue;
    check_size(**entry);
    runtime().arrays.add(*entry);
  }
}

EXPORT void tasuki_xmp_array_define(tasuki_xmp_array* a, const char* file, int line) {
  check_size(*a, {file, line});
  runtime().arrays.define(a, {file, line});
}

EXPORT void tasuki_xmp_array_release(tasuki_xmp_array* a) {
  runtime().arrays.release(a);
}

EXPORT void tasuki_xmp_array_parameter(tasuki_xmp_array* a, void* memory, const char* file, int line) {
  check_size(*a, {file, line});
  runtime().arrays.parameter(a, memory, {file, line});
}

EXPORT void* tasuki_xmp_row(const tasuki_xmp_array* a, int subscripts, const long long* x) {
  return runtime().arrays.row(*a, subscripts, x);
}

EXPORT long long tasuki_xmp_owned(const tasuki_xmp_array* a, int d, long long x, const char* file, int line) {
  const Held held = runtime().arrays.held(*a, 0, {file, line});
  if (!held.geometry->here(static_cast<size_t>(d), x)) [[unlikely]]
    fail({file, line},
         "element %lld of dimension %d of the distributed array '%s' is not on this node, which has %lld to "
         "%lld",
         x, d + 1, a->name, a->lower[d], a->upper[d]);
  return x;
}

EXPORT int tasuki_xmp_task_begin_on(const tasuki_xmp_on* on, const char* file, int line) {
  Runtime& r = runtime();
  r.phase.require_start("a task");
  const std::vector<int> ranks = r.templates.nodes_on(*on, {file, line});
  const std::vector<int>& now = r.teams.current().index;
  for (int rank : ranks)
    if (now[static_cast<size_t>(rank)] < 0)
      fail({file, line}, "a node of '%s' that is to execute this task does not execute the task around it",
           name_of_space(on->of));
  const Waiting here(&r.patience, "the beginning of a task", -1, {file, line});
  return r.teams.enter(ranks, {file, line}) ? 1 : 0;
}

EXPORT int tasuki_xmp_executes(const tasuki_xmp_on* on, const char* file, int line) {
  Runtime& r = runtime();
  r.phase.require_start("a task");
  return r.templates.executes(*on, {file, line}) ? 1 : 0;
}

EXPORT void tasuki_xmp_use_device() {
  runtime().use_device();
}

EXPORT void tasuki_xmp_device_wait() {
  runtime().device.finish_regions();
}

EXPORT void tasuki_xmp_device_update(void* data, size_t bytes, int to_device) {
  Runtime& r = runtime();
  char* copy = r.device.apart() ? r.coarrays.device_copy(data, bytes) : nullptr;
  if (copy == nullptr) return;
  const Bytes host = {static_cast<char*>(data), false}, device = {copy, true};
  const Shape all = dense_shape(bytes);
  r.device.copy(to_device != 0 ? device : host, all, to_device != 0 ? host : device, all);
  r.device.synchronize();
}

EXPORT void tasuki_xmp_barrier_on(const tasuki_xmp_on* on, const char* file, int line) {
  if (tasuki_xmp_task_begin_on(on, file, line) == 0) return;
  {
    const Waiting here(&runtime().patience, "barrier", -1, {file, line});
    xmp_sync_all(nullptr);
  }
  tasuki_xmp_task_end();
}

EXPORT void tasuki_xmp_loop(tasuki_xmp_iterations* l, const void* of, int dimension, long long begin,
                            long long count, long long step, long long offset, int below, int above,
                            unsigned flags, const char* file, int line) {
  divide_loop(l, &runtime().templates, of, dimension, {begin, count, step}, {offset, below, above, flags},
              {file, line});
}

EXPORT void tasuki_xmp_run(tasuki_xmp_iterations* l, long long run) {
  set_run(l, run);
}

EXPORT void tasuki_xmp_divide(tasuki_xmp_iterations* l, const void* of, int dimension, long long begin,
                              long long count, long long step, long long elements, const char* file,
                              int line) {
  divide_range(l, &runtime().templates, of, dimension, {begin, count, step}, elements, {file, line});
}

EXPORT int tasuki_xmp_array_begin(const tasuki_xmp_on* on, int loops, const tasuki_xmp_array_loop* loop,
                                  int accesses, const tasuki_xmp_array_access* access, const char* file,
                                  int line) {
  Runtime& r = runtime();
  return begins({on, loops, loop, accesses, access}, &r.templates, &r.arrays, {file, line}) ? 1 : 0;
}
