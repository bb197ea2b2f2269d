#include "shim/objects/requests.h"

#include <cstdlib>

#include "generated/pmpi.h"
#include "shim/entry/stand_in.h"
#include "shim/errors.h"
#include "shim/objects/blocks.h"
#include "shim/objects/landing.h"
#include "shim/objects/parts.h"
#include "shim/objects/status.h"

namespace tasuki::shim {
namespace {

// What a buffered send takes of the user's buffer besides its data, at most MPI_BSEND_OVERHEAD. That differs
// within a family (96 in MPICH, 88 in Intel MPI, 128 in Open MPI), and a program's buffer has just the room
// that its own mpi.h says.
constexpr uint64_t kBsendOverhead = 64;
static_assert(kBsendOverhead <= MPI_BSEND_OVERHEAD);

// Undecodable types travel as the library packs them.
bool make_scratch(Request* r, const Target& t, MPI_Count count) {
  const uint64_t bytes = static_cast<uint64_t>(count) * t.type->size;
  mine(r).scratch = static_cast<char*>(malloc(bytes + 1));
  if (mine(r).scratch == nullptr) return false;
  MPI_Datatype copy = MPI_DATATYPE_NULL;  // the user may free his while the operation is in progress
  if (pmpi().Type_dup(t.handle, &copy) != MPI_SUCCESS) return false;
  mine(r).user_buffer = r->region.base;
  mine(r).user_count = static_cast<uint64_t>(count);
  mine(r).user_type = key_of(copy);
  mine(r).opaque = Opaque::yes;
  r->region = {mine(r).scratch, bytes, layout::byte_layout()};
  return true;
}

void pack_by_library(Request* r) {
  MPI_Count position = 0;
  stand_in::pack(mine(r).user_buffer, static_cast<MPI_Count>(mine(r).user_count),
                 handle_of<MPI_Datatype>(mine(r).user_type), mine(r).scratch,
                 static_cast<MPI_Count>(r->region.count), &position, MPI_COMM_SELF);
}

void unpack_by_library(Request* r) {
  // A shorter message fills fewer elements: unpack whole ones only as far as the bytes go.
  const uint64_t total = r->region.count;
  if (total == 0) return;
  const uint64_t elements = mine(r).user_count * r->status_bytes / total;
  MPI_Count position = 0;
  stand_in::unpack(mine(r).scratch, static_cast<MPI_Count>(r->status_bytes), &position, mine(r).user_buffer,
                   static_cast<MPI_Count>(elements), handle_of<MPI_Datatype>(mine(r).user_type),
                   MPI_COMM_SELF);
}

}  // namespace

void Requests::open(int world_rank, bool threads) {
  world_rank_ = world_rank;
  by_handle_.set_threads(threads);
  detached_.set_threads(threads);
  twins_.set_threads(threads);
  threads_ = threads;
}

bool Requests::open_sent() {
  sent_ = take();
  if (sent_ == nullptr) return false;
  sent_->kind = RequestKind::send;
  sent_->state.store(RequestState::done, std::memory_order_relaxed);
  handle_for(sent_);
  return true;
}

Request* Requests::take() {
  if (!detached_.empty()) reap_detached();
  return engine_.take_request();
}

Request* Requests::make(const Target& t, const void* buf, MPI_Count count, Hold hold) {
  Request* r = take();
  if (r == nullptr) return nullptr;
  r->context = t.comm->context;
  r->peer = t.slot;
  r->region = region_of(buf, count, t.type);
  if (hold == Hold::no) return r;
  mine(r).comm = t.comm;
  mine(r).type = t.type;
  CommTable::retain(t.comm);
  TypeTable::retain(t.type);
  return r;
}

Request* Requests::make_send(const Target& t, const void* buf, MPI_Count count, int tag) {
  Request* r = make(t, buf, count, Hold::yes);
  if (r == nullptr) return nullptr;
  r->kind = RequestKind::send;
  r->tag = tag;
  r->envelope.source_rank = t.comm->rank;
  if (t.type->opaque) {
    if (!make_scratch(r, t, count)) {
      discard(r);
      return nullptr;
    }
    pack_by_library(r);
  }
  return r;
}

Request* Requests::make_receive(const Target& t, void* buf, MPI_Count count, int tag, Hold hold) {
  Request* r = make(t, buf, count, hold);
  if (r == nullptr) return nullptr;
  r->kind = RequestKind::receive;
  r->tag = tag_in(tag);
  if (t.type->opaque && !make_scratch(r, t, count)) {
    discard(r);
    return nullptr;
  }
  return r;
}

Request* Requests::make_partitioned_send(const Target& t, const void* buf, MPI_Count count,
                                         uint32_t partitions, int tag) {
  Request* r = make_send(t, buf, count, tag);
  if (r == nullptr) return nullptr;
  r->context = partitioned(t.comm->context);
  mine(r).persistent = 1;
  if (channels_.open_send(r, partitions)) return r;
  discard(r);
  return nullptr;
}

Request* Requests::make_partitioned_receive(const Target& t, void* buf, MPI_Count count, uint32_t partitions,
                                            int tag) {
  Request* r = make_receive(t, buf, count, tag);
  if (r == nullptr) return nullptr;
  r->context = partitioned(t.comm->context);
  mine(r).persistent = 1;
  if (t.type->opaque && !watch_parts(r, partitions)) {
    discard(r);
    return nullptr;
  }
  channels_.open_receive(r, partitions);
  return r;
}

// What could not be started: a persistent request stays, inactive.
void Requests::give_up(Request* r) {
  if (mine(r).persistent != 0)
    mine(r).started = 0;
  else
    discard(r);
}

int Requests::fail(Request* r, MPI_Comm comm, int code) {
  give_up(r);
  return raise(comm, code);
}

int Requests::launch_send(Request* r, SendMode mode) {
  CommInfo* c = mine(r).comm;
  if (mode == SendMode::buffered) {
    const uint64_t needed = layout::bytes(r->region) + kBsendOverhead;
    if (!attached_.charge(r, needed)) return fail(r, c->comm, MPI_ERR_BUFFER);
  }
  if (engine_.start_send(r, mode)) return MPI_SUCCESS;
  attached_.refund(r);
  return fail(r, c->comm, MPI_ERR_NO_MEM);
}

int Requests::launch_receive(Request* r, void* buf, MPI_Count count, MPI_Datatype type, int tag) {
  if (r->peer == kAnySource && mine(r).comm != nullptr && mine(r).comm->mixed)
    return launch_twin(r, buf, count, type, tag);
  engine_.start_receive(r);
  return MPI_SUCCESS;
}

namespace {

// A message that the library has already, which a receive from any source gets.
struct Found {
  int source = MPI_ANY_SOURCE;  // there is none
  // It is the receive's alone: with threads, where another one might get it in between.
  MPI_Message message = MPI_MESSAGE_NULL;
};

Found look_for(int source, int tag, CommInfo* c, bool threads) {
  Found found;
  int there = 0;
  MPI_Status status;
  if (threads)
    pmpi().Improbe(source, tag, c->comm, &there, &found.message, &status);
  else
    pmpi().Iprobe(source, tag, c->comm, &there, &status);
  if (there != 0) found.source = status.MPI_SOURCE;
  return found;
}

// The receive that follows a probe gets the message that the probe has found elsewhere, though others may
// have come.
Found probed(CommInfo* c, int tag, bool threads) {
  const int source = c->probed_source;
  if (source == kNobody || (tag != MPI_ANY_TAG && tag != c->probed_tag)) return {};
  c->probed_source = kNobody;
  return look_for(source, tag, c, threads);
}

// Messages of this space come first, since they are found at once; so that a flood of them does not keep
// others waiting for ever, every so many receives ask the library first. No receive that is pending would
// match what it has.
Found in_turn(CommInfo* c, int tag, bool threads) {
  constexpr uint32_t kElsewhereFirst = 8;  // a look costs up to a microsecond
  if (++c->from_any % kElsewhereFirst != 0) return {};
  return look_for(MPI_ANY_SOURCE, tag, c, threads);
}

}  // namespace

int Requests::launch_twin(Request* r, void* buf, MPI_Count count, MPI_Datatype type, int tag) {
  CommInfo* c = mine(r).comm;
  Found found = probed(c, tag, threads_);
  if (found.source == MPI_ANY_SOURCE) found = in_turn(c, tag, threads_);
  const bool only = found.source != MPI_ANY_SOURCE;
  if (!only && !engine_.start_reserved_receive(r)) return MPI_SUCCESS;
  const stand_in::Sized in(count, type);
  MPI_Request twin = MPI_REQUEST_NULL;
  char* const packed = mine(r).opaque == Opaque::no ? carrier_->packed_for(r->region) : nullptr;
  mine(r).packed = packed;
  mine(r).unpacks = packed != nullptr ? 1 : 0;
  const auto receive = [&](void* to, int n, MPI_Datatype t) {
    if (found.message != MPI_MESSAGE_NULL) return pmpi().Imrecv(to, n, t, &found.message, &twin);
    return pmpi().Irecv(to, n, t, found.source, tag, c->comm, &twin);
  };
  int rc;
  if (packed != nullptr) {
    const Landing landing(layout::bytes(r->region));
    rc = receive(packed, landing.count(), landing.type());
  } else {
    rc = receive(buf, in.count(), in.type());
  }
  if (rc == MPI_SUCCESS) {
    if (only)
      twins_.add_only(r, twin);
    else
      twins_.add(r, twin);
    return rc;
  }
  if (!only) engine_.withdraw(r);
  if (packed != nullptr) give_block(packed);
  mine(r).packed = nullptr;
  give_up(r);
  return rc;
}

bool Requests::keep_arguments(Request* r, void* buf, MPI_Count count, MPI_Datatype type) {
  if (mine(r).opaque != Opaque::no) return true;
  MPI_Datatype copy = MPI_DATATYPE_NULL;
  if (pmpi().Type_dup(type, &copy) != MPI_SUCCESS) return false;
  mine(r).user_buffer = static_cast<char*>(buf);
  mine(r).user_count = static_cast<uint64_t>(count);
  mine(r).user_type = key_of(copy);
  return true;
}

MPI_Request Requests::hand_over(Request* group, CommInfo* comm, HeldOperation* held) {
  mine(group).held = held;
  mine(group).comm = comm;
  if (comm != nullptr) CommTable::retain(comm);
  return handle_for(group);
}

MPI_Request Requests::hand_over(CommInfo* comm, HeldOperation* held) {
  Request* r = take();
  if (r == nullptr) return MPI_REQUEST_NULL;
  r->kind = RequestKind::group;
  mine(r).twin = Twin::operation;
  r->state.store(message::RequestState::pending, std::memory_order_relaxed);
  return hand_over(r, comm, held);
}

MPI_Request Requests::hand_over_persistent(CommInfo* comm, HeldOperation* held, bool by_looks) {
  Request* r = take();
  if (r == nullptr) return MPI_REQUEST_NULL;
  r->kind = RequestKind::group;
  mine(r).persistent = 1;
  if (by_looks) mine(r).twin = Twin::operation;
  return hand_over(r, comm, held);
}

Request* Requests::make_borne(RequestKind kind, CommInfo* comm, MPI_Request library) {
  Request* r = take();
  if (r == nullptr) return nullptr;
  r->kind = kind;
  mine(r).comm = comm;
  CommTable::retain(comm);
  twins_.add_only(r, library);
  return r;
}

// ---- results

// What has come lies packed: to where it belongs, once.
void Requests::land(Request* r) {
  if (mine(r).held != nullptr) mine(r).held->arrived();
  if (r->kind != RequestKind::receive || r->cancelled != 0) return;
  if (mine(r).unpacked != nullptr)
    unpack_parts(r);
  else
    do_once(mine(r).opaque, Opaque::yes, Opaque::unpacking, Opaque::unpacked, [&] { unpack_by_library(r); });
}

int Requests::peek(Request* r, MPI_Status* status) {
  if (r->kind == RequestKind::pair) return peek(r->part[0], status);
  if (mine(r).by_library != 0) {
    if (r->kind == RequestKind::receive)
      set_status(status, r->status_source, r->status_tag, r->status_bytes, false);
    else
      set_status_of_sent(status);
    return mine(r).code;
  }
  check_end(r, mine(r).type);
  land(r);
  if (r->cancelled != 0)
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, true);
  else if (r->kind == RequestKind::receive)
    set_status(status, r->status_source, r->status_tag,
               r->truncated != 0 ? truncated_count(r) : r->status_bytes, false);
  else if (mine(r).from_nobody != 0)
    set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
  else
    set_status_of_sent(status);
  if (r->truncated == 0) return MPI_SUCCESS;
  return mine(r).code != MPI_SUCCESS ? mine(r).code : MPI_ERR_TRUNCATE;
}

