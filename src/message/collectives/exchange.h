// Collective operations that move data between the tasks of one communicator, straight from one typed buffer
// to the other. The tasks meet, and each copies what it gets; or every piece is a message (parts.h): in a
// gather, in a small scatter, and where ranks outnumber cores.
//
// Of tasks that meet, what fits into a post travels there. Each task decides that for itself, so that the
// tasks need not agree on sizes: MPI_Alltoallw has no size that all of them know.
#pragma once

#include "message/collectives/meeting.h"

namespace tasuki::message {

// Pieces of a buffer, by rank.
struct Pieces {
  const layout::Region* first;
  uint32_t step;  // 0: the same piece for all; 1: one for each
  const layout::Region& of(int rank) const { return first[static_cast<uint32_t>(rank) * step]; }
};

// What one task found.
struct Moved {
  uint64_t bytes = 0;
  bool too_long = false;  // some piece did not fit into its place: it has been filled
};

// Every task gets from every other: piece `rank` of its `send`, into its own piece `receive.of(that task)`.
// `own`: the task's piece for itself moves, too. False: no memory, in which case no task can go on.
bool exchange(Meeting& m, const Pieces& send, const Pieces& receive, bool own, Moved* moved);

// The root's pieces go to the others (scatter). Only the root's `send` and the others' `receive` are used;
// `own`: at the root, receive gets its piece. Small pieces are messages in the collective context, which the
// root sends without waiting for anybody; of larger ones such a message says that all meet. Only the root
// needs to know which of both it is.
bool scatter(Meeting& m, int root, const Pieces& send, const layout::Region& receive, bool own, Moved* moved);

// The others' pieces go to the root (gather): only the others' `send`, the root's `receive`; `own` as above.
// All are messages: the root waits for all, and those whose pieces are large for the root.
bool gather(Meeting& m, int root, const layout::Region& send, const Pieces& receive, bool own, Moved* moved);

// Whom a task exchanges pieces with in a neighbourhood collective: ranks, some perhaps several times.
struct Neighbours {
  int sources = 0, destinations = 0;
  const int* source = nullptr;       // by place in `receive`; kNoNeighbour: nothing comes
  const int* destination = nullptr;  // by place in `send`; kNoNeighbour: nothing goes
  bool repeated = false;             // one of them occurs more than once in a list
};
inline constexpr int kNoNeighbour = -1;

// For each source the place that its piece for this task has in its `send`: of several pieces from one source
// the first goes to the first place in `receive`, and so on (MPI-4.0, 8.6). *repeated: that of any task. All
// tasks call it together. False: no memory, in which case no task can go on.
bool find_places(Meeting& m, const Neighbours& n, int* place, bool* repeated);

// Every task gets from each source the piece that lies in that place. False: as above.
bool exchange_among(Meeting& m, const Neighbours& n, const int* place, const Pieces& send,
                    const Pieces& receive, Moved* moved);

}  // namespace tasuki::message
