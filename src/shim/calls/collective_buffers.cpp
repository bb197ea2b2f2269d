#include "shim/calls/collective_buffers.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "generated/pmpi.h"
#include "shim/entry/stand_in.h"

namespace tasuki::shim {
namespace {

char* memory_for(uint64_t bytes) {
  char* memory = static_cast<char*>(malloc(bytes + 1));
  if (memory == nullptr) abort_without_memory("a collective operation", g_process.world_size);
  return memory;
}

const char* at_offset(const void* buffer, int64_t bytes) {
  return static_cast<const char*>(buffer) + bytes;
}

// Of each piece that goes to all. Open MPI's own are messages to all others, too (two hosts, two ranks each:
// 0.5 to 1.2 times its speed). MPICH's ranks spin: three ranks on two cores, two of them on one host,
// MPI_Iallreduce and MPI_Iallgather 17 to 50 times. The libraries' trees are better for large ones, which
// would cross the network once for each rank.
#if defined(OPEN_MPI)
constexpr uint64_t kMostBytesAtOnce = 0;
#else
constexpr uint64_t kMostBytesAtOnce = 64 << 10;
#endif

}  // namespace

int64_t extent_of(const Target& t) {
  if (!t.type->opaque) return layout::extent(t.type->layout);
  MPI_Count lower_bound = 0, extent = 0;
  pmpi().Type_get_extent_x(t.handle, &lower_bound, &extent);
  return extent;
}

bool is_left_by_rule(message::Collective what, MPI_Comm comm, const Elements* elements) {
  const CommInfo* c = g_process.comms.find(comm);
  if (c == nullptr || c->inter || c->mixed) return false;
  uint64_t bytes = message::LeftCollectives::kAnyBytes;
  if (elements != nullptr) {
    MPI_Count size = 0;
    if (elements->count < 0 || elements->type == MPI_DATATYPE_NULL ||
        pmpi().Type_size_x(elements->type, &size) != MPI_SUCCESS)
      return false;
    bytes = static_cast<uint64_t>(elements->count) * static_cast<uint64_t>(size);
  }
  return g_process.board->left.have(what, bytes, static_cast<uint32_t>(c->peer_count));
}

void no_memory_to_meet(int members) {
  abort_without_memory("a collective operation", members);
}

int members_on_hosts(MPI_Comm comm, When when) {
  if ((when.later && when.request == nullptr) || when.persistent) return 0;
  const int members = g_process.spans.members_of(comm);
  return when.later && members > message::kMostByMessages ? 0 : members;
}

Resolved<Place> place_on_hosts(MPI_Comm comm, When when, bool typed) {
  SpanTable& spans = g_process.spans;
  const Resolved<Span*> span = when.later ? spans.get_made(comm) : spans.get(comm);
  return span.and_then([&](Span* s) -> Resolved<Place> {
    if (!pieces_pay(*s, typed) && spans.choices().alltoall == 0) return Unresolved::pass();
    return Place{nullptr, s, comm, s->rank, s->count};
  });
}

namespace {

Resolved<Place> place_if_they_pay(MPI_Comm comm, When when, const Elements& piece, bool rooted) {
  Process& p = g_process;
  if (piece.count <= 0) return Unresolved::pass();
  return p.types.find(piece.type, comm).and_then([&](TypeInfo* t) -> Resolved<Place> {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(piece.count), t->size, &bytes) || bytes == 0)
      return Unresolved::pass();
    const bool chosen = !rooted && p.spans.choices().alltoall != 0;
    if (!chosen && !pieces_pay(bytes, rooted)) return Unresolved::pass();
    return place_on_hosts(comm, when, false);
  });
}

}  // namespace

Resolved<Place> place_on_hosts(MPI_Comm comm, When when, const Elements& piece, bool rooted) {
  if (members_on_hosts(comm, when) == 0) return Unresolved::pass();
  return place_if_they_pay(comm, when, piece, rooted);
}

Resolved<Place> place_on_hosts(MPI_Comm comm, When when, int root, const Elements& at_root,
                               const Elements& elsewhere) {
  int rank = MPI_PROC_NULL;
  if (root < 0 || root >= members_on_hosts(comm, when)) return Unresolved::pass();
  pmpi().Comm_rank(comm, &rank);
  return place_if_they_pay(comm, when, rank == root ? at_root : elsewhere, true);
}

Resolved<Place> place_at_once_on_hosts(MPI_Comm comm, When when, const Elements& piece) {
  const int members = members_on_hosts(comm, when);
  if (!when.later || members < 2 || members > kMostAtOnce || piece.count <= 0) return Unresolved::pass();
  return g_process.types.find(piece.type, comm).and_then([&](TypeInfo* t) -> Resolved<Place> {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(piece.count), t->size, &bytes) || bytes == 0 ||
        bytes > kMostBytesAtOnce)
      return Unresolved::pass();
    return place_on_hosts(comm, when, false);
  });
}

