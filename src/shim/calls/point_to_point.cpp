// MPI_Send and MPI_Recv in all their forms, blocking and not.
#include <cstdlib>

#include "generated/pmpi.h"
#include "shim/calls/task_state.h"
#include "shim/entry/stand_in.h"
#include "shim/objects/status.h"
#include "shim/objects/verdict.h"

namespace tasuki::shim::delegate {
namespace {

int no_memory(const Target& t) {
  return raise(t.comm->comm, MPI_ERR_NO_MEM);
}

// Waits for a blocking call's own request and reports its result.
int complete_now(Request* r, MPI_Comm comm, MPI_Status* status) {
  g_process.requests.wait(r);
  const Blame blame{comm, mine(r).by_library != 0};
  const int rc = g_process.requests.finish(r, status, comm);
  return rc == MPI_SUCCESS ? rc : raise(blame, rc);
}

// A receive that nobody has started, by a blocking call.
int receive_now(Request* r, TypeInfo* type, MPI_Comm comm, MPI_Status* status) {
  g_process.engine.receive(r);
  g_process.requests.check_end(r, type);
  return complete_now(r, comm, status);
}

// By a call that returns one status: `code`, which it also is by habit.
int received(int code, MPI_Status* status) {
  set_error(status, g_habits.sets_error.received, code);
  return code;
}

// By MPI_Sendrecv_replace. Open MPI sets no error, and nothing where there is nothing to replace.
int replaced(int code, [[maybe_unused]] bool empty, MPI_Status* status) {
#if defined(OPEN_MPI)
  set_error(status, g_habits.sets_error.replaced && !empty, MPI_SUCCESS);
#else
  set_error(status, g_habits.sets_error.replaced, code);
#endif
  return code;
}

// Dense bytes that need no request, if they can be sent at once.
bool is_small(const Target& t, MPI_Count count, SendMode mode) {
  const uint64_t bytes = static_cast<uint64_t>(count) * t.type->size;
  return (mode == SendMode::standard || mode == SendMode::ready) && t.type->dense &&
         bytes <= message::kSmallBytes && bytes <= g_process.engine.options().eager_bytes;
}

// False, with nothing done: they cannot.
bool try_small(const Target& t, const void* buf, MPI_Count count, int tag) {
  return g_process.engine.try_send_small(t.slot, t.comm->context, tag, t.comm->rank,
                                         static_cast<const char*>(buf) + t.type->offset,
                                         static_cast<uint32_t>(static_cast<uint64_t>(count) * t.type->size));
}

// The receive and the send of one combined call; either may be nullptr (MPI_PROC_NULL).
struct Exchange {
  Request* receive = nullptr;
  Request* send = nullptr;
};

enum class Wait : bool { later, at_once };  // of the caller, for what it starts

struct Side {
  void* buf;
  MPI_Count count;
  MPI_Datatype type;
  int peer, tag;
  Wait wait;  // of a send
};

// Packed bytes that are sent in place of the user's buffer; none: data is nullptr. Whoever makes a request of
// it hands it over, and its `data` is nullptr then.
struct PackedCopy {
  char* data = nullptr;
  uint64_t bytes = 0;
};

// The two halves of an exchange whose peers may be elsewhere: then the library carries that half.

bool is_elsewhere(const CommInfo* c, int peer) {
  return c != nullptr && c->mixed && peer >= 0 && peer < c->peer_count && c->slots[peer] == kElsewhere;
}

// nullptr: nobody.
Resolved<Request*> start_send_half(const Side& out, const Target& to, PackedCopy* copy) {
  if (out.peer == MPI_PROC_NULL) return nullptr;
  Request* r = g_process.requests.make_send(to, out.buf, out.count, out.tag);
  if (r == nullptr) return Unresolved::failed(no_memory(to));
  if (copy->data != nullptr) {
    mine(r).scratch = copy->data;
    r->region = {copy->data, copy->bytes, layout::byte_layout()};
    copy->data = nullptr;
  }
  r->waits = out.wait == Wait::at_once ? 1 : 0;
  const int rc = g_process.requests.launch_send(r, SendMode::standard);
  if (rc != MPI_SUCCESS) return Unresolved::failed(rc);
  return r;
}

Resolved<Request*> start_receive_half(const Side& in, const Target& from) {
  if (in.peer == MPI_PROC_NULL) return nullptr;
  Request* r = g_process.requests.make_receive(from, in.buf, in.count, in.tag);
  if (r == nullptr) return Unresolved::failed(no_memory(from));
  const int rc = g_process.requests.launch_receive(r, in.buf, in.count, in.type, in.tag);
  if (rc != MPI_SUCCESS) return Unresolved::failed(rc);
  return r;
}

// What the library has begun, as a request of this layer.
Resolved<Request*> borne(RequestKind kind, CommInfo* c, MPI_Request library, int rc) {
  if (rc != MPI_SUCCESS) return Unresolved::failed(rc);
  Request* r = g_process.requests.make_borne(kind, c, library);
  if (r == nullptr) return Unresolved::failed(raise(c->comm, MPI_ERR_NO_MEM));
  return r;
}

Resolved<Request*> start_send_elsewhere(const Side& out, CommInfo* c, PackedCopy* copy) {
  MPI_Request sent = MPI_REQUEST_NULL;
  const stand_in::Sized what = copy->data != nullptr
                                   ? stand_in::Sized(static_cast<MPI_Count>(copy->bytes), MPI_PACKED)
                                   : stand_in::Sized(out.count, out.type);
  const int rc = pmpi().Isend(copy->data != nullptr ? copy->data : out.buf, what.count(), what.type(),
                              out.peer, out.tag, c->comm, &sent);
  const Resolved<Request*> half = borne(RequestKind::send, c, sent, rc);
  if (Request* r = half.value_or(nullptr); r != nullptr && copy->data != nullptr) {
    mine(r).scratch = copy->data;
    copy->data = nullptr;
  }
  return half;
}

Resolved<Request*> start_receive_elsewhere(const Side& in, CommInfo* c) {
  MPI_Request posted = MPI_REQUEST_NULL;
  const stand_in::Sized what(in.count, in.type);
  const int rc = pmpi().Irecv(in.buf, what.count(), what.type(), in.peer, in.tag, c->comm, &posted);
  return borne(RequestKind::receive, c, posted, rc);
}

void take_back(Request* receive) {
  Requests& requests = g_process.requests;
  requests.cancel(receive);
  requests.wait(receive);
  requests.finish(receive, MPI_STATUS_IGNORE);
}

// The receive first: the peer's message then finds it.
template <typename Receive, typename Send>
Resolved<Exchange> start_halves(Receive receive, Send send) {
  return receive().and_then([&](Request* in) -> Resolved<Exchange> {
    const Resolved<Request*> sent = send();
    // Not begun: nothing may come into the user's buffer later.
    if (in != nullptr && sent.answer([] { return 1; }, [](Request*) { return 0; }) != 0) take_back(in);
    return sent.and_then([&](Request* out) -> Resolved<Exchange> { return Exchange{in, out}; });
  });
}

Resolved<Exchange> start_exchange(const Side& out, const Side& in, MPI_Comm comm, PackedCopy* copy) {
  const bool sends = out.peer != MPI_PROC_NULL, receives = in.peer != MPI_PROC_NULL;
  if (!sends && !receives) return Unresolved::pass();
  CommInfo* c = g_process.comms.find(comm);
  const bool out_elsewhere = is_elsewhere(c, out.peer), in_elsewhere = is_elsewhere(c, in.peer);
  if ((out_elsewhere || !sends) && (in_elsewhere || !receives)) return Unresolved::pass();
  const Resolved<Target> nobody = Target{};
  const Resolved<Target> to =
      sends && !out_elsewhere ? g_process.targets.to(out.buf, out.count, out.type, out.peer, out.tag, comm)
                              : nobody;
  const Resolved<Target> from = receives && !in_elsewhere
                                    ? g_process.targets.from(in.buf, in.count, in.type, in.peer, in.tag, comm)
                                    : nobody;
  return to.and_then(from, [&](const Target& t, const Target& f) {
    return start_halves(
        [&] { return in_elsewhere ? start_receive_elsewhere(in, c) : start_receive_half(in, f); },
        [&] { return out_elsewhere ? start_send_elsewhere(out, c, copy) : start_send_half(out, t, copy); });
  });
}

Resolved<Exchange> start_exchange(const Side& out, const Side& in, MPI_Comm comm) {
  PackedCopy none;
  return start_exchange(out, in, comm, &none);
}

// A small exchange inside the space: its message is sent at once, and what is left is a receive, which takes
// its message straight from the ring: half the time of a receive that is posted before.
struct Rest {
  Request* receive = nullptr;
  TypeInfo* type = nullptr;
};

Resolved<Rest> send_small_first(const Side& out, const Side& in, MPI_Comm comm) {
  CommInfo* c = g_process.comms.find(comm);
  if (c == nullptr || out.peer < 0 || (in.peer < 0 && (in.peer != MPI_ANY_SOURCE || c->mixed)) ||
      is_elsewhere(c, out.peer) || is_elsewhere(c, in.peer))
    return Unresolved::pass();
  const auto exchange = [&](const Target& t, const Target& f) -> Resolved<Rest> {
    Request* r = g_process.requests.make_receive(f, in.buf, in.count, in.tag, Hold::no);
    if (r == nullptr) return Unresolved::failed(no_memory(f));
    if (try_small(t, out.buf, out.count, out.tag)) return Rest{r, f.type};
    g_process.requests.discard(r);
    return Unresolved::pass();
  };
  const auto look_at_receive = [&](const Target& t) -> Resolved<Rest> {
    if (!is_small(t, out.count, SendMode::standard)) return Unresolved::pass();
    return g_process.targets.from(in.buf, in.count, in.type, in.peer, in.tag, comm)
        .and_then([&](const Target& f) { return exchange(t, f); });
  };
  return g_process.targets.to(out.buf, out.count, out.type, out.peer, out.tag, comm)
      .and_then(look_at_receive);
}

int finish_exchange(const Exchange& x, MPI_Status* status) {
  Requests& requests = g_process.requests;
  const auto done = [&] {
    const bool sent = x.send == nullptr || requests.poll(x.send, true);
    return (x.receive == nullptr || requests.poll(x.receive, true)) && sent;
  };
  if (has_twin(x.send) || has_twin(x.receive))
    g_process.engine.wait_for_both(done);
  else
    g_process.engine.wait_for(done);
  if (x.send != nullptr) {
    // A send fails only where the library has carried it, and said so.
    const int rc = requests.finish(x.send, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS && x.receive != nullptr) requests.finish(x.receive, status);
    if (rc != MPI_SUCCESS) return rc;
  }
  if (x.receive != nullptr) return complete_now(x.receive, mine(x.receive).comm->comm, status);
  set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
  return received(MPI_SUCCESS, status);
}

// Some libraries put a few bytes before packed data.
constexpr uint64_t kPackHeader = 1024;

uint64_t pack_by_library(const Side& out, char* to, uint64_t room, MPI_Comm comm) {
  MPI_Count position = 0;
  stand_in::pack(out.buf, out.count, out.type, to, static_cast<MPI_Count>(room), &position, comm);
  return static_cast<uint64_t>(position);
}

// Starts an exchange whose receive overwrites the buffer that is sent: sends a packed copy.
Resolved<Exchange> start_replace(const Side& out, const Side& in, MPI_Comm comm) {
  const auto start = [&](const Target& t) -> Resolved<Exchange> {
    const bool elsewhere = is_elsewhere(t.comm, out.peer);
    if (t.type->opaque && !elsewhere) return start_exchange(out, in, comm);  // packed when the send is made
    const uint64_t bytes = static_cast<uint64_t>(out.count) * t.type->size;
    PackedCopy copy{static_cast<char*>(malloc(bytes + kPackHeader)), bytes};
    if (copy.data == nullptr) return Unresolved::failed(no_memory(t));
    // Not by the library where it can be helped: MPI_Pack of MPICH 4.0.2 leaves out the end of a contiguous
    // type from the 513th on that exists at a time (264 of 265 bytes).
    if (elsewhere && (t.type->opaque || !formats_agree()))
      copy.bytes = pack_by_library(out, copy.data, bytes + kPackHeader, comm);
    else
      layout::pack(copy.data, {static_cast<char*>(out.buf), static_cast<uint64_t>(out.count), t.type->layout},
                   0, bytes);
    const Resolved<Exchange> x = start_exchange(out, in, comm, &copy);
    free(copy.data);  // what no request has taken
    return x;
  };
  return g_process.targets.buffer(out.buf, out.count, out.type, 0, comm).and_then(start);
}

// One request for both halves of a non-blocking exchange.
int pair_request(const Exchange& x, MPI_Comm comm, MPI_Request* request) {
  if (x.send == nullptr || x.receive == nullptr) {
    if (x.send != nullptr) mine(x.send).from_nobody = 1;
    *request = g_process.requests.handle_for(x.send != nullptr ? x.send : x.receive);
    return MPI_SUCCESS;
  }
  Request* pair = g_process.engine.take_request();
  if (pair == nullptr) return raise(comm, MPI_ERR_NO_MEM);
  pair->kind = RequestKind::pair;
  pair->part[0] = x.receive;
  pair->part[1] = x.send;
  if (has_twin(x.send) || has_twin(x.receive)) mine(pair).twin = Twin::parts;
  mine(pair).comm = mine(x.receive).comm;
  CommTable::retain(mine(pair).comm);
  pair->state.store(RequestState::pending, std::memory_order_relaxed);
  *request = g_process.requests.handle_for(pair);
  return MPI_SUCCESS;
}

// A non-blocking exchange with nobody on either side: done at once. Not the library's, if the arguments are
// valid: up to 4.0.2 MPICH hands rank -1 down to its network (its issue 6004), which waits for ever in
// MPI_Wait where there is one rank, and ends by SIGSEGV in the call where there are several.
int exchange_with_nobody(const Side& out, const Side& in, MPI_Comm comm, MPI_Request* request, Pass pass) {
  if (out.peer != MPI_PROC_NULL || in.peer != MPI_PROC_NULL || request == nullptr) return pass();
  const auto look_at_receive = [&](const Target& send) {
    return g_process.targets.buffer(in.buf, in.count, in.type, in.tag, comm).and_then([&](const Target&) {
      return Resolved<Target>(send);
    });
  };
  return g_process.targets.buffer(out.buf, out.count, out.type, out.tag, comm)
      .and_then(look_at_receive)
      .answer(pass, [&](const Target& send) -> int {
        Request* r = g_process.requests.make_send(send, out.buf, 0, out.tag);
        if (r == nullptr) return no_memory(send);
        mine(r).from_nobody = 1;
        r->state.store(RequestState::done, std::memory_order_relaxed);
        *request = g_process.requests.handle_for(r);
        return MPI_SUCCESS;
      });
}

Side side(const void* buf, MPI_Count count, MPI_Datatype type, int peer, int tag, Wait wait = Wait::later) {
  return {const_cast<void*>(buf), count, type, peer, tag, wait};
}

}  // namespace

int send(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, SendMode mode,
         Pass pass) {
  const auto by_library = [&] {
    return g_process.remote.send(buf, count, type, dest, tag, comm, mode, pass);
  };
  return g_process.targets.to(buf, count, type, dest, tag, comm)
      .answer(by_library, [&](const Target& t) -> int {
        if (is_small(t, count, mode) && try_small(t, buf, count, tag)) return MPI_SUCCESS;
        Request* r = g_process.requests.make_send(t, buf, count, tag);
        if (r == nullptr) return no_memory(t);
        r->waits = 1;
        const int rc = g_process.requests.launch_send(r, mode);
        return rc == MPI_SUCCESS ? complete_now(r, comm, MPI_STATUS_IGNORE) : rc;
      });
}

int recv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
         MPI_Status* status, Pass pass) {
  const auto by_library = [&] {
    return g_process.remote.recv(buf, count, type, source, tag, comm, status, pass);
  };
  return g_process.targets.from(buf, count, type, source, tag, comm).answer(by_library, [&](const Target& t) {
    const bool both_sides = source == MPI_ANY_SOURCE && t.comm->mixed;
    Request* r = g_process.requests.make_receive(t, buf, count, tag, both_sides ? Hold::yes : Hold::no);
    if (r == nullptr) return no_memory(t);
    if (both_sides) {
      const int rc = g_process.requests.launch_receive(r, buf, count, type, tag);
      return rc == MPI_SUCCESS ? received(complete_now(r, comm, status), status) : rc;
    }
    return received(receive_now(r, t.type, comm, status), status);
  });
}

