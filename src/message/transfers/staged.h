// Staged messages: a message of some KB to a receiver that waits goes through its sender's staging buffer
// without a meeting of the two sides. Its head is in the ring before a byte is packed. Then the sender packs
// units, and the receiver, which has looked for the receive meanwhile, unpacks each one as it comes. Nothing
// is claimed, nobody copies for the other one, and the sender is done when all is packed. Where the sides
// meet (pipeline.h), touched messages of 8 to 50 KB take 1.2 to 1.6 times as long between two cores of a
// Xeon, by what they tell each other.
//
// The receiver depends on a sender that is in the middle of packing, so a message is staged only where nobody
// has to give a core away. One that no receive waits for is kept by its receiver as others are; its bytes
// count against the sender's credit.
#pragma once

#include "message/shared/shared.h"
#include "message/transfers/transfer.h"

namespace tasuki::message {

// What the buffer holds.
inline constexpr uint64_t kMostStaged = kStagingSlots * kStagingBytes;

// In the head of a staged message.
struct StagedHead {
  uint64_t key;  // of the send: key.h
  uint32_t unit_bytes;
  uint32_t dense;  // the source is
};
static_assert(sizeof(StagedHead) <= kHeadBytes);

// Takes the sender's buffer. False: it is in use.
bool open_staged(const Request* send, StagedHead* head);
// What nobody has been told of.
void close_staged(Staging& s);
// By the sender, when the head is in the ring.
void pack_staged(const Request* send, const StagedHead& head);

// By the receiver, or for it: unpacks what the receive has room for, and gives the buffer back.
void unpack_staged(const Request* receive, Staging& s, const StagedHead& head, uint64_t bytes);
// The same into dense memory.
void copy_staged(char* to, Staging& s, const StagedHead& head, uint64_t bytes);

// Which way the next message of its kind goes, as the receiver has learned, for the sender to find.
void learn_of_staged(const TransferPolicy& policy, const Request* receive, const Endpoint* sender,
                     const StagedHead& head, uint64_t bytes);

}  // namespace tasuki::message