void Requests::discard(Request* r) {
  if (r == sent_) return;
  for (Request* part : r->part)
    if (part != nullptr) discard(part);
  if (mine(r).user_type != 0) {
    MPI_Datatype copy = handle_of<MPI_Datatype>(mine(r).user_type);
    pmpi().Type_free(&copy);
  }
  if (r->partitions != 0) Channels::close(r);
  ::free(mine(r).scratch);
  ::free(mine(r).unpacked);
  if (mine(r).packed != nullptr) give_block(mine(r).packed);
  if (mine(r).comm != nullptr) CommTable::release(mine(r).comm);
  if (mine(r).type != nullptr) TypeTable::release(mine(r).type);
  delete mine(r).held;
  engine_.give_request(r);
}

int Requests::finish(Request* r, MPI_Status* status) {
  return finish(r, status, MPI_COMM_NULL);
}

int Requests::finish(Request* r, MPI_Status* status, MPI_Comm raised_on) {
  const int rc = peek(r, status);
  if (rc != MPI_SUCCESS && raised_on != MPI_COMM_NULL) tell_of_truncation(r, raised_on, world_rank_);
  Stats& s = engine_.stats();
  const Request* received = r->kind == RequestKind::pair ? r->part[0] : r;
  if (received->kind == RequestKind::receive && received->cancelled == 0 && mine(received).by_library == 0) {
    engine_.count(s.received);
    engine_.count(s.received_bytes, received->status_bytes);
  }
  if (mine(r).persistent != 0) {
    mine(r).started = 0;
    r->state.store(RequestState::inactive, std::memory_order_relaxed);
    return rc;
  }
  discard(r);
  return rc;
}

