// What a library says of a receive whose message does not fit. The two families differ in the count that the
// status has, in whose error handler hears of it, and in what is too long:
// MPICH also refuses a message that ends inside an element of a type with gaps.
#pragma once

#include "shim/objects/requests.h"

namespace tasuki::shim {

// Marks a complete receive as truncated if its message ends inside an element, where the library does. Its
// type is `t`; nullptr: has been looked at.
void refuse_part_of_element(Request* r, TypeInfo* t);
inline void check_end(Request* r, TypeInfo* t) {
  if (__builtin_expect(t != nullptr && !t->dense && t->size != 0 && r->status_bytes % t->size != 0, 0))
    refuse_part_of_element(r, t);
}

// The bytes that the status of a truncated receive counts.
inline uint64_t truncated_count(const Request* r) {
#if defined(OPEN_MPI)
  return r->envelope.bytes;
#else
  static_cast<void>(r);
  return 0;  // MPICH over UCX leaves the count as it was, which is 0 in a new request
#endif
}

// A line on stderr if the receive is truncated and the job ends for it: with what was too long for what, which
// the libraries do not say (MPICH over some networks does).
void tell_of_truncation(const Request* r, MPI_Comm comm);

// The communicator whose error handler hears of errors of requests: MPICH takes MPI_COMM_WORLD for all.
inline MPI_Comm blamed(MPI_Comm comm) {
#if defined(OPEN_MPI)
  return comm;
#else
  static_cast<void>(comm);
  return MPI_COMM_WORLD;
#endif
}

}  // namespace tasuki::shim
