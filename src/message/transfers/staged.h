// Staged messages: a message of some KB to a receiver that waits goes through its sender's staging buffer
// without a meeting of the two sides. Its head is in the ring before a byte is packed. Then the sender packs
// units, and the receiver, which has looked for the receive meanwhile, unpacks each one as it comes. Nothing
// is claimed, nobody copies for the other one, and the sender is done when all is packed. Where the sides
// meet (pipeline.h), touched messages of 8 to 50 KB take 1.2 to 1.6 times as long between two cores of a
// Xeon, by what they tell each other.
//
// Nobody waits for the packing under a lock: the receive gets the message when it is found in the ring, and
// its owner unpacks what has come whenever it looks at the receive. One that no receive waits for becomes an
// unexpected message as it is; when its sender needs the buffer, it moves the message into a cell.
#pragma once

#include "message/shared/shared.h"
#include "message/transfers/transfer.h"

namespace tasuki::message {

// What the buffer holds.
inline constexpr uint64_t kMostStaged = sizeof(Staging::data);

// Takes the buffer of the send's owner for it. False: it is in use.
bool open_staged(const Request* send, StagedHead* head);
// Gives it back.
void close_staged(Staging& s);
// By the sender, when the head is in the ring.
void pack_staged(const Request* send, const StagedHead& head);
// Whether all is.
bool is_packed(const Staging& s, const StagedHead& head, uint64_t bytes);
// Into dense memory; all is packed.
void copy_staged(char* to, const Staging& s, uint64_t bytes);

// The message in this buffer is this receive's, whose result is set. Its owner may end it from then on.
void give_staged(Request* receive, Staging& s, const StagedHead& head, uint64_t bytes);
// By the receive's owner: unpacks what there is, and completes the receive and gives the buffer back after
// the last unit. `stay`: waits a little for what is about to come. `policy`: for messages between the two. At
// the first look the receiver learns which way the next message of this kind goes, for the sender to find.
void unpack_staged(const TransferPolicy& policy, Request* receive, bool stay);

}  // namespace tasuki::message
