// Filling an MPI_Status. The members that hold the count have no portable name; the MPI functions that would
// set them cost more than a small message, and the two families have kept these layouts since MPI-3 (they are
// part of their ABI). The standard ABI leaves the layout to the library: MPICH 5 and Intel MPI have MPICH's
// there. Where a library has another one, its functions are called.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/habits.h"

namespace tasuki::shim {

// MPICH's: the lower half of the count; the upper half, and in the lowest bit whether it was cancelled.
inline void set_halves(int* lower, int* upper_and_cancelled, uint64_t bytes, bool cancelled) {
  *lower = static_cast<int>(bytes & 0xffffffffu);
  *upper_and_cancelled = static_cast<int>((bytes >> 32) << 1 | (cancelled ? 1u : 0u));
}
inline uint64_t count_of_halves(int lower, int upper_and_cancelled) {
  return static_cast<uint64_t>(static_cast<uint32_t>(lower)) |
         static_cast<uint64_t>(static_cast<uint32_t>(upper_and_cancelled) >> 1) << 32;
}

#if defined(OPEN_MPI)
inline void set_count(MPI_Status* s, uint64_t bytes, bool cancelled) {
  s->_ucount = bytes;
  s->_cancelled = cancelled ? 1 : 0;
}
inline uint64_t count_in(const MPI_Status& s) {
  return s._ucount;
}
inline void learn_status_layout() {}
#elif defined(TASUKI_STANDARD_ABI)
// After MPI_Init, before any other function here.
void learn_status_layout();
extern bool g_status_has_halves;
void set_count_by_library(MPI_Status* s, uint64_t bytes, bool cancelled);
uint64_t count_by_library(const MPI_Status& s);

inline void set_count(MPI_Status* s, uint64_t bytes, bool cancelled) {
  if (__builtin_expect(g_status_has_halves, 1))
    set_halves(&s->MPI_internal[0], &s->MPI_internal[1], bytes, cancelled);
  else
    set_count_by_library(s, bytes, cancelled);
}
inline uint64_t count_in(const MPI_Status& s) {
  return __builtin_expect(g_status_has_halves, 1) ? count_of_halves(s.MPI_internal[0], s.MPI_internal[1])
                                                  : count_by_library(s);
}
#else
inline void set_count(MPI_Status* s, uint64_t bytes, bool cancelled) {
  set_halves(&s->count_lo, &s->count_hi_and_cancelled, bytes, cancelled);
}
inline uint64_t count_in(const MPI_Status& s) {
  return count_of_halves(s.count_lo, s.count_hi_and_cancelled);
}
inline void learn_status_layout() {}
#endif

// MPI_ERROR is set by the functions that return several statuses (MPI-4.0, 3.2.5), and by habit.
inline void set_status(MPI_Status* s, int source, int tag, uint64_t bytes, bool cancelled) {
  if (s == MPI_STATUS_IGNORE) return;
  s->MPI_SOURCE = source;
  s->MPI_TAG = tag;
  set_count(s, bytes, cancelled);
}

inline void set_error(MPI_Status* s, bool habit, int code) {
  if (__builtin_expect(habit, 0) && s != MPI_STATUS_IGNORE) s->MPI_ERROR = code;
}

// Of a send.
inline void set_status_of_sent(MPI_Status* s) {
  set_status(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
}
// Where nothing was active.
inline void set_empty_status(MPI_Status* s) {
  set_status_of_sent(s);
  set_error(s, g_habits.sets_error.nothing, MPI_SUCCESS);
}

}  // namespace tasuki::shim
