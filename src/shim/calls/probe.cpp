// MPI_Probe, MPI_Mprobe and their kin.
#include "generated/pmpi.h"
#include "shim/objects/status.h"
#include "shim/process.h"

namespace tasuki::shim {
namespace {

struct Search {
  CommInfo* comm;
  int slot;
  int32_t tag;
};

Resolved<Search> search_for(int source, int tag, MPI_Comm comm) {
  CommInfo* c = g_process.comms.find(comm);
  if (c == nullptr || (tag != MPI_ANY_TAG && (tag < 0 || tag > g_process.targets.tag_upper_bound())))
    return Unresolved::pass();
  if (source == MPI_ANY_SOURCE) return Search{c, kAnySource, tag_in(tag)};
  if (source < 0 || source >= c->peer_count) return Unresolved::pass();
  return Search{c, c->slots[source], tag_in(tag)};
}

// Starts the receive of a matched message.
Resolved<Request*> receive_matched(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message,
                                   Matched matched) {
  const MPI_Comm comm = matched.comm->comm;
  const auto start = [&](const Target& t) -> Resolved<Request*> {
    Request* r = g_process.requests.make_receive(t, buf, count, MPI_ANY_TAG);
    if (r == nullptr) return Unresolved::failed(raise(comm, MPI_ERR_NO_MEM));
    g_process.engine.receive_message(r, g_process.messages.take(message).envelope);
    CommTable::release(matched.comm);
    return r;
  };
  const auto receive = [&](TypeInfo*) {
    return g_process.targets.from(buf, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm).and_then(start);
  };
  if (count <= 0) return receive(nullptr);
  return g_process.types.find(type, blamed(comm)).and_then(receive);
}

}  // namespace

namespace delegate {

int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status, Pass pass) {
  if (flag == nullptr) return pass();
  return search_for(source, tag, comm).answer(pass, [&](const Search& s) {
    Engine::Found found;
    *flag = g_process.engine.probe(s.comm->context, s.slot, s.tag, &found) ? 1 : 0;
    if (*flag != 0)
      set_status(status, found.source_rank, found.tag, found.bytes, false);
    else
      nothing_found();
    return MPI_SUCCESS;
  });
}

int probe(int source, int tag, MPI_Comm comm, MPI_Status* status, Pass pass) {
  return search_for(source, tag, comm).answer(pass, [&](const Search& s) {
    Engine::Found found;
    Engine& engine = g_process.engine;
    engine.wait_for([&] { return engine.probe(s.comm->context, s.slot, s.tag, &found); });
    set_status(status, found.source_rank, found.tag, found.bytes, false);
    return MPI_SUCCESS;
  });
}

int improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status,
            Pass pass) {
  if (flag == nullptr || message == nullptr) return pass();
  return search_for(source, tag, comm).answer(pass, [&](const Search& s) {
    Engine::Found found;
    Envelope* m = g_process.engine.take_message(s.comm->context, s.slot, s.tag, &found);
    *flag = m != nullptr ? 1 : 0;
    if (m == nullptr) {
      nothing_found();
      return MPI_SUCCESS;
    }
    *message = g_process.messages.handle_for(m, s.comm);
    set_status(status, found.source_rank, found.tag, found.bytes, false);
    return MPI_SUCCESS;
  });
}

int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status, Pass pass) {
  if (message == nullptr) return pass();
  return search_for(source, tag, comm).answer(pass, [&](const Search& s) {
    Engine::Found found;
    Engine& engine = g_process.engine;
    Envelope* m = nullptr;
    engine.wait_for([&] {
      m = engine.take_message(s.comm->context, s.slot, s.tag, &found);
      return m != nullptr;
    });
    *message = g_process.messages.handle_for(m, s.comm);
    set_status(status, found.source_rank, found.tag, found.bytes, false);
    return MPI_SUCCESS;
  });
}

int mrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status,
          Pass pass) {
  const Matched* matched = g_process.messages.find(message);
  if (matched == nullptr) return pass();
  return receive_matched(buf, count, type, message, *matched).answer(pass, [&](Request* r) {
    g_process.engine.wait(r);
    const MPI_Comm comm = mine(r).comm->comm;
    const int rc = g_process.requests.finish(r, status, blamed(comm));
    return rc == MPI_SUCCESS ? rc : raise(blamed(comm), rc);
  });
}

int imrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request,
           Pass pass) {
  const Matched* matched = g_process.messages.find(message);
  if (matched == nullptr || request == nullptr) return pass();
  return receive_matched(buf, count, type, message, *matched).answer(pass, [&](Request* r) {
    *request = g_process.requests.handle_for(r);
    return MPI_SUCCESS;
  });
}

}  // namespace delegate
}  // namespace tasuki::shim
