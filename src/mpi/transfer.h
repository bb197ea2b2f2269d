// The copy of one matched message, from the send layout to the receive layout, by the side that arrived
// second, and by the first side when it waits.
//
// The paper (Shimada et al. 2016, section 4) lets each side copy a fixed half. Here both claim chunks, so
// that a side that is late, descheduled or computing never delays the other by more than its own chunk; the
// halves are the case where both are equally fast. Where both layouts are finely scattered the paper's direct
// copy loses (NAS_MG_x, section 5.1): there the source's side packs and the destination's side unpacks, each
// touching sparse lines of its own memory only.
#pragma once

#include "mpi/shared.h"

namespace tasuki::mpi {

enum class Protocol : int { automatic, eager, direct, pipelined };  // the order of TASUKI_PROTOCOL's choices

struct TransferPolicy {
  Protocol protocol;
  uint64_t chunk_bytes;
};

struct TransferStats {
  uint64_t alone_bytes, direct_bytes, pipelined_bytes;  // copied by this task, by mode of the transfer
  uint64_t chunks_helped;                               // claimed as the first side
};

// Moves `bytes` packed bytes from `source` to `destination` and completes both requests. Called by the side
// that arrived second, after it has taken `first` out of its queue; exactly one of the two requests is a
// send. On return `second` is done or becomes done as soon as the first side has finished the chunk that it
// claimed. `staging` is a buffer for the pipelined mode, or nullptr.
void move_message(const TransferPolicy& policy, Request* first, Request* second, const layout::Region& source,
                  const layout::Region& destination, uint64_t bytes, Staging* staging, TransferStats* stats);

// The first side's help, from its waiting loop, when its state is `active`. `stay`: until nothing is left to
// claim; otherwise at most one chunk (a test must not turn into a wait).
void help(Request* first, bool stay, TransferStats* stats);

// Marks a request done and wakes its owner. The request must not be touched afterwards by anyone but its
// owner.
void complete(Request* r);

}  // namespace tasuki::mpi
