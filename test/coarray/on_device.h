/* Read before a program of the global view: what it communicates is on the device for as long as that takes, and the host's memory holds
 * something else. With TASUKI_TEST_MIRROR=1 distributed arrays are on the device as long as they live, else by OpenACC. */
#include "fake_openacc.h"
#include "global.h"

static int mirrors(void) {
  const char* text = getenv("TASUKI_TEST_MIRROR");
  return text != NULL && *text == '1';
}

static size_t bytes_of(const struct tasuki_xmp_array* a) {
  size_t bytes = a->element;
  for (int d = 0; d < a->dimensions; d++) bytes *= (size_t)a->allocated[d];
  return bytes;
}
static void array_to_device(const struct tasuki_xmp_array* a) {
  if (!mirrors()) {
    to_device(a->memory, bytes_of(a));
    return;
  }
  tasuki_xmp_device_update(a->memory, bytes_of(a), 1);
  if (acc_get_num_devices(5) > 0) poison(a->memory, bytes_of(a));
}
static void array_from_device(const struct tasuki_xmp_array* a) {
  if (mirrors())
    tasuki_xmp_device_update(a->memory, bytes_of(a), 0);
  else
    from_device(a->memory, bytes_of(a));
}
static void variable_to_device(const struct tasuki_xmp_variable* v) {
  if (v->array != NULL)
    array_to_device(v->array);
  else
    to_device(v->data, v->count * v->element);
}
static void variable_from_device(const struct tasuki_xmp_variable* v) {
  if (v->array != NULL)
    array_from_device(v->array);
  else
    from_device(v->data, v->count * v->element);
}

/* Under way. */
static struct {
  int used, id;
  struct tasuki_xmp_variable variable;
} begun[64];
static void leave(const struct tasuki_xmp_variable* v, unsigned flags, int id) {
  if ((flags & TASUKI_XMP_ASYNC) == 0) {
    variable_from_device(v);
    return;
  }
  int i = 0;
  while (begun[i].used) i++;
  begun[i].used = 1;
  begun[i].id = id;
  begun[i].variable = *v;
}
static void ended(int id) {
  for (int i = 0; i < 64; i++) {
    if (!begun[i].used || begun[i].id != id) continue;
    variable_from_device(&begun[i].variable);
    begun[i].used = 0;
  }
}

static inline void device_register_arrays(struct tasuki_xmp_array* const* begin,
                                          struct tasuki_xmp_array* const* end) {
  tasuki_xmp_use_device();
  for (struct tasuki_xmp_array* const* a = begin; a != end; a++)
    if (mirrors()) (*a)->flags |= TASUKI_XMP_DEVICE;
  tasuki_xmp_register_arrays(begin, end);
}

static inline void device_reflect(const struct tasuki_xmp_array* a, const struct tasuki_xmp_width* width,
                                  unsigned flags, int async, const char* file, int line) {
  const struct tasuki_xmp_variable v = {NULL, 0, 0, 0, a};
  array_to_device(a);
  tasuki_xmp_reflect(a, width, flags | TASUKI_XMP_DEVICE, async, file, line);
  leave(&v, flags, async);
}
static inline void device_reduce_shadow(const struct tasuki_xmp_array* a, int type,
                                        const struct tasuki_xmp_width* width, unsigned flags, int async,
                                        const char* file, int line) {
  const struct tasuki_xmp_variable v = {NULL, 0, 0, 0, a};
  array_to_device(a);
  tasuki_xmp_reduce_shadow(a, type, width, flags | TASUKI_XMP_DEVICE, async, file, line);
  leave(&v, flags, async);
}

