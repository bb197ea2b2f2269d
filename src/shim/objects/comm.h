// Communicators that Tasuki handles: those with several members that are tasks of this space. What passes
// between these goes through the space; the others are elsewhere, and messages with them are the MPI
// library's. So each pair of ranks uses one way in a communicator, and nothing overtakes. A member elsewhere
// need not run Tasuki, and is never asked.
//
// The members of a space agree once, when the communicator is made; every one of them reaches the same
// conclusion from the same frozen set of members.
#pragma once

#include <mpi.h>

#include <atomic>

#include "message/collectives/barrier.h"
#include "message/collectives/parts.h"
#include "shim/objects/handle_map.h"
#include "shim/objects/users.h"

namespace tasuki::shim {

using message::kElsewhere;
inline constexpr int kNobody = -1;

// Each communicator has this many contexts: its own, and those of its first duplicates by MPI_Comm_idup, for
// which its members cannot agree by messages: nobody waits in that call. Later ones are the MPI library's.
inline constexpr uint32_t kContextsEach = 16;
inline constexpr uint32_t kWorldContext = kContextsEach;
// One for all: a task's messages to itself meet nobody else's.
inline constexpr uint32_t kSelfContext = 2 * kContextsEach;
// The first of those that are agreed on.
inline constexpr uint32_t kFirstContext = 3 * kContextsEach;

// What is known of a communicator's topology (topology.h).
struct Topology;
struct KnownTopology {
  Topology* topology;  // nullptr until it is known, and where it is the library's affair
  bool known;
};

struct CommInfo {
  MPI_Comm comm;  // MPI_COMM_NULL once the user has freed it
  uint32_t context;
  uint32_t spare_contexts;      // the next of them, and
  uint32_t spare_contexts_end;  //   where they end
  bool unmarked;                // the library does not yet know that it is to call forget()
  int rank;                     // of this process
  bool inter;
  int peer_count;  // ranks that can be addressed: the remote group of an inter-communicator
  int* slots;      // by rank among the peers; kElsewhere
  bool mixed;      // some peers are elsewhere
  // What the last MPI_Probe from any source found elsewhere; kNobody: nothing.
  int probed_source, probed_tag;
  uint32_t from_any;  // receives from any source so far
  uint32_t begun;     // non-blocking collective operations of this layer so far,
  uint32_t made;      //   and persistent ones
  Barrier* barrier;   // nullptr: barriers are the library's
  KnownTopology topology;
  uint64_t attached_bytes;  // MPI_Comm_attach_buffer
  Users users;              // operations in progress, plus one while the communicator exists
};

// This task among the members; not of an inter-communicator.
inline message::Member member(const CommInfo& c) {
  return {c.context, c.rank, c.peer_count, c.slots};
}

class CommTable {
 public:
  // Fills in MPI_COMM_WORLD (if another of its ranks is here) and MPI_COMM_SELF. `slot_of_world_rank` holds
  // kElsewhere for ranks that are not tasks of this space; it is kept.
  // `mix`: communicators with members elsewhere are handled, too. All tasks of the space must say the same.
  void open(Board* board, int* slot_of_world_rank, int world_size, bool threads, bool mix);
  void close();

  // nullptr: not handled here.
  CommInfo* find(MPI_Comm comm) { return map_.find(key_of(comm)); }

  // Called by all members here of a communicator just made (of both groups of an inter-communicator):
  // recognises it if there are messages between them. Returns an MPI error code.
  int adopt(MPI_Comm comm);

  // MPI_Comm_idup has begun to make a communicator, which the user may use later.
  void adopt_idup(MPI_Comm parent, MPI_Comm comm);
  // Before the user frees a communicator.
  void about_to_free(MPI_Comm comm);

  // By rank in MPI_COMM_WORLD; kElsewhere.
  const int* world_slots() const { return slot_of_world_rank_; }

  static void retain(CommInfo* c) { c->users.add(); }
  static void release(CommInfo* c);

 private:
  // One side of a communicator.
  struct Side {
    int* slots = nullptr;  // by rank; kElsewhere
    int count = 0;
    int here = 0;       // how many are tasks of this space,
    int first = -1;     //   the first of them,
    bool known = true;  //   and whether all the others, too, are ranks of MPI_COMM_WORLD
  };
  Side side_of(MPI_Group group);
  uint32_t new_context() { return board_->next_context.fetch_add(kContextsEach, std::memory_order_relaxed); }
  uint32_t new_context_if(bool wanted) { return wanted ? new_context() : 0; }
  // What the members of a communicator have in common.
  struct Agreed {
    uint32_t context;
    Barrier* barrier;
  };
  int agree(MPI_Comm comm, int count, Agreed* agreed);
  int agree_inter(MPI_Comm comm, Agreed* agreed);
  int agree_here(MPI_Comm comm, int rank, const Side& side, Agreed* agreed);
  int agree_here_inter(MPI_Comm comm, int rank, const Side& local, const Side& remote, Agreed* agreed);
  Barrier* world_barrier();
  CommInfo* remember(MPI_Comm comm, const Agreed& agreed, int rank, bool inter, int peer_count, int* slots);
  static int forget(MPI_Comm comm, int keyval, void* attribute, void* extra);

  HandleMap<CommInfo> map_;
  BarrierPool barriers_;
  Board* board_ = nullptr;
  int* slot_of_world_rank_ = nullptr;
  int world_size_ = 0;
  bool mix_ = false;
  MPI_Group world_group_{};
  int keyval_ = MPI_KEYVAL_INVALID;
};

}  // namespace tasuki::shim
