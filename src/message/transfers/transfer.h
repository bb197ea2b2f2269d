// The copy of one matched message, from the send layout to the receive layout: by the side that arrived
// second, by the first side when it waits, and by idle tasks of the space (see job.h).
//
// Where both layouts are finely scattered a direct copy loses (Shimada et al. 2016, section 5.1, NAS_MG_x):
// there the source's side packs and the destination's side unpacks, each touching sparse lines of its own
// memory only (pipeline.h). The cost model (cost.h) says where. The side that arrives second chooses, but for
// what the first has packed ahead, and what it chose is part of the transfer: the two need not agree
// beforehand.
#pragma once

#include "message/cost/cost.h"
#include "message/shared/shared.h"
#include "message/transfers/job.h"

namespace tasuki::message {

enum class Protocol : int { automatic, eager, direct, pipelined };  // the order of TASUKI_PROTOCOL's choices

struct TransferPolicy {
  Protocol protocol;
  uint64_t claim_bytes;  // the most that one task claims and copies at a time
  Costs costs = kBuiltInCosts;
  Thresholds from = thresholds(kBuiltInCosts);  // of `costs`
  bool ahead = false;   // sends that are waited for begin to pack before their receive is there
  bool learns = false;  // automatic: messages try other ways than the model's, too (trials.h)
};

struct TransferStats {
  uint64_t alone_bytes, direct_bytes, pipelined_bytes;  // copied by this task, by mode of the transfer
  uint64_t claims_helped;                               // made as the first side
  uint64_t others_bytes;                                // copied for messages and packs of other tasks
};

// Moves `bytes` packed bytes from the send's region to the receive's and completes both requests. Called by
// the side that arrived second, after it has taken `first` out of its queue; exactly one of the two requests
// is a send. On return `second` is done or becomes done as soon as the others have finished what they
// claimed. `board` is where large ones are announced.
void move_message(const TransferPolicy& policy, JobBoard& board, Request* first, Request* second,
                  uint64_t bytes, TransferStats* stats);

// The first side's help, from its waiting loop, when its state is `active`. `stay`: until nothing is left to
// claim; otherwise at most one claim (a test must not turn into a wait).
void help(Request* first, bool stay, TransferStats* stats);

// Whether a message like this one is decided to go pipelined as far as its sender knows: pipeline.h.
bool goes_ahead(const TransferPolicy& policy, const Request* send);

// Gives back `units` of `pending`. Whoever brings it to zero completes both requests; the result is then
// true, and the transfer, which is part of the first request, is gone.
bool give_back(Transfer& t, uint32_t units);

// Marks a request done and wakes its owner. The request must not be touched afterwards by anyone but its
// owner.
void complete(Request* r);

}  // namespace tasuki::message
