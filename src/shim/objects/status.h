// Filling an MPI_Status. The members that hold the count have no portable name; the MPI functions that would
// set them cost more than a small message, and the two families have kept these layouts since MPI-3 (they are
// part of their ABI).
#pragma once

#include <mpi.h>

#include <cstdint>

namespace tasuki::shim {

inline void set_count(MPI_Status* s, uint64_t bytes, bool cancelled) {
#if defined(OPEN_MPI)
  s->_ucount = bytes;
  s->_cancelled = cancelled ? 1 : 0;
#else
  s->count_lo = static_cast<int>(bytes & 0xffffffffu);
  s->count_hi_and_cancelled = static_cast<int>((bytes >> 32) << 1 | (cancelled ? 1u : 0u));
#endif
}

inline uint64_t count_in(const MPI_Status& s) {
#if defined(OPEN_MPI)
  return s._ucount;
#else
  return static_cast<uint64_t>(static_cast<uint32_t>(s.count_lo)) |
         static_cast<uint64_t>(static_cast<uint32_t>(s.count_hi_and_cancelled) >> 1) << 32;
#endif
}

// MPI_ERROR is set by the functions that return several statuses only (MPI-4.0, 3.2.5).
inline void set_status(MPI_Status* s, int source, int tag, uint64_t bytes, bool cancelled) {
  if (s == MPI_STATUS_IGNORE) return;
  s->MPI_SOURCE = source;
  s->MPI_TAG = tag;
  set_count(s, bytes, cancelled);
}

inline void set_empty_status(MPI_Status* s) {
  set_status(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
}

}  // namespace tasuki::shim