CollectiveCall::CollectiveCall(const Place& place, When when, int out, int in)
    : place_(place), when_(when), buffers_(nullptr) {
  if (when.later && place.comm == nullptr) {
    later_on_hosts_.reset(new (std::nothrow) CallOnHosts(place.span, out, in));
    if (later_on_hosts_ != nullptr) buffers_ = &later_on_hosts_->buffers;
  } else if (when.later)
    later_.reset(buffers_ = new (std::nothrow) CollectiveBuffers(out, in, when.persistent));
  else
    buffers_ = &now_.emplace(out, in);
  if (buffers_ == nullptr) no_memory_to_meet(place.count);
}

int CollectiveCall::carry_out(const schedule::Schedule& rounds, const message::Pieces& send,
                              const message::Pieces& receive, bool own) {
  using schedule::Action;
  std::vector<schedule::Step> steps;
  const auto begin = [&](message::Parts& parts, uint32_t round) {
    rounds.round(static_cast<uint32_t>(place_.rank), 0, round, steps);
    return std::all_of(steps.begin(), steps.end(), [&](const schedule::Step& s) {
      const int peer = static_cast<int>(s.peer);
      if (s.action == Action::receive) return parts.get(peer, receive.of(peer));
      if (s.action == Action::send) return parts.give(peer, send.of(peer));
      if (own) parts.keep(send.of(place_.rank), receive.of(place_.rank));
      return true;
    });
  };
  const int rc = carry_out_on_hosts(place_, rounds.rounds(), begin);
  this->receive().finish();
  return rc;
}

int hand_over(CommInfo* c, MPI_Request* request, message::Parts& parts, std::unique_ptr<HeldOperation> held) {
  Process& p = g_process;
  p.engine.count(p.engine.stats().collectives);
  Request* rest = nullptr;
  if (!parts.rest(&rest)) no_memory_to_meet(c->peer_count);
  if (rest != nullptr) {
    *request = p.requests.hand_over(rest, c, held.release());
  } else {
    held->arrived();
    *request = p.requests.handle_of_sent();
  }
  return MPI_SUCCESS;
}

namespace {

class Persistent final : public HeldOperation {
 public:
  Persistent(CommInfo* c, std::unique_ptr<HeldOperation> held, BeginParts begin, bool by_looks)
      : comm_(*c),
        held_(std::move(held)),
        begin_(std::move(begin)),
        tag_(message::of_persistent(c->made++)),
        by_looks_(by_looks) {}

  // No other operation of the communicator plays a part, so several threads may start theirs at once.
  int start(Request* r) override {
    Process& p = g_process;
    p.engine.count(p.engine.stats().collectives);
    renew();
    held_->renew();
    message::Parts parts(p.engine, member(comm_), message::of_pieces(comm_.context), tag_);
    if (!begin_(parts)) no_memory_to_meet(comm_.peer_count);
    if (by_looks_)
      r->state.store(message::RequestState::pending, std::memory_order_relaxed);
    else
      parts.rest_in(r);
    return MPI_SUCCESS;
  }
  bool look(int* code) override { return held_->look(code); }

 private:
  void end() override { held_->arrived(); }

  const CommInfo& comm_;  // which the request retains
  const std::unique_ptr<HeldOperation> held_;
  const BeginParts begin_;
  const int32_t tag_;
  const bool by_looks_;
};

}  // namespace

int make_persistent(CommInfo* c, MPI_Request* request, std::unique_ptr<HeldOperation> held, BeginParts begin,
                    bool by_looks) {
  auto operation = std::make_unique<Persistent>(c, std::move(held), std::move(begin), by_looks);
  *request = g_process.requests.hand_over_persistent(c, operation.release(), by_looks);
  if (*request == MPI_REQUEST_NULL) no_memory_to_meet(c->peer_count);
  return MPI_SUCCESS;
}

bool HeldOnHosts::look(int* code) {
  if (!outside.look(inside)) return false;
  *code = outside.finish(inside);
  inside = nullptr;
  return true;
}

int hand_over(const Place& p, MPI_Request* request, message::Parts& parts,
              std::unique_ptr<HeldOnHosts> held) {
  Process& process = g_process;
  process.engine.count(process.engine.stats().spanning);
  if (!parts.rest(&held->inside)) no_memory_to_meet(p.count);
  *request = process.requests.hand_over(process.comms.find(p.handle), held.release());
  if (*request == MPI_REQUEST_NULL) no_memory_to_meet(p.count);
  return MPI_SUCCESS;
}

CollectiveBuffer::CollectiveBuffer(Use use, int pieces, bool persistent)
    : use_(use), persistent_(persistent), regions_(few_) {
  if (pieces > kFew)
    regions_ =
        reinterpret_cast<layout::Region*>(memory_for(static_cast<uint64_t>(pieces) * sizeof(layout::Region)));
}

