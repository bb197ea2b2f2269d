#include "shim/objects/comm.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "generated/pmpi.h"

namespace tasuki::shim {
namespace {

constexpr uint32_t kWorldContext = 1;
constexpr uint32_t kSelfContext = 2;  // one for all: a task's messages to itself meet nobody else's

}  // namespace

void CommTable::open(Board* board, int* slot_of_world_rank, int world_size, bool threads) {
  map_.set_threads(threads);
  board_ = board;
  slot_of_world_rank_ = slot_of_world_rank;
  world_size_ = world_size;
  pmpi().Comm_group(MPI_COMM_WORLD, &world_group_);
  pmpi().Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &CommTable::forget, &keyval_, this);
  int rank = 0;
  pmpi().Comm_rank(MPI_COMM_WORLD, &rank);
  if (std::find(slot_of_world_rank, slot_of_world_rank + world_size, -1) == slot_of_world_rank + world_size) {
    int* slots = static_cast<int*>(malloc(sizeof(int) * static_cast<size_t>(world_size)));
    if (slots != nullptr) {
      std::copy_n(slot_of_world_rank, world_size, slots);
      remember(MPI_COMM_WORLD, {kWorldContext, world_barrier()}, rank, false, world_size, slots);
    }
  }
  int* self = static_cast<int*>(malloc(sizeof(int)));
  if (self != nullptr) {
    *self = slot_of_world_rank[rank];
    remember(MPI_COMM_SELF, {kSelfContext, nullptr}, 0, false, 1, self);
  }
}

void CommTable::close() {
  pmpi().Group_free(&world_group_);
  pmpi().Comm_free_keyval(&keyval_);
}

void CommTable::release(CommInfo* c) {
  if (c->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  free(c->slots);
  free(c);
}

// All members know MPI_COMM_WORLD without a message: the barrier of the first one that needs it serves all.
Barrier* CommTable::world_barrier() {
  Barrier* known = board_->world_barrier.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  Barrier* mine = barriers_.take(world_size_);
  if (mine == nullptr) {
    fprintf(stderr, "tasuki: no memory for a barrier of %d ranks\n", world_size_);
    abort();  // the other ranks count on this one
  }
  if (board_->world_barrier.compare_exchange_strong(known, mine, std::memory_order_acq_rel)) return mine;
  barriers_.give(mine);
  return known;
}

bool CommTable::remember(MPI_Comm comm, const Agreed& agreed, int rank, bool inter, int peer_count,
                         int* slots) {
  CommInfo* c = static_cast<CommInfo*>(calloc(1, sizeof(CommInfo)));
  if (c == nullptr) return false;
  c->comm = comm;
  c->context = agreed.context;
  c->barrier = agreed.barrier;
  c->rank = rank;
  c->inter = inter;
  c->peer_count = peer_count;
  c->slots = slots;
  c->users.store(1, std::memory_order_relaxed);
  return map_.insert(key_of(comm), c);
}

// Called by the MPI library when the communicator is freed, by whatever call: its handle may be given to
// another one next.
int CommTable::forget(MPI_Comm comm, int, void*, void* extra) {
  CommTable* table = static_cast<CommTable*>(extra);
  CommInfo* c = table->map_.erase(key_of(comm));
  if (c != nullptr) {
    // Every member has arrived in the last barrier, or this one would not be out of it.
    if (c->rank == 0 && c->barrier != nullptr) table->barriers_.give(c->barrier);
    c->comm = MPI_COMM_NULL;
    release(c);
  }
  return MPI_SUCCESS;
}

// Slots of a group's ranks; nullptr unless all of them are members. The caller frees it.
int* CommTable::slots_of(MPI_Group group, int* count) {
  pmpi().Group_size(group, count);
  const size_t n = static_cast<size_t>(*count);
  int* ranks = static_cast<int*>(malloc(sizeof(int) * 2 * (n + 1)));
  if (ranks == nullptr) return nullptr;
  int* world = ranks + n;
  for (int i = 0; i < *count; i++) ranks[i] = i;
  pmpi().Group_translate_ranks(group, *count, ranks, world_group_, world);
  for (size_t i = 0; i < n; i++) {
    ranks[i] = world[i] >= 0 && world[i] < world_size_ ? slot_of_world_rank_[world[i]] : -1;
    if (ranks[i] < 0) {
      free(ranks);
      return nullptr;
    }
  }
  return ranks;
}

int CommTable::agree(MPI_Comm comm, bool inter, int count, Agreed* agreed) {
  int rank = 0;
  pmpi().Comm_rank(comm, &rank);
  unsigned mine = rank == 0 ? board_->next_context.fetch_add(1, std::memory_order_relaxed) : 0;
  if (!inter) {
    if (rank == 0) *agreed = {mine, count > 1 ? barriers_.take(count) : nullptr};
    return pmpi().Bcast(agreed, sizeof *agreed, MPI_BYTE, 0, comm);
  }
  // On an inter-communicator a reduction delivers the other group's result: send the proposal over, and get
  // one's own back.
  unsigned theirs = 0, ours = 0;
  int rc = pmpi().Allreduce(&mine, &theirs, 1, MPI_UNSIGNED, MPI_MAX, comm);
  if (rc == MPI_SUCCESS) rc = pmpi().Allreduce(&theirs, &ours, 1, MPI_UNSIGNED, MPI_MAX, comm);
  *agreed = {std::min(ours, theirs), nullptr};
  return rc;
}

int CommTable::adopt(MPI_Comm comm) {
  int inter = 0;
  pmpi().Comm_test_inter(comm, &inter);
  MPI_Group group = MPI_GROUP_NULL;
  pmpi().Comm_group(comm, &group);
  int local_count = 0, peer_count = 0;
  int* local = slots_of(group, &local_count);
  pmpi().Group_free(&group);
  if (local == nullptr) return MPI_SUCCESS;
  int* slots = local;
  peer_count = local_count;
  if (inter != 0) {
    pmpi().Comm_remote_group(comm, &group);
    slots = slots_of(group, &peer_count);
    pmpi().Group_free(&group);
    free(local);
    if (slots == nullptr) return MPI_SUCCESS;
  }
  Agreed agreed{};
  const int rc = agree(comm, inter != 0, peer_count, &agreed);
  int rank = 0;
  pmpi().Comm_rank(comm, &rank);
  if (rc != MPI_SUCCESS || !remember(comm, agreed, rank, inter != 0, peer_count, slots)) {
    free(slots);
    return rc != MPI_SUCCESS ? rc : MPI_ERR_NO_MEM;
  }
  return pmpi().Comm_set_attr(comm, keyval_, this);
}

}  // namespace tasuki::shim
