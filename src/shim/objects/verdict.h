// What a library says of a receive whose message does not fit. The two families differ in the count that the
// status has, in whose error handler hears of it, and in what is too long:
// MPICH also refuses a message that ends inside an element of a type with gaps.
#pragma once

#include "message/engine.h"
#include "shim/objects/datatype.h"

namespace tasuki::shim {

// May a message of so many bytes end inside an element of the type, which then has gaps? Nearly always no.
inline bool may_end_inside(uint64_t bytes, const TypeInfo* t) {
  return !t->dense && t->size != 0 && bytes % t->size != 0;
}
// Whether the library refuses a message of so many bytes because it ends inside an element of the type.
bool refuses_part_of_element(uint64_t bytes, TypeInfo* t, TypeTable& types);
// Marks the receive as truncated then.
void refuse_part_of_element(Request* r, TypeInfo* t, TypeTable& types);

// The bytes that the status of a truncated receive counts.
inline uint64_t truncated_count(const Request* r) {
#if defined(OPEN_MPI)
  return r->envelope.bytes;
#else
  static_cast<void>(r);
  return 0;  // MPICH over UCX leaves the count as it was, which is 0 in a new request
#endif
}

// A line on stderr if the receive is truncated and the job ends for it: with what was too long for what,
// which the libraries do not say (MPICH over some networks does).
void tell_of_truncation(const Request* r, MPI_Comm comm, int world_rank);

}  // namespace tasuki::shim