// ---- handles

namespace {

int query_nothing(void*, MPI_Status*) {
  return MPI_SUCCESS;
}
int free_nothing(void*) {
  return MPI_SUCCESS;
}
int cancel_nothing(void*, int) {
  return MPI_SUCCESS;
}

}  // namespace

MPI_Request generalized_request() {
  MPI_Request request = MPI_REQUEST_NULL;
  pmpi().Grequest_start(&query_nothing, &free_nothing, &cancel_nothing, nullptr, &request);
  return request;
}

// Not MPI_Request_free or MPI_Test, in which MPICH progresses. Before 4.2, over UCX and TCP, it hangs in
// MPI_Finalize if a rank progresses when another one closes its connections already (docs/tasks.md, "Several
// hosts").
void free_complete(MPI_Request* request) {
  pmpi().Wait(request, MPI_STATUS_IGNORE);
}

MPI_Request Requests::handle_for(Request* r) {
  if (r->handle == 0) {
    MPI_Request placeholder = generalized_request();
    pmpi().Grequest_complete(placeholder);
    r->handle = key_of(placeholder);
    by_handle_.insert(r->handle, r);
  }
  return handle_of<MPI_Request>(r->handle);
}

namespace {

// Nothing is under way, and no peer will look for it.
bool is_idle(const Request* r) {
  return is_inactive(r) && (r->partitions == 0 || Channels::has_met(r));
}

}  // namespace

