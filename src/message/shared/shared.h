// The nouns of the message layer, and what its tasks share.
//
//   board      root of the layer in a space: who takes part, where the endpoints are, the next context
//   endpoint   one task's mailbox: posted receives, unexpected messages, one ring for each sender
//   ring       single-producer single-consumer queue for small messages of one sender to one receiver
//   envelope   a message that waits for its receive: who, which tag, how many bytes, where they are
//   request    one send or receive operation; its state word is what waiting polls
//   job        a copy from one region to another, in units that any task of the space may claim
//   transfer   the job of one matched message, from send layout to receive layout
//   context    number that separates the messages of communicators
//   slot       index of a task in its space (a communicator's ranks are mapped to slots)
//
// All of this is plain data at addresses valid in every task of the space: no virtual functions, no function
// pointers, no std:: containers. Memory is released only by the task that obtained it.
//
// Tasks may also be processes of their own, whose only common memory is a segment in which all of this lies
// (memory.h); they are *apart*. What a Region leads to, the user's buffers and layouts, is then its owner's
// alone.
//
// Matching: the second side to arrive finds the first one's descriptor under the receiver's endpoint lock and
// can move all bytes alone; the first side helps if it waits. So nobody is ever held up by a peer that
// computes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/number.h"
#include "layout/layout.h"
#include "message/cost/distance.h"
#include "message/cost/left.h"
#include "message/shared/locked.h"
#include "task/space.h"

