// The queues of an endpoint: posted receives and unexpected messages, each searched in the order that MPI
// prescribes. Every function is called under the endpoint's lock.
#pragma once

#include "message/shared/shared.h"

namespace tasuki::message {

// ---- posted receives: one queue a source, one for MPI_ANY_SOURCE; `posted_at` orders them against each
// other --------------------------

void post(Endpoint* e, Request* r);
void unpost(Endpoint* e, Request* r);
// The first receive that matches the message, or nullptr.
Request* find_posted(Endpoint* e, uint32_t context, int32_t source_slot, int32_t tag);
// Takes it out. nullptr: there is none; or it is reserved, then it is wanted from now on; or it may yet get
// an earlier message of the same sender, which waits for a reserved one. Earlier are all that are unexpected,
// or those before `own`, which is the message itself.
Request* take_posted(Endpoint* e, uint32_t context, int32_t source_slot, int32_t tag,
                     const Envelope* own = nullptr);
// The receive that an unexpected message gets if nothing comes from elsewhere: one that no earlier message
// gets then. nullptr: there is none yet.
Request* expected_by(Endpoint* e, const Envelope* m);

// ---- unexpected messages: one queue a sender, and one of all by arrival

void append_unexpected(Endpoint* e, Envelope* m);
void remove_unexpected(Endpoint* e, Envelope* m);
// Puts `by` in the place of `m`: the message has moved, its position in the order has not.
void replace_unexpected(Endpoint* e, Envelope* m, Envelope* by);
// The first message that a receive of this kind matches, or nullptr; kAnySource and kAnyTag match all.
// nullptr, too, if a posted receive may still get that message, which was reserved when it came.
Envelope* find_unexpected(Endpoint* e, uint32_t context, int32_t source_slot, int32_t tag);

}  // namespace tasuki::message
