#include "shim/objects/comm.h"

#include <algorithm>
#include <cstdlib>

#include "generated/pmpi.h"
#include "shim/errors.h"
#include "shim/objects/topology.h"

namespace tasuki::shim {
namespace {

constexpr int kAgreementTag = 0;

int* integers(int n) {
  return static_cast<int*>(malloc(sizeof(int) * static_cast<size_t>(n)));
}

}  // namespace

void CommTable::open(Board* board, int* slot_of_world_rank, int world_size, bool threads, bool mix) {
  map_.set_threads(threads);
  board_ = board;
  slot_of_world_rank_ = slot_of_world_rank;
  world_size_ = world_size;
  mix_ = mix;
  pmpi().Comm_group(MPI_COMM_WORLD, &world_group_);
  pmpi().Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &CommTable::forget, &keyval_, this);
  int rank = 0;
  pmpi().Comm_rank(MPI_COMM_WORLD, &rank);
  const int here = world_size - static_cast<int>(std::count(slot_of_world_rank,
                                                            slot_of_world_rank + world_size, kElsewhere));
  if (here == world_size || (mix && here > 1)) {
    int* slots = integers(world_size);
    if (slots != nullptr) {
      std::copy_n(slot_of_world_rank, world_size, slots);
      const bool all = here == world_size;
      remember(MPI_COMM_WORLD, {kWorldContext, all ? world_barrier() : nullptr}, rank, false, world_size,
               slots);
    }
  }
  int* self = integers(1);
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
  if (!c->users.remove()) return;
  free_topology(c->topology.topology);
  free(c->slots);
  free(c);
}

// All members know MPI_COMM_WORLD without a message: the barrier of the first one that needs it serves all.
Barrier* CommTable::world_barrier() {
  Barrier* known = board_->world_barrier.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  Barrier* mine = barriers_.take(world_size_);
  if (mine == nullptr) abort_without_memory("a barrier", world_size_);
  if (board_->world_barrier.compare_exchange_strong(known, mine, std::memory_order_acq_rel)) return mine;
  barriers_.give(mine);
  return known;
}

CommInfo* CommTable::remember(MPI_Comm comm, const Agreed& agreed, int rank, bool inter, int peer_count,
                              int* slots) {
  CommInfo* c = static_cast<CommInfo*>(calloc(1, sizeof(CommInfo)));
  if (c == nullptr) return nullptr;
  c->comm = comm;
  c->context = agreed.context;
  c->spare_contexts = agreed.context + 1;
  c->spare_contexts_end = agreed.context + kContextsEach;
  c->barrier = agreed.barrier;
  c->rank = rank;
  c->inter = inter;
  c->peer_count = peer_count;
  c->slots = slots;
  c->mixed = std::find(slots, slots + peer_count, kElsewhere) != slots + peer_count;
  c->probed_source = kNobody;
  c->from_any = 0;
  c->users.set(1);
  if (map_.insert(key_of(comm), c)) return c;
  free(c);
  return nullptr;
}

// All members make the same duplicates in the same order, so each knows the context without the others. What
// the library says of the new communicator may not hold before the call is complete; its members are the
// parent's.
void CommTable::adopt_idup(MPI_Comm parent, MPI_Comm comm) {
  CommInfo* p = find(parent);
  if (p == nullptr || p->spare_contexts == p->spare_contexts_end) return;
  const uint32_t context = p->spare_contexts++;
  int* slots = integers(p->peer_count);
  CommInfo* c = nullptr;
  if (slots != nullptr) {
    std::copy_n(p->slots, p->peer_count, slots);
    c = remember(comm, {context, nullptr}, p->rank, p->inter, p->peer_count, slots);
  }
  if (c == nullptr) abort_without_memory("a communicator", p->peer_count);
  c->spare_contexts = c->spare_contexts_end;
  c->unmarked = true;
}

