// MPI_Probe, MPI_Mprobe and their kin.
#include "generated/pmpi.h"
#include "shim/calls/task_state.h"
#include "shim/objects/status.h"

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
  if (source < 0 || source >= c->peer_count || c->slots[source] == kElsewhere) return Unresolved::pass();
  return Search{c, c->slots[source], tag_in(tag)};
}

// From any source on a mixed communicator: the library is asked, too.
bool asks_library(const Search& s) {
  return s.slot == kAnySource && s.comm->mixed;
}

// Looks for a message here. Receives that are posted on both sides get theirs first.
bool found_here(const Search& s, Engine::Found* found) {
  g_process.requests.serve_twins();
  return g_process.engine.probe(s.comm->context, s.slot, s.tag, found);
}
Envelope* take_here(const Search& s, Engine::Found* found) {
  g_process.requests.serve_twins();
  return g_process.engine.take_message(s.comm->context, s.slot, s.tag, found);
}

// Looks for a message elsewhere: MPI_Iprobe of the library. What is found is remembered for the receive that
// follows; of several threads nobody knows which that is.
int found_elsewhere(const Search& s, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  MPI_Status own_status;
  if (status == MPI_STATUS_IGNORE) status = &own_status;
  const int rc = pmpi().Iprobe(MPI_ANY_SOURCE, tag, comm, flag, status);
  if (rc == MPI_SUCCESS && *flag != 0 && !g_process.threads) {
    s.comm->probed_source = status->MPI_SOURCE;
    s.comm->probed_tag = status->MPI_TAG;
  }
  return rc;
}

// Calls here() until it is true, and now and then elsewhere(), which may also fail.
template <typename Here, typename Elsewhere>
int wait_for_either(Here here, Elsewhere elsewhere) {
  constexpr uint32_t kElsewhereEvery = 8;
  int rc = MPI_SUCCESS;
  uint32_t looks = 0;
  g_process.engine.wait_for_both([&] {
    if (here()) return true;
    if (looks++ % kElsewhereEvery != 0) return false;
    int flag = 0;
    rc = elsewhere(&flag);
    return flag != 0 || rc != MPI_SUCCESS;
  });
  return rc;
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
  if (count <= 0 || g_process.types.usable(type) != nullptr) return receive(nullptr);
  return g_process.types.find(type, kRequestsBlameDefault ? default_comm() : comm).and_then(receive);
}

void set_probed(MPI_Status* status, const Engine::Found& found, bool sets_error) {
  set_status(status, found.source_rank, found.tag, found.bytes, false);
  set_error(status, sets_error, MPI_SUCCESS);
}

}  // namespace

namespace delegate {

int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status, Pass pass) {
  if (flag == nullptr) return pass();
  return search_for(source, tag, comm).answer(pass, [&](const Search& s) -> int {
    Engine::Found found;
    s.comm->probed_source = kNobody;
    *flag = found_here(s, &found) ? 1 : 0;
    if (*flag != 0) {
      set_probed(status, found, g_habits.sets_error.probed);
      return MPI_SUCCESS;
    }
    const int rc = asks_library(s) ? found_elsewhere(s, tag, comm, flag, status) : MPI_SUCCESS;
    if (*flag == 0) nothing_found();
    return rc;
  });
}

int probe(int source, int tag, MPI_Comm comm, MPI_Status* status, Pass pass) {
  return search_for(source, tag, comm).answer(pass, [&](const Search& s) {
    Engine::Found found;
    bool here = false;
    const auto look_here = [&] { return here = found_here(s, &found); };
    s.comm->probed_source = kNobody;
    int rc = MPI_SUCCESS;
    if (asks_library(s))
      rc = wait_for_either(look_here, [&](int* flag) { return found_elsewhere(s, tag, comm, flag, status); });
    else
      g_process.engine.wait_for(look_here);
    if (here) set_probed(status, found, g_habits.sets_error.probed);
    return rc;
  });
}

int improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status,
            Pass pass) {
  if (flag == nullptr || message == nullptr) return pass();
  return search_for(source, tag, comm).answer(pass, [&](const Search& s) -> int {
    Engine::Found found;
    Envelope* m = take_here(s, &found);
    *flag = m != nullptr ? 1 : 0;
    if (m == nullptr) {
      const int rc =
          asks_library(s) ? pmpi().Improbe(MPI_ANY_SOURCE, tag, comm, flag, message, status) : MPI_SUCCESS;
      if (*flag == 0) nothing_found();
      return rc;
    }
    *message = g_process.messages.handle_for(m, s.comm);
    set_probed(status, found, g_habits.sets_error.received);
    return MPI_SUCCESS;
  });
}

int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status, Pass pass) {
  if (message == nullptr) return pass();
  return search_for(source, tag, comm).answer(pass, [&](const Search& s) -> int {
    Engine::Found found;
    Envelope* m = nullptr;
    const auto look_here = [&] { return (m = take_here(s, &found)) != nullptr; };
    int rc = MPI_SUCCESS;
    if (asks_library(s))
      rc = wait_for_either(look_here, [&](int* flag) {
        return pmpi().Improbe(MPI_ANY_SOURCE, tag, comm, flag, message, status);
      });
    else
      g_process.engine.wait_for(look_here);
    if (m == nullptr) return rc;
    *message = g_process.messages.handle_for(m, s.comm);
    set_probed(status, found, g_habits.sets_error.received);
    return MPI_SUCCESS;
  });
}

int mrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status,
          Pass pass) {
  const Matched* matched = g_process.messages.find(message);
  if (matched == nullptr) return g_process.remote.mrecv(buf, count, type, message, status, pass);
  return receive_matched(buf, count, type, message, *matched).answer(pass, [&](Request* r) {
    g_process.engine.wait(r);
    const MPI_Comm comm = mine(r).comm->comm;
    const Blame blame{comm, false, true};
    const int rc = g_process.requests.finish(r, status, by_default(blame) ? MPI_COMM_WORLD : comm);
    set_error(status, g_habits.sets_error.received, rc);
    return rc == MPI_SUCCESS ? rc : raise(blame, rc);
  });
}

int imrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request,
           Pass pass) {
  const Matched* matched = g_process.messages.find(message);
  if (matched == nullptr || request == nullptr)
    return g_process.remote.imrecv(buf, count, type, message, request, pass);
  return receive_matched(buf, count, type, message, *matched).answer(pass, [&](Request* r) {
    mine(r).of_matched = 1;
    *request = g_process.requests.handle_for(r);
    return MPI_SUCCESS;
  });
}

}  // namespace delegate
}  // namespace tasuki::shim
