#include "shim/hosts/span.h"

#include <algorithm>
#include <cstdlib>

#include "generated/pmpi.h"
#include "shim/errors.h"
#include "shim/objects/requests.h"
#include "shim/objects/topology.h"

namespace tasuki::shim {
namespace {

constexpr int kSetUpTag = 0;

// Leaders would need as much memory again for typed data.
constexpr uint64_t kMostForSpans = 1 << 30;

// Communicators of all ranks that get a span for small operations: the library's are not without end. All
// ranks are members of each of these, and so come to the same number; threads may make theirs in any order.
constexpr int kMostForLittle = 64;

int* integers(int n) {
  return static_cast<int*>(malloc(sizeof(int) * static_cast<size_t>(n)));
}

void free_span(Span* s) {
  free_topology(s->topology.topology);
  free(s->slots);
  free(s->leader);
  free(s->node_of);
  free(s->local_rank);
  free(const_cast<int*>(s->local.slots));
  delete s->schedule;
  delete s->rounds;
  delete s;
}

}  // namespace

void SpanTable::open(Board* board, const int* slot_of_world_rank, bool threads, bool collectives,
                     bool crowded) {
  board_ = board;
  slot_of_world_rank_ = slot_of_world_rank;
  pmpi().Comm_size(MPI_COMM_WORLD, &world_size_);
  // Hosts are told apart by the smallest rank of their space.
  node_of_world_rank_ = integers(world_size_);
  const int* end = slot_of_world_rank + world_size_;
  const int node = static_cast<int>(std::find_if(slot_of_world_rank, end, [](int s) { return s >= 0; }) -
                                    slot_of_world_rank);
  struct Answer {
    int node, collectives, crowded;
    SpanChoices choices;
  };
  int rank = 0;
  pmpi().Comm_rank(MPI_COMM_WORLD, &rank);
  const Answer mine{node, collectives ? 1 : 0, crowded ? 1 : 0, rank == 0 ? read_choices() : SpanChoices{}};
  Answer* const all = static_cast<Answer*>(malloc(sizeof(Answer) * static_cast<size_t>(world_size_)));
  if (node_of_world_rank_ == nullptr || all == nullptr) pmpi().Abort(MPI_COMM_WORLD, 1);
  pmpi().Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  collectives_ = true;
  for (int i = 0; i < world_size_; i++) {
    node_of_world_rank_[i] = all[i].node;
    collectives_ = collectives_ && all[i].collectives != 0;
    crowded_ = crowded_ || all[i].crowded != 0;
  }
  choices_ = all[0].choices;
  free(all);
  pmpi().Comm_group(MPI_COMM_WORLD, &world_group_);
  pmpi().Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &SpanTable::forget, &keyval_, this);
  threads_ = threads;
  map_.set_threads(threads);
  on_ = true;
}

void SpanTable::close() {
  if (!on_) return;
  on_ = false;
  pmpi().Group_free(&world_group_);
  pmpi().Comm_free_keyval(&keyval_);
}

// Called by the MPI library when the communicator is freed, which is collective: so may this be.
int SpanTable::forget(MPI_Comm comm, int, void*, void* extra) {
  Span* s = static_cast<SpanTable*>(extra)->map_.erase(key_of(comm));
  if (s == nullptr) return MPI_SUCCESS;
  if (s->comm != MPI_COMM_NULL) pmpi().Comm_free(&s->comm);
  if (s->leaders != MPI_COMM_NULL) pmpi().Comm_free(&s->leaders);
  if (s->barrier != nullptr && s->local.rank == 0) static_cast<SpanTable*>(extra)->barriers_.give(s->barrier);
  free_span(s);
  return MPI_SUCCESS;
}