void CommTable::about_to_free(MPI_Comm comm) {
  CommInfo* c = find(comm);
  if (c == nullptr || !c->unmarked) return;
  c->unmarked = false;
  pmpi().Comm_set_attr(comm, keyval_, this);
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

// The caller frees `slots`, which is nullptr where memory is exhausted.
CommTable::Side CommTable::side_of(MPI_Group group) {
  Side s;
  pmpi().Group_size(group, &s.count);
  s.slots = integers(2 * (s.count + 1));
  if (s.slots == nullptr) return s;
  int* world = s.slots + s.count;
  for (int i = 0; i < s.count; i++) s.slots[i] = i;
  pmpi().Group_translate_ranks(group, s.count, s.slots, world_group_, world);
  for (int i = 0; i < s.count; i++) {
    const bool in_world = world[i] >= 0 && world[i] < world_size_;
    s.slots[i] = in_world ? slot_of_world_rank_[world[i]] : kElsewhere;
    s.known = s.known && in_world;
    if (s.slots[i] == kElsewhere) continue;
    if (s.here++ == 0) s.first = i;
  }
  return s;
}

int CommTable::agree(MPI_Comm comm, int count, Agreed* agreed) {
  int rank = 0;
  pmpi().Comm_rank(comm, &rank);
  if (rank == 0) *agreed = {new_context(), count > 1 ? barriers_.take(count) : nullptr};
  return pmpi().Bcast(agreed, sizeof *agreed, MPI_BYTE, 0, comm);
}

// On an inter-communicator a reduction delivers the other group's result: send the proposal over, and get
// one's own back.
int CommTable::agree_inter(MPI_Comm comm, Agreed* agreed) {
  int rank = 0;
  pmpi().Comm_rank(comm, &rank);
  unsigned mine = rank == 0 ? new_context() : 0, theirs = 0, ours = 0;
  int rc = pmpi().Allreduce(&mine, &theirs, 1, MPI_UNSIGNED, MPI_MAX, comm);
  if (rc == MPI_SUCCESS) rc = pmpi().Allreduce(&theirs, &ours, 1, MPI_UNSIGNED, MPI_MAX, comm);
  *agreed = {std::min(ours, theirs), nullptr};
  return rc;
}

// The members elsewhere may know nothing of Tasuki, so the members here agree by messages of their own, which
// nobody else can meet: all of them are in the call that makes the communicator, whose user has not seen it
// yet, and later the library carries no message between two of them.
int CommTable::agree_here(MPI_Comm comm, int rank, const Side& side, Agreed* agreed) {
  unsigned context = new_context_if(rank == side.first);
  int rc = MPI_SUCCESS;
  if (rank != side.first)
    rc = pmpi().Recv(&context, 1, MPI_UNSIGNED, side.first, kAgreementTag, comm, MPI_STATUS_IGNORE);
  else
    for (int i = rank + 1; i < side.count && rc == MPI_SUCCESS; i++)
      if (side.slots[i] != kElsewhere) rc = pmpi().Send(&context, 1, MPI_UNSIGNED, i, kAgreementTag, comm);
  *agreed = {context, nullptr};
  return rc;
}

// On an inter-communicator messages go to the other group only. The first member here of the group whose
// first one has the smaller slot tells those of the other group, and the first of these tells the rest of the
// group that it came from.
int CommTable::agree_here_inter(MPI_Comm comm, int rank, const Side& local, const Side& remote,
                                Agreed* agreed) {
  const bool leads = local.slots[local.first] < remote.slots[remote.first];
  const bool first = rank == local.first;
  unsigned context = new_context_if(leads && first);
  int rc = MPI_SUCCESS;
  if (!(leads && first))
    rc = pmpi().Recv(&context, 1, MPI_UNSIGNED, remote.first, kAgreementTag, comm, MPI_STATUS_IGNORE);
  for (int i = 0; first && i < remote.count && rc == MPI_SUCCESS; i++)
    if (remote.slots[i] != kElsewhere && (leads || i != remote.first))
      rc = pmpi().Send(&context, 1, MPI_UNSIGNED, i, kAgreementTag, comm);
  *agreed = {context, nullptr};
  return rc;
}

int CommTable::adopt(MPI_Comm comm) {
  int inter = 0, rank = 0;
  pmpi().Comm_test_inter(comm, &inter);
  pmpi().Comm_rank(comm, &rank);
  MPI_Group group = MPI_GROUP_NULL;
  pmpi().Comm_group(comm, &group);
  Side local = side_of(group), remote;
  pmpi().Group_free(&group);
  if (inter != 0) {
    pmpi().Comm_remote_group(comm, &group);
    remote = side_of(group);
    pmpi().Group_free(&group);
  }
  const Side& peers = inter != 0 ? remote : local;
  const bool memory = local.slots != nullptr && peers.slots != nullptr;
  // Messages between members here: to other members of the same group, or to the other group.
  const bool used = memory && local.known && peers.known &&
                    (inter != 0 ? peers.here > 0 : peers.here > 1 || peers.count == 1);
  const bool all_here = local.here == local.count && peers.here == peers.count;
  const bool handled = used && (all_here || mix_);
  Agreed agreed{};
  int rc = memory ? MPI_SUCCESS : MPI_ERR_NO_MEM;
  if (handled && all_here)
    rc = inter != 0 ? agree_inter(comm, &agreed) : agree(comm, peers.count, &agreed);
  else if (handled)
    rc = inter != 0 ? agree_here_inter(comm, rank, local, remote, &agreed)
                    : agree_here(comm, rank, local, &agreed);
  if (inter != 0) free(local.slots);
  if (rc != MPI_SUCCESS || !handled) {
    free(peers.slots);
    return rc;
  }
  if (remember(comm, agreed, rank, inter != 0, peers.count, peers.slots) == nullptr) {
    free(peers.slots);
    return MPI_ERR_NO_MEM;
  }
  return pmpi().Comm_set_attr(comm, keyval_, this);
}

}  // namespace tasuki::shim
