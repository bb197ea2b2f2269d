// Cluster memory: rank 0 of the MPI job comes back from dlm_startup, the others lend their memory.
#include "measure/memory/memory.h"
#include "tasuki/dlm.h"

void memory_kind_start(int* argc, char*** argv) {
  dlm_startup(argc, argv);
}

const char* memory_kind(const char* folder) {
  (void)folder;
  return "dlm";
}

void* memory_kind_get(const char* folder, size_t bytes) {
  (void)folder;
  return dlm_alloc(bytes);
}

// The fields of struct dlm_counters.
#define FIELDS(X)          \
  X(page_bytes, true)      \
  X(local_bytes, true)     \
  X(server_bytes, true)    \
  X(allocated_bytes, true) \
  X(resident_bytes, true)  \
  X(faults, false)         \
  X(first_touches, false)  \
  X(rescues, false)        \
  X(write_faults, false)   \
  X(swaps_in, false)       \
  X(bytes_in, false)       \
  X(swaps_out, false)      \
  X(bytes_out, false)      \
  X(drops, false)          \
  X(prefetched, false)     \
  X(wait_previous, false)  \
  X(wait_page, false)      \
  X(in_seconds, false)     \
  X(out_seconds, false)    \
  X(map_seconds, false)

int memory_kind_counters(double* values, int most) {
  struct dlm_counters s;
  if (dlm_stats(&s, sizeof s) != 0) return 0;
  int n = 0;
#define VALUE(field, level) \
  if (n < most) values[n++] = (double)s.field;
  FIELDS(VALUE)
  return n;
}

const char* memory_kind_counter(int i, bool* level) {
  static const struct {
    const char* name;
    bool level;
  } names[] = {
#define NAME(field, is_level) {#field, is_level},
      FIELDS(NAME)};
  *level = names[i].level;
  return names[i].name;
}

int memory_kind_end(int code) {
  return dlm_shutdown() == 0 ? code : 1;
}