namespace tasuki::message {

inline constexpr size_t kLine = 64;
inline constexpr int32_t kAnySource =
    -1;  // slots and tags inside the layer; MPI's own constants differ by library
inline constexpr int32_t kAnyTag = -1;

struct Endpoint;
struct Request;
struct Cell;
struct Barrier;
struct Channel;
class Streams;

// ---- messages that wait for their receive

struct Envelope {
  Envelope *newer, *older;  // all unexpected messages of the endpoint, by arrival
  Envelope *newer_of_sender, *older_of_sender;
  uint32_t context;
  int32_t tag;
  int32_t source_slot;
  int32_t source_rank;  // in the communicator
  uint64_t bytes;
  Request* sender;          // rendezvous: the sender's request, which embeds this envelope; else nullptr
  Cell* cell;               // buffered: packed bytes in memory of the task that made it; else nullptr
  struct Staging* staging;  // staged: the buffer that it is packed into; else nullptr
};

// A buffer with a message in it. Returned to its owner by whoever consumed it.
struct alignas(kLine) Cell {
  Envelope envelope;
  Endpoint* owner;
  Cell* next;  // in the owner's free list, or in its stack of returned cells
  uint64_t capacity;
  uint32_t size_class;
  uint32_t attachment;  // which of the user's attached buffers, counted,
  uint64_t charged;     //   it stands for, and for how many bytes of it (MPI_Bsend)
  struct Slab* slab;    // that it was cut from; nullptr: it is a mapping of its own
  struct Ring* debtor;  // where it is counted as `outstanding`; nullptr: nowhere
  char* data() { return reinterpret_cast<char*>(this + 1); }  // `capacity` bytes follow the structure
};

// ---- rings

inline constexpr uint32_t kRingSlots = 64;
inline constexpr uint32_t kHeadBytes = 40;   // of a message in its first slot
inline constexpr uint32_t kBodyBytes = 60;   // in each further slot
inline constexpr uint32_t kInlineSlots = 8;  // the most that one message takes after its first
inline constexpr uint32_t kInlineBytes = kHeadBytes + kInlineSlots * kBodyBytes;
// Up to here slots are faster than a parcel.
inline constexpr uint32_t kLeastParcel = kHeadBytes + kBodyBytes;
// The longest parcel. From there on the way to the receiver and back that a rendezvous takes is less than
// what a second copy costs.
inline constexpr uint32_t kParcelBytes = 8 << 10;
// Up to here it is always sent so, whether the receiver waits or not.
inline constexpr uint32_t kSmallBytes = 4 << 10;
inline constexpr uint32_t kParcels = 64;  // the most of a ring at a time, and their bytes
inline constexpr uint32_t kParcelRoom = 8 * kParcelBytes;
// RingHead::bytes of a message that is not in slots: `data` holds the address of a cell with the message, or
// the message is a parcel, whose place `data` holds, or staged, and the other bits are its length.
inline constexpr uint32_t kInCell = 1u << 31;
inline constexpr uint32_t kInParcel = 1u << 30;
inline constexpr uint32_t kStaged = 1u << 29;  // it is packed into its sender's staging buffer; a StagedHead

// The first bytes of a message in a ring.
struct RingHead {
  uint32_t context;
  int32_t tag;
  int32_t source_rank;
  uint32_t bytes;
  uint32_t seen;          // how far the sender has read the ring of the other direction: what is free there
  char data[kHeadBytes];  // or a Cell*, or Parcel::begin
};

// One cache line, written by the sender, only read by the receiver: one line transfer carries a small
// message. `sequence` is the lap of the ring, from 1, once the message is complete; 0 in the slots after a
// message's first, so that no payload is ever taken for a first slot.
struct alignas(kLine) RingSlot {
  std::atomic<uint32_t> sequence;
  union {
    RingHead head;
    char body[kBodyBytes];
  };
};
static_assert(sizeof(RingSlot) == kLine);
static_assert(kInlineSlots + 1 < kRingSlots);

inline uint32_t lap_of(uint32_t position) {
  return position / kRingSlots + 1;
}
inline uint32_t slots_for(uint32_t inline_bytes) {
  return inline_bytes <= kHeadBytes ? 1 : 1 + (inline_bytes - kHeadBytes + kBodyBytes - 1) / kBodyBytes;
}

// A message of more bytes than slots take, packed: [begin, end) of Ring::packed. Its head is at this position
// of the ring: it is received when the ring's head is beyond.
struct Parcel {
  uint32_t at, begin, end;
};

struct Ring {
  // Sender's line. `tail` and `seen_head` are the sender's; guarded by its process lock when it has several
  // threads.
  alignas(kLine) uint32_t tail;
  uint32_t seen_head;
  std::atomic<uint32_t> announced;  // the receiver knows that this ring is in use
  uint32_t oldest_parcel;           // parcels that are in use, as far as `seen_head` tells: from
  uint32_t parcel_count;            //   parcels[oldest_parcel % kParcels] on, so many
  uint32_t parcels_sent;            // `kept` is looked at now and then
  // Bytes of the sender's cells that hold messages to this receiver: what its credit is counted against
  // (engine.h).
  uint64_t outstanding;
  uint64_t outstanding_before;  // when the ring was full before
  // How many calls the receiver had made when the sender last waited in vain for slots, or a parcel's place.
  std::atomic<uint32_t> full_at, no_place_at;
  Parcel parcels[kParcels];
  // Receiver's line; moved under the receiver's endpoint lock (by the receiver, or by the sender that finds
  // it full).
  alignas(kLine) std::atomic<uint32_t> head;
  // Bytes that the receiver has moved out of the ring for later receives, into cells of its own: the sender's
  // credit does not count them.
  std::atomic<uint64_t> kept;
  RingSlot slots[kRingSlots];
  // The first parcel is at the front whenever no other is in use. Always the same lines: while they are in
  // both caches, 4 KiB take half as long as through ever other slots or cells.
  alignas(kLine) char packed[kParcelRoom];
};

// ---- transfers

enum class TransferMode : uint32_t {
  alone,      // the second side copies everything; nobody else touches it
  direct,     // from layout to layout, in units claimed by both sides and by idle tasks
  pipelined,  // the source's side packs units into a small dense buffer, the destination's side unpacks them
  staged,     // of a receive alone: it unpacks from its sender's buffer
  packed,     // the same from a cell
  relayed,    // the sides share a segment: transfers/relay.h
};

// With 8 of them touched messages of 100 KB and more took 10 to 24 % longer on a Xeon.
inline constexpr uint32_t kStagingSlots = 32;
inline constexpr uint64_t kStagingBytes = 8192;
inline constexpr uint32_t kHints = 64;

// A staged message, as its ring's head has it: transfers/staged.h.
struct StagedHead {
  uint64_t key;  // of the send: transfers/key.h
  uint32_t unit_bytes;
  uint32_t dense;  // the source is
};
static_assert(sizeof(StagedHead) <= kHeadBytes);

// Dense buffer between the packing and the unpacking side of a pipelined transfer; single producer, single
// consumer.
struct Staging {
  std::atomic<uint32_t> busy;  // taken by a message
  // Of a staged message: what its source touches; to whom it goes (nullptr: there is none); whether a receive
  // has it.
  const Endpoint* owner;  // always
  layout::Footprint source;
  std::atomic<Endpoint*> destination;
  std::atomic<uint32_t> received;
  // Where `envelope` is unexpected, with `head`; nullptr: nowhere. An endpoint is put in and taken out under
  // its own lock only, so whoever holds that and finds it here may count on it.
  std::atomic<Endpoint*> unexpected_at;
  StagedHead head;
  Envelope envelope;
  alignas(kLine) std::atomic<uint32_t> packed;         // units put in, and
  uint32_t unit[kStagingSlots];                        //   which they are
  alignas(kLine) std::atomic<uint32_t> unpacked;       // units taken out
  alignas(kLine) std::atomic<uint32_t> hints[kHints];  // of its owner's messages: transfers/pipeline.h
  // A staged message, or, at the front, the slots of a pipelined one.
  alignas(kLine) char data[2 * kStagingSlots * kStagingBytes];
  char* slot(uint32_t i) { return data + i * kStagingBytes; }
};

// A copy from `source` to `destination`, in units that any task of the space may claim (see job.h).
struct CopyJob {
  layout::Region source, destination;
  uint64_t begin;  // the first packed byte of both that is copied
  uint64_t bytes;
  uint64_t unit_bytes;
  uint32_t units;
  uint32_t largest_claim;  // in units
  uint32_t board_slot;     // 1 + its place in the job board; 0: not announced
  uint32_t is_transfer;    // the job is the base of a Transfer
  Number sum;              // the source is added to the destination; none: copied
  // Units that nobody has claimed: from the low 32 bits up to the high 32 bits. Empty between two uses of the
  // structure, so that a task that comes late with an old pointer claims nothing.
  alignas(kLine) std::atomic<uint64_t> unclaimed;
  // Units not yet copied, plus one for the task that made the job as long as it may touch this structure.
  alignas(kLine) std::atomic<uint32_t> pending;
};

// Whoever brings `pending` to zero completes both requests.
struct Transfer : CopyJob {
  TransferMode mode;
  Request* first;        // arrived first; the transfer is part of it
  Request* second;       // belongs to its owner alone as soon as it is done
  uint32_t first_front;  // the first side claims from the front, the second from the back; or the other way
  // Pipelined: the buffer; a task works for that side, or has packed ahead for it; and what neither side has
  // claimed, not in `unclaimed`, where helpers that come late would find it before the destination is known.
  Staging* staging;
  std::atomic<uint32_t> source_here, destination_here;
  alignas(kLine) std::atomic<uint64_t> unclaimed_by_sides;
  // Staged: how many units are unpacked; whether the receiver has learned of it. `destination_here` says that
  // a thread unpacks.
  StagedHead staged;
  uint32_t unpacked;
  uint32_t learned;
  // Packed: the message. Relayed: the buffer, of which `unpacked` counts this side's units; the other side,
  // and since when it has done nothing; the next one that this process has to do with.
  Cell* cell;
  Endpoint* other;
  int64_t starved_since;  // ns; 0: it is not
  Request* next_relayed;
};

// Where jobs that are large enough to share are announced to the tasks of the space that have nothing to do.
struct JobBoard {
  static constexpr uint32_t kSlots = 64;
  alignas(kLine) std::atomic<uint64_t> open;   // bit i: job[i] may have unclaimed units
  std::atomic<uint32_t> sleepers;              // helper threads that sleep until something is announced
  std::atomic<uint32_t> wakeups;               // what they sleep on
  alignas(kLine) std::atomic<uint64_t> taken;  // bit i: job[i] is in use
  std::atomic<CopyJob*> job[kSlots];
};

// ---- requests

enum class RequestState : uint32_t {
  inactive,  // persistent and not started, or free
  pending,   // not matched
  active,    // matched, bytes are moving; the first side may help when the mode is not `alone`
  done,
};

enum class RequestKind : uint8_t {
  send,
  receive,
  pair,     // MPI_Isendrecv, complete when its two parts are
  group,    // a collective operation, complete when its messages are: collectives/parts.h
  carried,  // the MPI library moves it as packed bytes: remote.h
};

// When a send that waits for its receive is completed by packing it.
enum class Buffering : uint8_t {
  never,
  within_credit,  // as soon as waiting has cost about as much, if there is credit
  soon,           // the same, credit or not
  late,           // when nothing else has helped for long
};

// What a sender without credit knows of its receiver.
struct Held {
  int64_t since;   // ns; 0: not held
  uint32_t calls;  // of the receiver, then
};

struct Operation {
  std::atomic<RequestState> state;
  RequestKind kind;
  uint8_t queued;        // in a queue of `queue` (guarded by that endpoint's lock)
  Buffering bufferable;  // a send that may be completed by packing it, and when: Buffering
  uint8_t synchronous;   // a send that says that its receive is there
  uint8_t cancelled;
  uint8_t truncated;  // a receive whose message was longer than its buffer
  uint8_t reserved;   // a posted receive that no sender takes: start_reserved_receive()
  uint8_t waits;      // a send whose caller waits for it at once
  uint8_t ahead;      // a send that is packed before its receive is there: transfers/pipeline.h
  // Of a reserved receive: a message waits that it would be the first to match. Of a group: a thread looks at
  // its messages.
  std::atomic<uint8_t> wanted;
  uint32_t context;
  int32_t tag;   // receive: as posted, kAnyTag possible
  int32_t peer;  // slot; receive: kAnySource possible
  // Result of a receive, for the status.
  int32_t status_source;  // rank in the communicator
  int32_t status_tag;
  uint64_t status_bytes;
  layout::Region region;
  uint64_t room;           // of a receive: the bytes of its region, whose layout its owner alone may look at
  Endpoint* queue;         // the receiver's endpoint, in whose queues it waits
  uint64_t posted_at;      // order among the endpoint's posted receives
  uint32_t given_in;       // the look of expected_by() that gave it to another message
  Request *newer, *older;  // posted receives of one source, or of any source
  uint32_t polls;          // unsuccessful looks so far
  uint32_t looks;          // for a reserved receive that came later
  uint32_t looks_ahead;    // of a send that is packed ahead, for its receive
  int64_t first_poll;      // when the first of them was (ns), where is_late() goes by time
  Held held;               // a send without credit
  uint64_t charged;        // bytes of the user's attached buffer that a buffered send takes
  uint32_t attachment;     //   and which of the attached buffers, counted
  Envelope envelope;       // of a send; of a truncated receive only the bytes of the message
  // Of partitioned communication (partitioned/channel.h): what both sides share, nullptr: they have not met;
  std::atomic<Channel*> channel;
  uint32_t partitions;  //   this side's partitions, 0: it is something else,
  uint32_t epoch;       //   and how many times this side has been started
};

struct alignas(kLine) Request : Operation {
  Endpoint* owner;  // the task that issued it
  // What the code above this layer keeps with it. It means nothing here, and no other task looks at it; zeros
  // in a new request.
  static constexpr size_t kOwnersBytes = 96;
  alignas(8) unsigned char owners[kOwnersBytes];
  Request* part[2];   // of a pair: the receive, the send; of a group: the first that is not done, by `next`
  Transfer transfer;  // when this request was the first to arrive
  Request* next;      // in the pool, in a group, or among the detached ones
  uintptr_t handle;   // the MPI_Request that stands for it, for life; 0 if it has none yet

