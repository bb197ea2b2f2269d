/* Functions that tasukicc writes into programs of the global view, before the user's first line, where they
 * are named __tasuki_.. (gen/emitted.py). No other program uses them. */
#ifndef TASUKI_COMPILER_EMIT_HELPERS_H
#define TASUKI_COMPILER_EMIT_HELPERS_H

#include <tasuki/compiler/global_view.h>

/* The iterations of for (i = lower; i < bound; i += step), or with > where `step` is negative. */
static inline long long tasuki_xmp_count(long long lower, long long bound, long long step) {
  return step > 0                    ? (bound > lower ? (bound - lower + step - 1) / step : 0)
         : step < 0 && lower > bound ? (lower - bound - step - 1) / -step
                                     : 0;
}

/* The elements of [lower:*:step] in a dimension: what is left of it. */
static inline long long tasuki_xmp_length(long long extent, long long lower, long long step) {
  return step > 0 ? (extent - lower + step - 1) / step : step < 0 ? lower / -step + 1 : 0;
}

/* The elements of the range lower:upper:step, both ends included. */
static inline long long tasuki_xmp_range_count(long long lower, long long upper, long long step) {
  return step == 0 || (step > 0 ? upper < lower : upper > lower) ? 0 : (upper - lower) / step + 1;
}

/* The elements that this node has in memory. */
static inline unsigned long tasuki_xmp_allocated(const struct tasuki_xmp_array* a) {
  unsigned long n = a->memory != 0;
  for (int d = 0; d < a->dimensions; d++) n *= (unsigned long)a->allocated[d];
  return n;
}

/* The cleanup of a variable that is there while a task is executed. */
static inline void tasuki_xmp_leave(int* in) {
  (void)in;
  tasuki_xmp_task_end();
}

#endif