int isend(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
          MPI_Request* request, SendMode mode, Pass pass) {
  if (request == nullptr) return pass();
  const auto by_library = [&] {
    return g_process.remote.isend(buf, count, type, dest, tag, comm, request, mode, pass);
  };
  return g_process.targets.to(buf, count, type, dest, tag, comm)
      .answer(by_library, [&](const Target& t) -> int {
        if (is_small(t, count, mode) && try_small(t, buf, count, tag)) {
          *request = g_process.requests.handle_of_sent();
          return MPI_SUCCESS;
        }
        Request* r = g_process.requests.make_send(t, buf, count, tag);
        if (r == nullptr) return no_memory(t);
        const int rc = g_process.requests.launch_send(r, mode);
        if (rc == MPI_SUCCESS) *request = g_process.requests.handle_for(r);
        return rc;
      });
}

int irecv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  const auto by_library = [&] {
    return g_process.remote.irecv(buf, count, type, source, tag, comm, request, pass);
  };
  return g_process.targets.from(buf, count, type, source, tag, comm).answer(by_library, [&](const Target& t) {
    Request* r = g_process.requests.make_receive(t, buf, count, tag);
    if (r == nullptr) return no_memory(t);
    const int rc = g_process.requests.launch_receive(r, buf, count, type, tag);
    if (rc == MPI_SUCCESS) *request = g_process.requests.handle_for(r);
    return rc;
  });
}

int sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
             MPI_Comm comm, MPI_Status* status, Pass pass) {
  const auto by_library = [&] {
    return g_process.remote.sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                                     recvtype, source, recvtag, comm, status, pass);
  };
  const Side out = side(sendbuf, sendcount, sendtype, dest, sendtag, Wait::at_once);
  const Side in = side(recvbuf, recvcount, recvtype, source, recvtag);
  const auto both_halves = [&] {
    return start_exchange(out, in, comm).answer(by_library, [&](const Exchange& x) {
      return finish_exchange(x, status);
    });
  };
  return send_small_first(out, in, comm).answer(both_halves, [&](const Rest& rest) {
    return receive_now(rest.receive, rest.type, comm, status);
  });
}

int sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                     int recvtag, MPI_Comm comm, MPI_Status* status, Pass pass) {
  // The one that packs reads the buffer before the other one writes to it, whichever of the two does.
  const auto by_library = [&] {
    return g_process.remote.sendrecv(buf, count, type, dest, sendtag, buf, count, type, source, recvtag, comm,
                                     status, pass);
  };
  return start_replace(side(buf, count, type, dest, sendtag, Wait::at_once),
                       side(buf, count, type, source, recvtag), comm)
      .answer(by_library, [&](const Exchange& x) {
        const bool empty = x.receive != nullptr && count == 0;
        return replaced(finish_exchange(x, status), empty, status);
      });
}

int isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
              MPI_Comm comm, MPI_Request* request, Pass pass) {
  const Side out = side(sendbuf, sendcount, sendtype, dest, sendtag);
  const Side in = side(recvbuf, recvcount, recvtype, source, recvtag);
  return start_exchange(out, in, comm)
      .answer([&] { return exchange_with_nobody(out, in, comm, request, pass); },
              [&](const Exchange& x) { return pair_request(x, comm, request); });
}

int isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                      int recvtag, MPI_Comm comm, MPI_Request* request, Pass pass) {
  const Side out = side(buf, count, type, dest, sendtag), in = side(buf, count, type, source, recvtag);
  return start_replace(out, in, comm)
      .answer([&] { return exchange_with_nobody(out, in, comm, request, pass); },
              [&](const Exchange& x) { return pair_request(x, comm, request); });
}

// ---- persistent

int send_init(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request, SendMode mode, Pass pass) {
  if (request == nullptr) return pass();
  const auto by_library = [&] {
    return g_process.remote.send_init(buf, count, type, dest, tag, comm, request, mode, pass);
  };
  return g_process.targets.to(buf, count, type, dest, tag, comm)
      .answer(by_library, [&](const Target& t) -> int {
        Request* r = g_process.requests.make_send(t, buf, count, tag);
        if (r == nullptr) return no_memory(t);
        mine(r).persistent = 1;
        mine(r).mode = mode;
        *request = g_process.requests.handle_for(r);
        return MPI_SUCCESS;
      });
}