  // Back to zero, but for owner, next and handle; `transfer` is written before it is read.
  void reset();
};

// ---- endpoints

struct RequestQueue {
  Request *oldest, *newest;
};
struct EnvelopeQueue {
  Envelope *oldest, *newest;
};

struct alignas(kLine) Peer {
  Ring ring;
  alignas(kLine) RequestQueue posted;  // receives posted for this source
  EnvelopeQueue unexpected;
};

struct alignas(kLine) Endpoint {
  SpinLock lock;  // guards the queues, the ring heads and the matching of what is queued here
  std::atomic<uint32_t> arrivals;  // counts unexpected messages, so that a waiting receiver polls one word
  uint32_t posted_any_count;
  uint32_t posted_count;  // all posted receives
  // Unexpected messages may be there that match a posted receive: one that was reserved when they came.
  std::atomic<uint32_t> contested;
  uint64_t next_posted;
  uint32_t looks;  // of expected_by()
  RequestQueue posted_any;
  EnvelopeQueue unexpected;
  // Rings that were ever used, so that progress looks at no others. Appended under the lock.
  std::atomic<uint32_t> sender_count;
  uint16_t* senders;

  // Sleeping: see wait.h.
  alignas(kLine) std::atomic<uint32_t> sleepers;
  std::atomic<uint32_t> wakeups;