static inline void device_reduction(int operation, const struct tasuki_xmp_variable* v, int locations,
                                    const struct tasuki_xmp_variable* location,
                                    const struct tasuki_xmp_on* on, unsigned flags, int async,
                                    const char* file, int line) {
  variable_to_device(v);
  for (int i = 0; i < locations; i++) variable_to_device(&location[i]);
  tasuki_xmp_reduction(operation, v, locations, location, on, flags | TASUKI_XMP_DEVICE, async, file, line);
  leave(v, flags, async);
  for (int i = 0; i < locations; i++) leave(&location[i], flags, async);
}
static inline void device_loop_reduction(int operation, const struct tasuki_xmp_variable* v, int locations,
                                         const struct tasuki_xmp_variable* location, int positions,
                                         const long long* position, const void* of, unsigned dimensions,
                                         unsigned flags, const char* file, int line) {
  variable_to_device(v);
  for (int i = 0; i < locations; i++) variable_to_device(&location[i]);
  tasuki_xmp_loop_reduction(operation, v, locations, location, positions, position, of, dimensions,
                            flags | TASUKI_XMP_DEVICE, file, line);
  variable_from_device(v);
  for (int i = 0; i < locations; i++) variable_from_device(&location[i]);
}
static inline void device_bcast(int variables, const struct tasuki_xmp_variable* v,
                                const struct tasuki_xmp_on* from, const struct tasuki_xmp_on* on,
                                unsigned flags, int async, const char* file, int line) {
  for (int i = 0; i < variables; i++) variable_to_device(&v[i]);
  tasuki_xmp_bcast(variables, v, from, on, flags | TASUKI_XMP_DEVICE, async, file, line);
  for (int i = 0; i < variables; i++) leave(&v[i], flags, async);
}

/* Sides of one gmove are on the device or on the host, the same on all nodes. */
static inline unsigned choice(const struct tasuki_xmp_global_section* to,
                              const struct tasuki_xmp_global_section* from) {
  long long sum = 1;
  for (int d = 0; d < to->dimensions; d++) sum += to->subscript[d].begin * 7 + to->subscript[d].count;
  for (int d = 0; d < from->dimensions; d++) sum += from->subscript[d].begin * 3 + from->subscript[d].count;
  return (unsigned)sum % 4;
}
static inline void side_to_device(const struct tasuki_xmp_global_section* s) {
  if (s->array != NULL)
    array_to_device(s->array);
  else
    to_device(s->local->base, s->local->dimension[0].extent * s->local->dimension[0].bytes);
}
static inline void side_from_device(const struct tasuki_xmp_global_section* s) {
  if (s->array != NULL)
    array_from_device(s->array);
  else
    from_device(s->local->base, s->local->dimension[0].extent * s->local->dimension[0].bytes);
}
static inline void device_gmove(const struct tasuki_xmp_global_section* to,
                                const struct tasuki_xmp_global_section* from, unsigned flags, int async,
                                const char* file, int line) {
  int all;
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  const unsigned chosen = choice(to, from);
  /* In a task, others' memory is wanted where they do not see to it. */
  if (xmp_num_nodes() != all) {
    tasuki_xmp_gmove(to, from, flags, async, file, line);
    return;
  }
  const int same = to->array == from->array;
  struct tasuki_xmp_global_section left = *to, right = *from;
  const int left_there = chosen % 2, right_there = same ? left_there : (int)chosen / 2;
  left.flags = left_there ? TASUKI_XMP_DEVICE : 0;
  right.flags = right_there ? TASUKI_XMP_DEVICE : 0;
  if (left_there) side_to_device(to);
  if (right_there && !same) side_to_device(from);
  xmp_sync_all(NULL);
  tasuki_xmp_gmove(&left, &right, flags, async, file, line);
  if (left_there) side_from_device(to);
  if (right_there && !same) side_from_device(from);
  xmp_sync_all(NULL);
}

static inline void device_wait_async(int count, const int* ids, const struct tasuki_xmp_on* on,
                                     const char* file, int line) {
  tasuki_xmp_wait_async(count, ids, on, file, line);
  for (int i = 0; i < count; i++) ended(ids[i]);
}
static inline int device_test_async(int id) {
  const int done = xmp_test_async(id);
  if (done) ended(id);
  return done;
}

#define tasuki_xmp_register_arrays device_register_arrays
#define tasuki_xmp_reflect device_reflect
#define tasuki_xmp_reduce_shadow device_reduce_shadow
#define tasuki_xmp_reduction device_reduction
#define tasuki_xmp_loop_reduction device_loop_reduction
#define tasuki_xmp_bcast device_bcast
#define tasuki_xmp_gmove device_gmove
#define tasuki_xmp_wait_async device_wait_async
#define xmp_test_async device_test_async