int recv_init(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  const auto by_library = [&] {
    return g_process.remote.recv_init(buf, count, type, source, tag, comm, request, pass);
  };
  return g_process.targets.from(buf, count, type, source, tag, comm)
      .answer(by_library, [&](const Target& t) -> int {
        Request* r = g_process.requests.make_receive(t, buf, count, tag);
        if (r == nullptr) return no_memory(t);
        if (source == MPI_ANY_SOURCE && t.comm->mixed &&
            !g_process.requests.keep_arguments(r, buf, count, type)) {
          g_process.requests.discard(r);
          return no_memory(t);
        }
        mine(r).persistent = 1;
        *request = g_process.requests.handle_for(r);
        return MPI_SUCCESS;
      });
}

int start(MPI_Request* request, Pass pass) {
  Request* r = request != nullptr ? own(*request) : nullptr;
  if (r == nullptr) return pass();
  if (r->kind == RequestKind::carried)
    return mine(r).persistent != 0 ? g_process.remote.start(r) : raise(MPI_COMM_NULL, MPI_ERR_REQUEST);
  if (!is_inactive(r))
    return raise(mine(r).comm != nullptr ? mine(r).comm->comm : MPI_COMM_NULL, MPI_ERR_REQUEST);
  return g_process.requests.launch_persistent(r);
}