CollectiveBuffer::~CollectiveBuffer() {
  if (regions_ != few_) free(regions_);
  if (type_ != nullptr) TypeTable::release(type_);
  for (TypeInfo* t : earlier_types_) TypeTable::release(t);
  for (Opaque& o : opaque_) {
    free(o.packed);
    if (duplicates()) pmpi().Type_free(&o.type);
  }
  free(aside_);
}

void CollectiveBuffer::keep(TypeInfo* t) {
  if (type_ == t) return;
  if (type_ != nullptr) earlier_types_.push_back(type_);
  TypeTable::retain(t);
  type_ = t;
}

void CollectiveBuffer::add(const Target& t, const void* at, MPI_Count count) {
  if (count == 0) return add_nothing();
  keep(t.type);
  if (!t.type->opaque) {
    regions_[count_++] = region_of(at, count, t.type);
    return;
  }
  const uint64_t bytes = static_cast<uint64_t>(count) * t.type->size;
  MPI_Datatype type = t.handle;
  if (duplicates() && pmpi().Type_dup(t.handle, &type) != MPI_SUCCESS)
    abort_without_memory("a collective operation", g_process.world_size);
  opaque_.push_back({count_, memory_for(bytes), at, count, type});
  regions_[count_++] = {opaque_.back().packed, bytes, layout::byte_layout()};
  if (!persistent_) pack(opaque_.back());
}

// A receive, too: its place stays as it is where nothing comes.
void CollectiveBuffer::pack(const Opaque& o) const {
  const layout::Region& r = originals_.empty() ? regions_[o.piece] : originals_[static_cast<size_t>(o.piece)];
  MPI_Count position = 0;
  stand_in::pack(o.at, o.count, o.type, o.packed, static_cast<MPI_Count>(layout::bytes(r)), &position,
                 MPI_COMM_SELF);
}

void CollectiveBuffer::add_blocks(const Target& t, const void* buffer, MPI_Count count, int n, int but) {
  const int64_t step = extent_of(t) * count;
  for (int i = 0; i < n; i++) {
    if (i == but)
      add_nothing();
    else
      add(t, at_offset(buffer, step * i), count);
  }
}

void CollectiveBuffer::add_blocks(const Target& t, const void* buffer, const Counts& counts,
                                  const Displacements& displacements, int n, int but) {
  const int64_t extent = extent_of(t);
  for (int i = 0; i < n; i++) {
    if (i == but)
      add_nothing();
    else
      add(t, at_offset(buffer, displacements[i] * extent), counts[i]);
  }
}

void CollectiveBuffer::copy_aside() {
  uint64_t bytes = 0;
  for (int i = 0; i < count_; i++) bytes += layout::bytes(regions_[i]);
  aside_ = memory_for(bytes);
  originals_.assign(regions_, regions_ + count_);
  char* at = aside_;
  for (int i = 0; i < count_; i++) {
    const uint64_t n = layout::bytes(regions_[i]);
    regions_[i] = {at, n, layout::byte_layout()};
    at += n;
  }
  if (!persistent_) fill_aside();
}

void CollectiveBuffer::fill_aside() const {
  char* at = aside_;
  for (const layout::Region& r : originals_) {
    const uint64_t n = layout::bytes(r);
    if (n != 0) layout::pack(at, r, 0, n);
    at += n;
  }
}

void CollectiveBuffer::renew() {
  for (const Opaque& o : opaque_) pack(o);
  if (aside_ != nullptr) fill_aside();
}

int add_typed(CollectiveBuffer* b, const void* buffer, const Counts& counts,
              const Displacements& displacements, const MPI_Datatype types[], int n, MPI_Comm comm, int but,
              bool* passes) {
  for (int i = 0; i < n; i++) {
    if (i == but || counts[i] == 0) {
      b->add_nothing();
      continue;
    }
    const void* const at = at_offset(buffer, displacements[i]);
    const auto library = [&] {
      *passes = true;
      return MPI_SUCCESS;
    };
    const int rc = target(at, counts[i], types[i], comm).answer(library, [&](const Target& t) {
      b->add(t, at, counts[i]);
      return MPI_SUCCESS;
    });
    if (rc != MPI_SUCCESS || *passes) return rc;
  }
  return MPI_SUCCESS;
}

void CollectiveBuffer::finish() {
  for (const Opaque& o : opaque_) {
    MPI_Count position = 0;
    stand_in::unpack(o.packed, static_cast<MPI_Count>(layout::bytes(regions_[o.piece])), &position,
                     const_cast<void*>(o.at), o.count, o.type, MPI_COMM_SELF);
  }
}

}  // namespace tasuki::shim
