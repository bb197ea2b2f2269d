// The pipelined way of a message: the source's side packs units into a small dense buffer of the sender's,
// the destination's side unpacks them, and either copies units straight where the other does not come.
//
// Packing ahead: before a message can be copied its two sides must meet. The receiver sees the envelope,
// takes it, and fetches what it says from the sender's cache: 1 us from the sender's call on between cores of
// a Xeon, in which 8 KB could have been packed. So where the last message like this one went pipelined, the
// sender takes its buffer before it queues the envelope, and packs while it waits: the receiver finds the
// first units there. Touched messages of 12 to 41 KB took 1.1 to 1.35 times as long before.
//
// Which way a message goes is decided when both sides are known, by the second; what was decided is left in
// the sender's hints, under what it knows of its next one (key.h). A message that was packed ahead is
// pipelined whatever is decided for it: the hint is for the next. If messages that are alike for the sender
// go to receives of different layouts, some go by the way of others.
//
// The buffer is the sender's only one: a send whose receive does not come gives it up for others.
#pragma once

#include "message/shared/shared.h"

namespace tasuki::message {

// Takes the buffer, and sets up all of the transfer but its second side: source, units, nobody here yet.
// False, with nothing done: the buffer is in use, or `bytes` too many.
bool open_pipeline(Transfer& t, Request* first, const Request* send, uint64_t bytes);

// Gives the first side a moment to come when it waits in a call of MPI: it is mostly this transfer that it
// waits for, and then it is here before a unit could be copied alone, across the cores.
void expect(const std::atomic<uint32_t>& here, const Request* first);
// What each side does until nothing is left for it. The unpacking side stays until every unit is copied: the
// packing side relies on it.
void pack_side(Transfer& t, uint64_t* copied, uint64_t* claims);
void unpack_side(Transfer& t, uint64_t* copied, uint64_t* claims);

// Whether the last message of this key went pipelined. Senders that wait read it, and it is written only when
// a decision changes.
bool went_pipelined(const Staging& s, uint64_t key);
void note_way(Staging& s, uint64_t key, bool pipelined);

// For a send that is in no queue yet: opens its transfer for the source's side, if the buffer is free.
void begin_ahead(Request* send);
// Packs a few units, if there is room, and no receive yet; returns their bytes. By the send's owner.
uint64_t pack_ahead(Request* send);
// Of a send that has no receive, and gets none meanwhile: as if it had not begun.
void end_ahead(Request* send);

}  // namespace tasuki::message
