// MPI_Probe, MPI_Mprobe and their kin.
#include "generated/pmpi.h"
#include "shim/objects/status.h"
#include "shim/verdict.h"

namespace tasuki::shim {
namespace {

struct Search {
  CommInfo* comm;
  int slot;
  int32_t tag;
};

Resolved<Search> search_for(int source, int tag, MPI_Comm comm) {
  CommInfo* c = g_process.comms.find(comm);
  if (c == nullptr || (tag != MPI_ANY_TAG && (tag < 0 || tag > g_process.tag_upper_bound)))
    return Unresolved::pass();
  if (source == MPI_ANY_SOURCE) return Search{c, kAnySource, tag_in(tag)};
  if (source < 0 || source >= c->peer_count) return Unresolved::pass();
  return Search{c, c->slots[source], tag_in(tag)};
}

// The valid MPI_Message that stands for a message: a message of the library to itself, which is never
// received by the user. It is made once and used again: MPICH over UCX crashes when threads make and receive
// such messages at once.
MPI_Message handle_for_message(Envelope* m, CommInfo* comm) {
  MPI_Message handle = MPI_MESSAGE_NULL;
  {
    Locked locked(g_process.message_lock);
    if (!g_process.spare_messages.empty()) {
      handle = handle_of<MPI_Message>(g_process.spare_messages.back());
      g_process.spare_messages.pop_back();
    } else {
      MPI_Request sent = MPI_REQUEST_NULL;
      const MPI_Comm quiet = g_process.quiet_comm;
      pmpi().Isend(nullptr, 0, MPI_BYTE, 0, 0, quiet, &sent);
      pmpi().Mprobe(0, 0, quiet, &handle, MPI_STATUS_IGNORE);
      // Waited for at the end only: a library may complete it when the message is received, not before (MPICH
      // does).
      g_process.sent_messages.push_back(key_of(sent));
    }
  }
  CommTable::retain(comm);
  g_process.messages.insert(key_of(handle), new Matched{m, comm});
  return handle;
}

// Takes our message from its handle, which is spare then.
Matched take_handle(MPI_Message* message) {
  Matched* entry = g_process.messages.erase(key_of(*message));
  const Matched matched = *entry;
  delete entry;
  {
    Locked locked(g_process.message_lock);
    g_process.spare_messages.push_back(key_of(*message));
  }
  *message = MPI_MESSAGE_NULL;
  return matched;
}

// Starts the receive of a matched message.
Resolved<Request*> receive_matched(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message,
                                   Matched matched) {
  const MPI_Comm comm = matched.comm->comm;
  const auto start = [&](const Target& t) -> Resolved<Request*> {
    Request* r = make_receive(t, buf, count, MPI_ANY_TAG);
    if (r == nullptr) return Unresolved::failed(raise(comm, MPI_ERR_NO_MEM));
    g_process.engine.receive_message(r, take_handle(message).envelope);
    CommTable::release(matched.comm);
    return r;
  };
  const auto receive = [&](TypeInfo*) {
    return receive_target(buf, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm).and_then(start);
  };
  if (count <= 0) return receive(nullptr);
  return g_process.types.find(type, blamed(comm)).and_then(receive);
}

Matched* find_message(MPI_Message* message) {
  return message == nullptr ? nullptr : g_process.messages.find(key_of(*message));
}

}  // namespace

void free_spare_messages() {
  for (uintptr_t key : g_process.spare_messages) {
    MPI_Message message = handle_of<MPI_Message>(key);
    pmpi().Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  }
  g_process.spare_messages.clear();
  for (uintptr_t key : g_process.sent_messages) {
    MPI_Request sent = handle_of<MPI_Request>(key);
    int done = 0;
    pmpi().Request_get_status(sent, &done, MPI_STATUS_IGNORE);  // not MPI_Test: see free_complete
    if (done != 0)
      free_complete(&sent);
    else
      pmpi().Request_free(&sent);  // the user never received the message that it stands for
  }
  g_process.sent_messages.clear();
}

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
    *message = handle_for_message(m, s.comm);
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
    *message = handle_for_message(m, s.comm);
    set_status(status, found.source_rank, found.tag, found.bytes, false);
    return MPI_SUCCESS;
  });
}

int mrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status,
          Pass pass) {
  const Matched* matched = find_message(message);
  if (matched == nullptr) return pass();
  return receive_matched(buf, count, type, message, *matched).answer(pass, [&](Request* r) {
    g_process.engine.wait(r);
    const MPI_Comm comm = mine(r).comm->comm;
    const int rc = finish(r, status, blamed(comm));
    return rc == MPI_SUCCESS ? rc : raise(blamed(comm), rc);
  });
}

int imrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request,
           Pass pass) {
  const Matched* matched = find_message(message);
  if (matched == nullptr || request == nullptr) return pass();
  return receive_matched(buf, count, type, message, *matched).answer(pass, [&](Request* r) {
    *request = handle_for(r);
    return MPI_SUCCESS;
  });
}

}  // namespace delegate
}  // namespace tasuki::shim