  // Threads of the owner that wait in a call of MPI. Senders look at it before they buffer; a line of its
  // own, which small messages never touch.
  alignas(kLine) std::atomic<uint32_t> waiting;

  // Calls of MPI that the layer has seen: a rough count. Senders without credit look at it; a line of its
  // own.
  alignas(kLine) std::atomic<uint32_t> calls;

  // Cells that others have consumed; the owner takes them all at once.
  alignas(kLine) std::atomic<Cell*> returned;

  // Requests that have met their other side and are relayed; the owner takes them all at once. Where its
  // thread sleeps meanwhile (transfers/relay.h).
  alignas(kLine) std::atomic<Request*> matched;
  std::atomic<uint32_t> bell;
  std::atomic<uint32_t> bell_sleepers;

  int32_t slot;
  int32_t process;     // its pid
  int32_t world_rank;  // set after MPI_Init
  int32_t world_size;
  uint32_t several_threads;     // its program may call from several threads at once
  uint32_t collectives;         // it wants this layer's collective operations
  Place place;                  // where it runs
  std::atomic<uint32_t> ready;  // the five above are set
  Staging* staging;             // for what it sends
  Streams* streams;             // of what it receives: transfers/trials.h
  // One for each task of the space; they follow the structure.
  Peer& peer(int32_t of_slot) { return reinterpret_cast<Peer*>(this + 1)[of_slot]; }
  const Peer& peer(int32_t of_slot) const { return reinterpret_cast<const Peer*>(this + 1)[of_slot]; }
};

inline constexpr uint64_t kBoardMagic = 0x6472616f62724b54;

enum class Decision : uint32_t { open, deciding, accelerated, off };

struct Board {
  uint64_t magic;
  uint32_t family;  // MPI ABI of the shim that made it; a shim of another family stays off
  uint32_t task_count;
  std::atomic<Decision> membership;  // open until the set of members is frozen by its first reader
  std::atomic<Decision> world;       // whether the members form one MPI_COMM_WORLD (or a part of it)
  std::atomic<uint32_t> next_context;
  std::atomic<Barrier*> world_barrier;  // of MPI_COMM_WORLD, made by the first that needs it
  // What the code above this layer shares by the board; zeros at first. It means nothing here.
  static constexpr size_t kOwnersBytes = 16;
  alignas(8) unsigned char owners[kOwnersBytes];
  CostTable costs;       // of the task that made the board: all choose by the same constants
  LeftCollectives left;  // and leave the same operations to the library
  JobBoard jobs;
  struct Member {
    std::atomic<Endpoint*> endpoint;  // registered before MPI_Init
    uint32_t member;                  // in the frozen set
  };
  Member& member(int32_t slot) {
    return reinterpret_cast<Member*>(this + 1)[slot];
  }  // they follow the structure
};

}  // namespace tasuki::message
