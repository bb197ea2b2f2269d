// Collective operations on communicators that span hosts: the members of a host join what they have at their
// leader, the leaders do the operation among themselves by the MPI library, and each gives its host what came
// of it. So a host's data cross the network once and not once for each of its ranks.
//
// They pay only where a host has several ranks. All ranks must come to the same decision from what is equal
// on all of them: the communicator, the root, the bytes, the operation. All functions are called by all ranks
// of the span, and return an error code, not raised; a rank without memory ends the job, because the others
// count on it.
#pragma once

#include <vector>

#include "message/collectives/reduction.h"
#include "shim/hosts/span.h"

namespace tasuki::shim {

// What carries operations out inside a host.
struct Inside {
  message::Engine& engine;
  Broadcaster& broadcaster;
};

// MPI_Barrier: the ranks of each host meet, their leaders do by the library, they meet again.
int barrier_spanning(const Inside& inside, Span* s);

// Rows of elements of a type without gaps, and an operation that commutes, unless s->in_order.
struct SpanReduction {
  const char* send;  // may be what `receive` is
  char* receive;     // of whoever gets the result
  uint64_t count;    // elements of `send`
  MPI_Datatype type;
  MPI_Op op;
  message::Combination how;
};
int allreduce_spanning(const Inside& inside, Span* s, const SpanReduction& r);
int reduce_spanning(const Inside& inside, Span* s, int root, const SpanReduction& r);
// Every rank gets as many elements as `counts` says of it. Only where s->in_order.
int reduce_scatter_spanning(const Inside& inside, Span* s, const std::vector<uint64_t>& counts,
                            const SpanReduction& r);

// MPI_Scan and MPI_Exscan: only where s->in_order.
int scan_spanning(const Inside& inside, Span* s, message::Scan kind, const SpanReduction& r);

// What every rank gets in an allgather: so many bytes of each, in one region where they lie one after the
// other and s->in_order, else in one for each rank.
struct SpanGathered {
  std::vector<uint64_t> bytes;
  const layout::Region* whole;  // nullptr: see `pieces`
  const layout::Region* pieces;
};
// Every rank has `own`; in place that is its piece of `all`.
int allgather_spanning(const Inside& inside, Span* s, const layout::Region& own, const SpanGathered& all);

}  // namespace tasuki::shim
