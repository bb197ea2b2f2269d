// MPI_Bcast and MPI_Barrier between tasks of one space. All ranks must come to the same decision from what is
// equal on all of them: the communicator, and of a broadcast the root and the bytes that the type signature
// holds. How a rank's own datatype is built plays no part: what cannot be decoded is packed and unpacked by
// the library.
#include "generated/pmpi.h"
#include "shim/calls/collective_buffers.h"
#include "shim/hosts/span_collectives.h"

namespace tasuki::shim::delegate {
namespace {

// A buffer that is broadcast from or to. An undecodable type has a request with the packed bytes.
struct Buffer {
  layout::Region region;
  Request* request;
};

bool receives(const CommInfo* c, int root) {
  return c->rank != root;
}

int no_memory(MPI_Comm comm) {
  return raise(comm, MPI_ERR_NO_MEM);
}

// Sends or receives; returns an error code, raised.
int run(const Target& t, const Buffer& b, int root) {
  Process& p = g_process;
  const CommInfo* c = t.comm;
  Stats& s = p.engine.stats();
  p.engine.count_call();
  s.broadcasts++;
  s.broadcast_bytes += layout::bytes(b.region);
  const Broadcaster::Group group = member(*c);
  if (!receives(c, root)) return p.broadcaster.send(group, b.region) ? MPI_SUCCESS : no_memory(c->comm);
  uint64_t sent = 0;
  if (!p.broadcaster.receive(group, root, b.region, &sent)) return no_memory(c->comm);
  const uint64_t room = layout::bytes(b.region);
  if (b.request != nullptr) {
    b.request->status_bytes = sent < room ? sent : room;
    b.request->state.store(RequestState::done, std::memory_order_relaxed);
  }
  if (sent > room) return raise(c->comm, MPI_ERR_TRUNCATE);
#if !defined(OPEN_MPI)
  if (sent < room) return raise(c->comm, MPI_ERR_OTHER);  // MPICH's word for counts that do not agree
#endif
  return MPI_SUCCESS;
}

// On a communicator that is not one host's. All ranks must come to the same decision from what is equal on
// all of them.
int span_bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, Pass pass) {
  Process& p = g_process;
  if (count <= 0 || comm == MPI_COMM_NULL || buffer == MPI_IN_PLACE || root < 0) return pass();
  return p.types.find(type, comm).answer(pass, [&](TypeInfo* t) {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(count), t->size, &bytes) || bytes == 0) return pass();
    return p.spans.get_for(comm, bytes).answer(pass, [&](Span* s) {
      if (root >= s->count) return pass();
      const int rc = broadcast_spanning(p.broadcaster, s, p.spans.choices(), root, {buffer, count, type, t},
                                        nothing_found);
      return end_on_hosts(comm, rc);
    });
  });
}

// Between hosts (three ranks, MPICH: 8 to 512 bytes 0.6 to 0.9 times its speed, 2 to 8 KiB 1.2).
constexpr uint64_t kLeastBetweenHosts = 2 << 10;

int begin_bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, When when,
                Pass pass) {
  if (root < 0 || count <= 0 || buffer == MPI_IN_PLACE) return pass();
  return place_at_once(comm, when, {count, type}).answer(pass, [&](const Place& at) {
    if (at.count < 2 || at.count > kMostAtOnce || root >= at.count) return pass();
    return target(buffer, count, type, comm).answer(pass, [&](const Target& t) {
      const uint64_t bytes = static_cast<uint64_t>(count) * t.type->size;
      if (bytes == 0 || (at.comm == nullptr && bytes < kLeastBetweenHosts)) return pass();
      CollectiveCall call(at, when, 1, 1);
      CollectiveBuffer& used = at.rank != root ? call.receive() : call.send();
      used.add(t, buffer, count);
      return call.begin_only(
          [root, whole = &used[0]](message::Parts& parts) { return begin_broadcast(parts, root, *whole); });
    });
  });
}

int begin_barrier(MPI_Comm comm, When when, Pass pass) {
  CommInfo* c = meeting_place(comm, when);
  if (c == nullptr || c->peer_count < 2 || c->peer_count > kMostAtOnce) return pass();
  CollectiveCall call(place_in(c), when, 0, 0);
  return call.begin_only([](message::Parts& parts) { return message::begin_barrier(parts); });
}

}  // namespace

namespace {

// On a communicator that is not one host's.
int span_barrier(MPI_Comm comm, Pass pass) {
  Process& p = g_process;
  if (p.spans.members_of(comm) == 0) return pass();
  return p.spans.get_for(comm, 0).answer(pass, [&](Span* s) {
    return end_on_hosts(comm, barrier_spanning({p.engine, p.broadcaster}, s));
  });
}

}  // namespace

int barrier(MPI_Comm comm, When when, Pass pass) {
  if (when.later) return begin_barrier(comm, when, pass);
  if (is_left(message::Collective::barrier, comm, when)) return pass();
  CommInfo* c = g_process.comms.find(comm);
  if (c == nullptr || c->mixed) return span_barrier(comm, pass);
  if (c->barrier == nullptr) return pass();
  g_process.engine.stats().barriers++;
  enter_barrier(g_process.engine, *c->barrier, c->rank, c->peer_count, c->slots);
  return MPI_SUCCESS;
}

int bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, When when, Pass pass) {
  if (when.later) return begin_bcast(buffer, count, type, root, comm, when, pass);
  if (is_left(message::Collective::bcast, comm, when, {count, type})) return pass();
  CommInfo* c = g_process.comms.find(comm);
  if ((c == nullptr || c->mixed) && g_process.spans.on())
    return span_bcast(buffer, count, type, root, comm, pass);
  if (g_process.apart || c == nullptr || c->mixed || c->inter || c->peer_count < 2 || root < 0 ||
      root >= c->peer_count || count <= 0 || buffer == MPI_IN_PLACE)
    return pass();
  return g_process.targets.to(buffer, count, type, root, 0, comm).answer(pass, [&](const Target& t) {
    if (t.type->size == 0) return pass();
    if (!t.type->opaque) {
      TypeTable::retain(t.type);
      const int rc = run(t, {region_of(buffer, count, t.type), nullptr}, root);
      TypeTable::release(t.type);
      return rc;
    }
    Request* r = receives(c, root) ? g_process.requests.make_receive(t, buffer, count, 0)
                                   : g_process.requests.make_send(t, buffer, count, 0);
    if (r == nullptr) return no_memory(comm);
    int rc = run(t, {r->region, r}, root);
    if (rc == MPI_SUCCESS && receives(c, root))
      g_process.requests.finish(r, MPI_STATUS_IGNORE);
    else
      g_process.requests.discard(r);
    return rc;
  });
}

}  // namespace tasuki::shim::delegate
