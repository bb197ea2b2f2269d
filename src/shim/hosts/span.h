// Spans: communicators whose members live on several hosts, all of them under Tasuki.
//
// MPI_Init has found out that all ranks run Tasuki (presence.h). After that every member of a communicator
// comes to the same conclusions from its group alone.
//
// What a span needs (a private communicator, contexts inside the hosts) is made in the first call that uses
// it, which is collective.
#pragma once

#include <mpi.h>

#include "message/collectives/barrier.h"
#include "message/collectives/broadcast.h"
#include "schedule/schedule.h"
#include "shim/delegates.h"
#include "shim/hosts/span_choices.h"
#include "shim/objects/comm.h"
#include "shim/objects/datatype.h"
#include "shim/objects/handle_map.h"
#include "shim/resolved.h"

namespace tasuki::shim {

struct Span {
  bool shares() const { return nodes < count; }  // does some host have several of the members?

  MPI_Comm
      comm;  // private: the leaders' messages; MPI_COMM_NULL if the members are not all under Tasuki here
  int rank, count;           // of this process in the communicator
  int node, nodes;           // its host among those of the members
  int* slots;                // by rank; kElsewhere
  int* leader;               // by node: the rank there that talks to other hosts, unless the root is there
  int* node_of;              // by rank
  int* local_rank;           // by rank: its place among the members of its host
  bool of_all;               // of as many ranks as MPI_COMM_WORLD
  bool in_order;             // the hosts' ranks follow each other: all of the first host, then of the next
  Broadcaster::Group local;  // the members of this host
  Barrier* barrier;          // of these; nullptr: this process is the only one here
  MPI_Comm leaders;          // one rank of each host, by node: known after leaders_of(); else MPI_COMM_NULL
  bool has_leaders;          // that has been called
  KnownTopology topology;
  // The schedule of the last broadcast: programs repeat themselves.
  schedule::Parameters parameters;
  const schedule::Schedule* schedule;
  // Of exchanges, with pieces of one byte; nullptr until it is known, and where all go at once.
  const schedule::Schedule* rounds;
  bool rounds_known;
  uint32_t exchanges;  // of messages, so far
  uint32_t begun;      // non-blocking operations, so far
};

// Bytes in a row.
inline layout::Region dense(const void* memory, uint64_t bytes) {
  return {static_cast<char*>(const_cast<void*>(memory)), bytes, layout::byte_layout()};
}

// This task among all members.
inline message::Member member(const Span& s) {
  return {s.local.context, s.rank, s.count, s.slots};
}

class SpanTable {
 public:
  // Called by all ranks at the end of MPI_Init, if all can take part: collective.
  // `slot_of_world_rank`: CommTable::world_slots(), which it keeps. `collectives`: this rank wants more than
  // broadcasts. `crowded`: there are more ranks than cores here.
  void open(Board* board, const int* slot_of_world_rank, bool threads, bool collectives, bool crowded);
  void close();
  bool on() const { return on_; }
  const SpanChoices& choices() const { return choices_; }
  // Do all ranks of the job want more than broadcasts?
  bool collectives() const { return collectives_; }
  // Are there more ranks than cores on some host?
  bool crowded() const { return crowded_; }

  // The members of a communicator whose collective operations may be Tasuki's; else 0.
  int members_of(MPI_Comm comm) const;
  // The communicator's span, made if it is new: collective.
  Resolved<Span*> get(MPI_Comm comm);
  // For operations in which nobody waits for others: passes if no operation that does has made one. All
  // members see the same, as they call a communicator's operations in one order.
  Resolved<Span*> get_made(MPI_Comm comm);
  // For an operation on so many bytes. Passes what does not pay: less than kLargeForSpans where no host has
  // several ranks, or where there is no span yet and one is not made for so little; more than leaders have
  // memory for.
  Resolved<Span*> get_for(MPI_Comm comm, uint64_t bytes);

 private:
  int make(MPI_Comm comm, Span* s);
  int set_up(MPI_Comm comm, Span* s);
  bool makes_for_little(MPI_Comm comm) const;
  static int forget(MPI_Comm comm, int keyval, void* attribute, void* extra);

  HandleMap<Span> map_;
  bool on_ = false, collectives_ = false, threads_ = false, crowded_ = false;
  SpanChoices choices_{};
  Board* board_ = nullptr;
  BarrierPool barriers_;
  int world_size_ = 0;
  int of_all_ = 0;  // spans of all ranks made so far, where only one thread makes any
  const int* slot_of_world_rank_ = nullptr;
  int* node_of_world_rank_ = nullptr;  // the smallest rank in the same space
  MPI_Group world_group_{};
  int keyval_ = MPI_KEYVAL_INVALID;
};

// Below, what one rank of each host does alone is as fast by the library (two hosts, broadcasts of dense 32
// KiB: Open MPI 23.1 us and 23.4 here, MPICH 40.9 and 41.2). With two ranks on each it is not (8 bytes: Open
// MPI 48 us and 27, MPICH, whose ranks spin, 12 ms and 0.7).
inline constexpr uint64_t kLargeForSpans = 64 << 10;
// MPI_Bcast there.
struct UserBuffer {
  void* buffer;
  MPI_Count count;
  MPI_Datatype handle;
  TypeInfo* type;  // of the handle
};
// Called by all ranks of the span; returns an error code, not raised.
// `nothing_found`: called when neither side has got on.
int broadcast_spanning(Broadcaster& broadcaster, Span* s, const SpanChoices& choices, int root,
                       const UserBuffer& b, void (*nothing_found)());

}  // namespace tasuki::shim