// Finds out who is where, from the group alone. s->nodes stays 0 if a member is of another MPI_COMM_WORLD.
int SpanTable::make(MPI_Comm comm, Span* s) {
  MPI_Group group = MPI_GROUP_NULL;
  pmpi().Comm_rank(comm, &s->rank);
  pmpi().Comm_size(comm, &s->count);
  const int n = s->count;
  int* ranks = integers(2 * n);
  int* node_number = integers(world_size_);
  int* slots = integers(n);
  s->slots = integers(n);
  s->leader = integers(n);
  s->node_of = integers(n);
  s->local_rank = integers(n);
  s->local.slots = slots;
  bool good = ranks != nullptr && node_number != nullptr && slots != nullptr && s->slots != nullptr &&
              s->leader != nullptr && s->node_of != nullptr && s->local_rank != nullptr;
  if (good) {
    int* world = ranks + n;
    for (int i = 0; i < n; i++) ranks[i] = i;
    std::fill_n(node_number, world_size_, -1);
    pmpi().Comm_group(comm, &group);
    pmpi().Group_translate_ranks(group, n, ranks, world_group_, world);
    pmpi().Group_free(&group);
    const bool all_here = std::all_of(world, world + n, [&](int w) { return w >= 0 && w < world_size_; });
    for (int i = 0; all_here && i < n; i++) {
      int& node = node_number[node_of_world_rank_[world[i]]];
      if (node < 0) {
        s->leader[s->nodes] = i;
        node = s->nodes++;
      }
      s->node_of[i] = node;
    }
    if (all_here) s->node = s->node_of[s->rank];
    s->of_all = n == world_size_;
    s->in_order = std::is_sorted(s->node_of, s->node_of + n);
    for (int i = 0; all_here && i < n; i++) {
      s->slots[i] = slot_of_world_rank_[world[i]];
      if (s->node_of[i] != s->node) continue;
      if (i == s->rank) s->local.rank = s->local.count;
      s->local_rank[i] = s->local.count;
      slots[s->local.count++] = s->slots[i];
    }
  }
  free(ranks);
  free(node_number);
  return good ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int SpanTable::set_up(MPI_Comm comm, Span* s) {
  int inter = 0;
  pmpi().Comm_test_inter(comm, &inter);
  if (inter != 0) return MPI_SUCCESS;
  int rc = make(comm, s);
  if (rc != MPI_SUCCESS || s->nodes < 2) return rc;
  // Not a duplicate: that would call the user's functions for attributes.
  MPI_Group group = MPI_GROUP_NULL;
  pmpi().Comm_group(comm, &group);
  rc = pmpi().Comm_create(comm, group, &s->comm);
  pmpi().Group_free(&group);
  if (rc != MPI_SUCCESS) return rc;
  pmpi().Comm_set_errhandler(s->comm, MPI_ERRORS_RETURN);
  // The members of a host need a context of their board, and, if there are several, a place to meet.
  const int first = s->leader[s->node];
  struct {
    unsigned context;
    Barrier* barrier;
  } shared{};
  constexpr int kBytes = sizeof shared;
  if (s->rank == first) {
    shared.context = board_->next_context.fetch_add(1, std::memory_order_relaxed);
    if (s->local.count > 1) shared.barrier = barriers_.take(s->local.count);
    for (int i = 0; rc == MPI_SUCCESS && i < s->count; i++)
      if (s->node_of[i] == s->node && i != first)
        rc = pmpi().Send(&shared, kBytes, MPI_BYTE, i, kSetUpTag, s->comm);
  } else {
    rc = pmpi().Recv(&shared, kBytes, MPI_BYTE, first, kSetUpTag, s->comm, MPI_STATUS_IGNORE);
  }
  s->local.context = shared.context;
  s->barrier = shared.barrier;
  return rc != MPI_SUCCESS || s->barrier != nullptr || s->local.count == 1 ? rc : MPI_ERR_NO_MEM;
}

int SpanTable::members_of(MPI_Comm comm) const {
  if (!collectives_ || comm == MPI_COMM_NULL) return 0;
  int inter = 0, size = 0;
  pmpi().Comm_test_inter(comm, &inter);
  if (inter == 0) pmpi().Comm_size(comm, &size);
  return size;
}

bool SpanTable::makes_for_little(MPI_Comm comm) const {
  int size = 0;
  if (comm == MPI_COMM_WORLD) return true;
  if (threads_ || of_all_ >= kMostForLittle) return false;
  pmpi().Comm_size(comm, &size);
  return size == world_size_;
}

Resolved<Span*> SpanTable::get_for(MPI_Comm comm, uint64_t bytes) {
  if (bytes > kMostForSpans) return Unresolved::pass();
  if (bytes >= kLargeForSpans) return get(comm);
  if (map_.find(key_of(comm)) == nullptr && !makes_for_little(comm)) return Unresolved::pass();
  return get(comm).and_then([](Span* s) -> Resolved<Span*> {
    if (!s->shares()) return Unresolved::pass();
    return s;
  });
}

namespace {

Resolved<Span*> usable(Span* s) {
  if (s == nullptr || s->comm == MPI_COMM_NULL) return Unresolved::pass();
  return s;
}

}  // namespace

Resolved<Span*> SpanTable::get_made(MPI_Comm comm) {
  return usable(map_.find(key_of(comm)));
}

Resolved<Span*> SpanTable::get(MPI_Comm comm) {
  Span* s = map_.find(key_of(comm));
  if (s == nullptr) {
    s = new Span{};
    s->comm = s->leaders = MPI_COMM_NULL;
    int error = set_up(comm, s);
    if (error == MPI_SUCCESS && !map_.insert(key_of(comm), s)) error = MPI_ERR_NO_MEM;
    if (error != MPI_SUCCESS) {
      free_span(s);
      return Unresolved::failed(raise(comm, error));
    }
    // Communicators that MPI itself made end with it.
    if (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) pmpi().Comm_set_attr(comm, keyval_, this);
    if (!threads_ && s->of_all && s->comm != MPI_COMM_NULL) of_all_++;
  }
  return usable(s);
}

}  // namespace tasuki::shim