void Requests::free(Request* r) {
  if (is_idle(r) || r == sent_)
    discard(r);
  else
    detach(r);
}

void Requests::detach(Request* r) {
  mine(r).detached = 1;
  detached_.add(r);
}

void Requests::reap_detached() {
  Request* list = detached_.take_all();
  while (list != nullptr) {
    Request* r = list;
    list = r->next;
    if (r->kind == RequestKind::carried) {
      int done = 0;
      carrier_->test(r, &done, MPI_STATUS_IGNORE);
      if (done == 0) detach(r);
      continue;
    }
    if (is_inactive(r) || !poll(r, false)) {
      free(r);
      continue;
    }
    mine(r).persistent = 0;
    finish(r, MPI_STATUS_IGNORE);
  }
}

void Requests::close() {
  // Nobody else packs what is left to send. Receives stay posted: the engine's thread carries on what meets
  // them.
  if (engine_.options().apart) {
    engine_.progress();
    detached_.for_each([this](Request* r) {
      for (Request* part : {r, r->part[1]})
        if (part != nullptr && part->kind == RequestKind::send && mine(part).twin == Twin::none &&
            !is_inactive(part))
          engine_.end_send(part);
    });
  }
  reap_detached();
  detached_.for_each([](Request* r) {
    if (mine(r).library == 0) return;
    MPI_Request library = handle_of<MPI_Request>(mine(r).library);
    pmpi().Request_free(&library);
  });
  by_handle_.for_each([](uintptr_t key, Request*) {
    MPI_Request placeholder = handle_of<MPI_Request>(key);
    free_complete(&placeholder);
  });
}

int Requests::launch_persistent(Request* r) {
  if (r->partitions != 0) {
    mine(r).started = 1;
    forget_parts(r);
    channels_.start(r);
    return MPI_SUCCESS;
  }
  r->queued = r->cancelled = r->truncated = 0;
  r->bufferable = Buffering::never;
  r->polls = 0;
  r->charged = 0;
  mine(r).started = 1;
  mine(r).by_library = 0;
  mine(r).code = MPI_SUCCESS;
  if (mine(r).held != nullptr) return mine(r).held->start(r);
  if (mine(r).opaque == Opaque::unpacked) mine(r).opaque = Opaque::yes;
  if (r->kind == RequestKind::receive)
    return launch_receive(r, mine(r).user_buffer, static_cast<MPI_Count>(mine(r).user_count),
                          handle_of<MPI_Datatype>(mine(r).user_type),
                          r->tag == kAnyTag ? MPI_ANY_TAG : r->tag);
  if (mine(r).opaque != Opaque::no) pack_by_library(r);
  return launch_send(r, mine(r).mode);
}

}  // namespace tasuki::shim
