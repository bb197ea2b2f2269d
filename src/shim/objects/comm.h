// Communicators that Tasuki handles: those whose members are all tasks of this space. The members agree once,
// when the communicator is made; every one of them reaches the same conclusion from the same frozen set of
// members.
#pragma once

#include <mpi.h>

#include <atomic>

#include "message/collectives/barrier.h"
#include "shim/objects/handle_map.h"

namespace tasuki::shim {

struct CommInfo {
  MPI_Comm comm;  // MPI_COMM_NULL once the user has freed it
  uint32_t context;
  int rank;  // of this process
  bool inter;
  int peer_count;               // ranks that can be addressed: the remote group of an inter-communicator
  int* slots;                   // by rank among the peers
  Barrier* barrier;             // nullptr: barriers are the library's
  uint64_t attached_bytes;      // MPI_Comm_attach_buffer
  std::atomic<uint32_t> users;  // operations in progress, plus one while the communicator exists
};

class CommTable {
 public:
  // Fills in MPI_COMM_WORLD (if all its ranks are here) and MPI_COMM_SELF. `slot_of_world_rank` holds -1 for
  // ranks that are not members; it is kept.
  void open(Board* board, int* slot_of_world_rank, int world_size, bool threads);
  void close();

  // nullptr: not handled here.
  CommInfo* find(MPI_Comm comm) { return map_.find(key_of(comm)); }

  // Collective over a communicator just made (both groups of an inter-communicator): recognises it if all its
  // members are here. Returns an MPI error code.
  int adopt(MPI_Comm comm);

  // By rank in MPI_COMM_WORLD; -1: not a member.
  const int* world_slots() const { return slot_of_world_rank_; }

  static void retain(CommInfo* c) { c->users.fetch_add(1, std::memory_order_relaxed); }
  static void release(CommInfo* c);

 private:
  int* slots_of(MPI_Group group, int* count);
  // What the members of a communicator have in common.
  struct Agreed {
    uint32_t context;
    Barrier* barrier;
  };
  int agree(MPI_Comm comm, bool inter, int count, Agreed* agreed);
  Barrier* world_barrier();
  bool remember(MPI_Comm comm, const Agreed& agreed, int rank, bool inter, int peer_count, int* slots);
  static int forget(MPI_Comm comm, int keyval, void* attribute, void* extra);

  HandleMap<CommInfo> map_;
  BarrierPool barriers_;
  Board* board_ = nullptr;
  int* slot_of_world_rank_ = nullptr;
  int world_size_ = 0;
  MPI_Group world_group_{};
  int keyval_ = MPI_KEYVAL_INVALID;
};

}  // namespace tasuki::shim