int startall(int count, MPI_Request requests[], Pass pass) {
  bool any = false;
  for (int i = 0; i < count && requests != nullptr; i++) any = any || own(requests[i]) != nullptr;
  if (!any) return pass();
  for (int i = 0; i < count; i++) {
    auto by_library = [&] { return pmpi().Start(&requests[i]); };
    const int rc = start(&requests[i], by_library);
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

// ---- buffered mode

namespace {

// Ours never lie in the user's buffer: from the moment that he may use it anew, none counts against it. That
// is settled before the library's call: another thread may attach the next buffer as soon as it is done.
int release(AttachedBuffers& attached, uint64_t* part, Pass pass) {
  const uint64_t bytes = attached.release(part);
  const int rc = pass();
  if (rc != MPI_SUCCESS && bytes != 0) attached.attach(part, bytes);
  return rc;
}

// What a buffer contributes.
uint64_t attached_bytes(const void* buffer, MPI_Count bytes) {
#if defined(MPI_BUFFER_AUTOMATIC)
  const bool automatic = buffer == MPI_BUFFER_AUTOMATIC;
#elif defined(MPICH)
  const bool automatic = buffer == reinterpret_cast<void*>(-2);  // since MPICH 4.2
#else
  const bool automatic = buffer == nullptr && bytes < 0;  // never
#endif
  return automatic ? uint64_t{1} << 62 : static_cast<uint64_t>(bytes);
}

}  // namespace

int buffer_attach(void* buffer, MPI_Count bytes, Pass pass) {
  const int rc = pass();
  AttachedBuffers& attached = g_process.attached;
  if (rc == MPI_SUCCESS) attached.attach(attached.process_part(), attached_bytes(buffer, bytes));
  return rc;
}

int buffer_detach(void*, void*, bool, Pass pass) {
  // The call returns when the messages have left the user's buffer (MPI-4.0, 3.6). It waits for the library's
  // only: two ranks that both send, detach and then receive must not wait for each other.
  return release(g_process.attached, g_process.attached.process_part(), pass);
}

int buffer_flush(Pass pass) {
  return release(g_process.attached, nullptr, pass);
}

int comm_attach_buffer(MPI_Comm comm, void* buffer, MPI_Count bytes, Pass pass) {
  const int rc = pass();
  CommInfo* c = rc == MPI_SUCCESS ? g_process.comms.find(comm) : nullptr;
  if (c != nullptr) g_process.attached.attach(&c->attached_bytes, attached_bytes(buffer, bytes));
  return rc;
}

int comm_detach_buffer(MPI_Comm comm, Pass pass) {
  CommInfo* c = g_process.comms.find(comm);
  return c != nullptr ? release(g_process.attached, &c->attached_bytes, pass) : pass();
}

}  // namespace tasuki::shim::delegate
