// What tasukicc emits calls of for the communication of the global view (tasuki/compiler/global_view.h):
// gmove, reflect, reductions, and their ends.
#include "coarray/api/runtime.h"
#include "tasuki/compiler/global_view.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

EXPORT void tasuki_xmp_gmove(const tasuki_xmp_global_section* to, const tasuki_xmp_global_section* from,
                             unsigned flags, int, const char* file, int line) {
  Runtime& r = runtime();
  r.phase.require_start("gmove");
  r.gmoves.move(*to, *from, flags, {file, line});
}

EXPORT void tasuki_xmp_reflect(const tasuki_xmp_array* a, const tasuki_xmp_width* width, unsigned flags,
                               int async, const char* file, int line) {
  runtime().reflections.reflect(*a, width, flags, async, {file, line});
}

EXPORT void tasuki_xmp_reflect_init(const tasuki_xmp_array* a, const tasuki_xmp_width* width, unsigned flags,
                                    int, const char* file, int line) {
  runtime().reflections.prepare(*a, width, flags, {file, line});
}

EXPORT void tasuki_xmp_reflect_do(const tasuki_xmp_array* a, unsigned flags, int async, const char* file,
                                  int line) {
  runtime().reflections.reflect_prepared(*a, flags, async, {file, line});
}

EXPORT void tasuki_xmp_reduce_shadow(const tasuki_xmp_array* a, int type, const tasuki_xmp_width* width,
                                     unsigned flags, int async, const char* file, int line) {
  runtime().reflections.reduce_shadow(*a, type, width, flags, async, {file, line});
}

EXPORT void tasuki_xmp_reduction(int operation, const tasuki_xmp_variable* variable, int locations,
                                 const tasuki_xmp_variable* location, const tasuki_xmp_on* on, unsigned flags,
                                 int async, const char* file, int line) {
  runtime().reductions.reduce({operation, *variable, locations, location}, on, flags, async, {file, line});
}

EXPORT void tasuki_xmp_loop_reduction(int operation, const tasuki_xmp_variable* variable, int locations,
                                      const tasuki_xmp_variable* location, int positions,
                                      const long long* position, const void* of, unsigned dimensions,
                                      unsigned flags, const char* file, int line) {
  runtime().reductions.reduce_loop({operation, *variable, locations, location},
                                   {position, position + positions}, of, dimensions, flags, {file, line});
}

EXPORT void tasuki_xmp_bcast(int variables, const tasuki_xmp_variable* variable, const tasuki_xmp_on* from,
                             const tasuki_xmp_on* on, unsigned flags, int async, const char* file, int line) {
  runtime().reductions.broadcast(variables, variable, from, on, flags, async, {file, line});
}

EXPORT void tasuki_xmp_wait_async(int count, const int* ids, const tasuki_xmp_on* on, const char* file,
                                  int line) {
  Runtime& r = runtime();
  // Issued on these nodes: the others have nothing to wait for.
  if (on != nullptr && !r.templates.executes(*on, {file, line})) return;
  for (int i = 0; i < count; i++) r.asynchronous.wait(ids[i]);
}

EXPORT int xmp_test_async(int async_id) {
  return runtime().asynchronous.test(async_id) ? 1 : 0;
}
