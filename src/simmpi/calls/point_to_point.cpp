// Point-to-point communication and requests.
#include <algorithm>
#include <cstring>

#include "simmpi/calls/call_scope.h"
#include "simmpi/calls/collective_operations.h"
#include "simmpi/calls/user_requests.h"
#include "simmpi/objects/comm.h"
#include "simmpi/objects/datatype.h"
#include "simmpi/run/handles.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"
#include "simmpi_generated/calls.h"

namespace tasuki::simmpi {
namespace {

// A test that finds nothing takes at least this long (10 ns): a program that polls lets time pass on a
// machine whose calls cost nothing, too.
constexpr Time kLeastPoll = 10'000;

struct Message {
  static constexpr uint32_t kMagic = 0x4d455353;
  uint32_t magic = kMagic;
  Packet* packet = nullptr;
};

void poll() {
  if (running_rank()->simulation.machine.call_overhead < kLeastPoll) spend(kLeastPoll);
  settle();
}

struct Arguments {
  const void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  int peer, tag;
  MPI_Comm comm;
};

int check(const Arguments& a, bool receive) {
  const Comm* c = comm_of(a.comm);
  if (c == nullptr) return MPI_ERR_COMM;
  if (a.count < 0) return MPI_ERR_COUNT;
  if (type_of(a.type) == nullptr) return MPI_ERR_TYPE;
  if (a.peer != MPI_PROC_NULL && !(receive && a.peer == MPI_ANY_SOURCE) &&
      (a.peer < 0 || a.peer >= c->peers().size()))
    return MPI_ERR_RANK;
  if (a.tag < 0 && !(receive && a.tag == MPI_ANY_TAG)) return MPI_ERR_TAG;
  return MPI_SUCCESS;
}

// Of the user; not yet begun.
Request* prepare(Request::Kind kind, const Arguments& a, SendMode mode = SendMode::standard) {
  Comm* c = comm_of(a.comm);
  Datatype* t = type_of(a.type);
  Request* r = new_request(kind);
  r->mode = mode;
  r->comm = c;
  retain(c);
  r->type = t;
  retain(t);
  r->region = {static_cast<char*>(const_cast<void*>(a.buffer)), static_cast<uint64_t>(a.count), t->layout};
  r->bytes = layout::bytes(r->region);
  r->peer = a.peer;
  if (a.peer >= 0) r->peer_world = c->peers().world(a.peer);
  r->tag = a.tag;
  r->self = c->self;
  r->context = c->context;
  r->nic = r->rank->next_nic;
  r->gap = r->rank->next_gap;
  return r;
}

// Copies the message away; the copy sends itself. MPI_ERR_BUFFER: there is no room.
int send_buffered(Request* r) {
  MpiState& s = mpi_state();
  const int64_t need = static_cast<int64_t>(r->bytes) + MPI_BSEND_OVERHEAD;
  if (s.buffer != MPI_BUFFER_AUTOMATIC && s.buffer_used + need > s.buffer_size) return MPI_ERR_BUFFER;
  auto* copy = new Request(*r);
  if (copy->comm != nullptr) retain(copy->comm);
  copy->type = nullptr;
  copy->persistent = false;
  copy->mode = SendMode::standard;
  copy->buffered = new char[std::max<uint64_t>(1, r->bytes)];
  layout::pack(copy->buffered, r->region, 0, r->bytes);
  copy->region = {copy->buffered, r->bytes, layout::byte_layout()};
  s.buffer_used += need;
  s.buffered.push_back(copy);
  copy->on_complete = [copy, need] {
    MpiState& state = *copy->rank->mpi;
    state.buffer_used -= need;
    std::erase(state.buffered, copy);
  };
  copy->freed = true;
  copy->rank->start_send(copy);
  return MPI_SUCCESS;
}

// Begins what has been prepared.
int begin(Request* r) {
  settle();
  r->requested = running_task()->clock;
  switch (r->kind) {
    case Request::Kind::send:
      if (r->mode == SendMode::buffered && r->peer != MPI_PROC_NULL) {
        const int code = send_buffered(r);
        if (code != MPI_SUCCESS) return code;
        r->complete = true;
      } else {
        r->rank->start_send(r);
      }
      return MPI_SUCCESS;
    case Request::Kind::receive:
      r->rank->start_receive(r);
      return MPI_SUCCESS;
    case Request::Kind::operation:
      start_operation(r);
      return MPI_SUCCESS;
    case Request::Kind::generalized:
      return MPI_SUCCESS;
  }
  return MPI_SUCCESS;
}

int start_one(Request::Kind kind, const Arguments& a, SendMode mode, MPI_Request* request) {
  const int code = check(a, kind == Request::Kind::receive);
  if (code != MPI_SUCCESS) return code;
  Request* r = prepare(kind, a, mode);
  note_call(r->comm, a.peer, a.tag, r->bytes, kind == Request::Kind::send ? "to" : "from");
  const int error = begin(r);
  if (error != MPI_SUCCESS) {
    free_request(r);
    return error;
  }
  *request = handle(r);
  return MPI_SUCCESS;
}

int prepare_persistent(Request::Kind kind, const Arguments& a, SendMode mode, MPI_Request* request) {
  const int code = check(a, kind == Request::Kind::receive);
  if (code != MPI_SUCCESS) return code;
  Request* r = prepare(kind, a, mode);
  r->persistent = true;
  r->active = false;
  *request = handle(r);
  return MPI_SUCCESS;
}

int run_one(Request::Kind kind, const Arguments& a, SendMode mode, MPI_Status* status) {
  MPI_Request request;
  const int code = start_one(kind, a, mode, &request);
  if (code != MPI_SUCCESS) return code;
  Request* r = request_of(request);
  wait_all(&r, 1);
  return finish_user(&request, status);
}

}  // namespace

void set_status(MPI_Status* status, const Outcome& o) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = o.source;
  status->MPI_TAG = o.tag;
  status->MPI_ERROR = o.error;
  status->MPI_internal[0] = static_cast<int>(o.bytes & 0xffffffff);
  status->MPI_internal[1] = static_cast<int>(o.bytes >> 32);
  status->MPI_internal[2] = o.cancelled;
}

namespace {

uint64_t bytes_of(const MPI_Status& s) {
  return static_cast<uint32_t>(s.MPI_internal[0]) |
         static_cast<uint64_t>(static_cast<uint32_t>(s.MPI_internal[1])) << 32;
}

}  // namespace

// Of a request that is complete, null or inactive.
int finish_user(MPI_Request* request, MPI_Status* status, bool in_array) {
  Request* r = request_of(*request);
  if (r == nullptr || !r->active) {
    set_status(status, Outcome());
    return MPI_SUCCESS;
  }
  if (r->kind == Request::Kind::generalized) {
    MPI_Status own{};
    int code = r->query != nullptr ? r->query(r->extra, &own) : MPI_SUCCESS;
    if (status != MPI_STATUS_IGNORE) *status = own;
    if (r->free_function != nullptr) r->free_function(r->extra);
    free_request(r);
    *request = MPI_REQUEST_NULL;
    return code;
  }
  const int error = r->outcome.error;
  if (status != MPI_STATUS_IGNORE) {
    // MPI_ERROR is not touched by functions that return one status.
    const int before = status->MPI_ERROR;
    set_status(status, r->outcome);
    if (!in_array) status->MPI_ERROR = before;
  }
  if (r->persistent) {
    r->active = false;
    r->complete = false;
  } else {
    free_request(r);
    *request = MPI_REQUEST_NULL;
  }
  return error;
}

void start_operation(Request* r) {
  r->rank->start_task([r] {
    r->outcome.error = r->operation();
    r->rank->complete(r);
  });
}

namespace calls {

int Send(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return run_one(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::standard,
                 MPI_STATUS_IGNORE);
}
int Ssend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return run_one(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::synchronous,
                 MPI_STATUS_IGNORE);
}
int Bsend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return run_one(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::buffered,
                 MPI_STATUS_IGNORE);
}
int Rsend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return run_one(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::ready,
                 MPI_STATUS_IGNORE);
}
int Isend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
          MPI_Request* request) {
  return start_one(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::standard, request);
}
int Issend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return start_one(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::synchronous,
                   request);
}
int Ibsend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return start_one(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::buffered, request);
}
int Irsend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return start_one(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::ready, request);
}
int Send_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return prepare_persistent(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::standard,
                            request);
}
int Ssend_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return prepare_persistent(Request::Kind::send, {buf, count, datatype, dest, tag, comm},
                            SendMode::synchronous, request);
}
int Bsend_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return prepare_persistent(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::buffered,
                            request);
}
int Rsend_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return prepare_persistent(Request::Kind::send, {buf, count, datatype, dest, tag, comm}, SendMode::ready,
                            request);
}
int Recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
         MPI_Status* status) {
  return run_one(Request::Kind::receive, {buf, count, datatype, source, tag, comm}, SendMode::standard,
                 status);
}
int Irecv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
          MPI_Request* request) {
  return start_one(Request::Kind::receive, {buf, count, datatype, source, tag, comm}, SendMode::standard,
                   request);
}
int Recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return prepare_persistent(Request::Kind::receive, {buf, count, datatype, source, tag, comm},
                            SendMode::standard, request);
}

int Sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
             MPI_Comm comm, MPI_Status* status) {
  const Arguments send{sendbuf, sendcount, sendtype, dest, sendtag, comm};
  const Arguments receive{recvbuf, recvcount, recvtype, source, recvtag, comm};
  int code = check(send, false);
  if (code == MPI_SUCCESS) code = check(receive, true);
  if (code != MPI_SUCCESS) return code;
  MPI_Request requests[2];
  start_one(Request::Kind::receive, receive, SendMode::standard, &requests[0]);
  start_one(Request::Kind::send, send, SendMode::standard, &requests[1]);
  Request* both[2] = {request_of(requests[0]), request_of(requests[1])};
  note_call(both[0]->comm, source, recvtag, both[1]->bytes, "from");
  wait_all(both, 2);
  finish_user(&requests[1], MPI_STATUS_IGNORE);
  return finish_user(&requests[0], status);
}
int Sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                     int recvtag, MPI_Comm comm, MPI_Status* status) {
  Datatype* t = type_of(datatype);
  if (t == nullptr) return MPI_ERR_TYPE;
  if (count < 0) return MPI_ERR_COUNT;
  const layout::Region region{static_cast<char*>(buf), static_cast<uint64_t>(count), t->layout};
  const uint64_t n = layout::bytes(region);
  const std::unique_ptr<char[]> copy(new char[n + 1]);
  layout::pack(copy.get(), region, 0, n);
  return Sendrecv(copy.get(), static_cast<MPI_Count>(n), MPI_PACKED, dest, sendtag, buf, count, datatype,
                  source, recvtag, comm, status);
}

// ---- buffers of MPI_Bsend
int Buffer_attach(void* buffer, MPI_Count size) {
  MpiState& s = mpi_state();
  if (s.buffer != nullptr || buffer == nullptr) return MPI_ERR_BUFFER;
  s.buffer = buffer;
  s.buffer_size = size;
  return MPI_SUCCESS;
}
int Buffer_flush() {
  MpiState& s = mpi_state();
  while (!s.buffered.empty()) {
    settle();
    Request* r = s.buffered.front();
    // It frees itself when it is complete, unless somebody waits for it.
    wait_all(&r, 1);
    free_request(r);
  }
  return MPI_SUCCESS;
}
int Buffer_detach(void* buffer_addr, CountOut size) {
  Buffer_flush();
  MpiState& s = mpi_state();
  memcpy(buffer_addr, &s.buffer, sizeof s.buffer);
  size = s.buffer_size;
  s.buffer = nullptr;
  s.buffer_size = 0;
  return MPI_SUCCESS;
}

// ---- probing
int Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Comm* c = comm_of(comm);
  if (c == nullptr) return MPI_ERR_COMM;
  settle();
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    set_status(status, {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0, false});
    return MPI_SUCCESS;
  }
  const Packet* p = c->rank->find_arrived(c->context, source, tag);
  if (p == nullptr) {
    *flag = 0;
    poll();
    return MPI_SUCCESS;
  }
  set_status(status, {p->source, p->tag, MPI_SUCCESS, p->bytes, false});
  return MPI_SUCCESS;
}
int Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Comm* c = comm_of(comm);
  if (c == nullptr) return MPI_ERR_COMM;
  note_call(c, source, tag, 0, "from");
  settle();
  if (source != MPI_PROC_NULL)
    while (c->rank->find_arrived(c->context, source, tag) == nullptr) {
      c->rank->probing.push_back(running_task());
      suspend();
      std::erase(c->rank->probing, running_task());
    }
  int flag = 0;
  return Iprobe(source, tag, comm, &flag, status);
}
int Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  const int code = Iprobe(source, tag, comm, flag, status);
  if (code != MPI_SUCCESS || *flag == 0) return code;
  *message = MPI_MESSAGE_NO_PROC;
  if (source == MPI_PROC_NULL) return code;
  Comm* c = comm_of(comm);
  Packet* p = c->rank->find_arrived(c->context, source, tag);
  c->rank->take(p);
  *message = reinterpret_cast<MPI_Message>(new Message{Message::kMagic, p});
  return code;
}
int Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const int code = Probe(source, tag, comm, status);
  int flag = 0;
  return code != MPI_SUCCESS ? code : Improbe(source, tag, comm, &flag, message, status);
}
int Imrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request) {
  Datatype* t = type_of(datatype);
  if (t == nullptr) return MPI_ERR_TYPE;
  if (count < 0) return MPI_ERR_COUNT;
  settle();
  Request* r = prepare(Request::Kind::receive, {buf, count, datatype, MPI_PROC_NULL, 0, MPI_COMM_SELF});
  if (*message == MPI_MESSAGE_NO_PROC) {
    r->rank->start_receive(r);
  } else {
    auto* m = reinterpret_cast<Message*>(*message);
    if (*message == MPI_MESSAGE_NULL || m->magic != Message::kMagic) {
      free_request(r);
      return MPI_ERR_REQUEST;
    }
    r->peer = m->packet->source;
    r->rank->receive_taken(r, m->packet);
    m->magic = 0;
    delete m;
  }
  *message = MPI_MESSAGE_NULL;
  *request = handle(r);
  return MPI_SUCCESS;
}
int Mrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status) {
  MPI_Request request;
  const int code = Imrecv(buf, count, datatype, message, &request);
  return code != MPI_SUCCESS ? code : Wait(&request, status);
}

// ---- completion
int Wait(MPI_Request* request, MPI_Status* status) {
  Request* r = request_of(*request);
  if (r == nullptr && *request != MPI_REQUEST_NULL) return MPI_ERR_REQUEST;
  if (r != nullptr && r->active) {
    if (r->comm != nullptr)
      note_call(r->comm, r->peer, r->tag, r->bytes,
                r->kind == Request::Kind::send      ? "to"
                : r->kind == Request::Kind::receive ? "from"
                                                    : nullptr);
    wait_all(&r, 1);
  }
  return finish_user(request, status);
}
int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  settle();
  const Request* r = request_of(*request);
  if (r == nullptr && *request != MPI_REQUEST_NULL) return MPI_ERR_REQUEST;
  *flag = r == nullptr || !r->active || r->complete;
  if (*flag != 0) return finish_user(request, status);
  poll();
  return MPI_SUCCESS;
}

namespace {

// Active requests of an array, for waiting. Notes the first one that is not complete.
std::vector<Request*> active_of(int n, const MPI_Request* requests) {
  std::vector<Request*> active;
  bool noted = false;
  for (int i = 0; i < n; i++) {
    Request* r = request_of(requests[i]);
    if (r == nullptr || !r->active) continue;
    active.push_back(r);
    if (noted || r->complete || r->comm == nullptr) continue;
    noted = true;
    note_call(r->comm, r->peer, r->tag, r->bytes,
              r->kind == Request::Kind::send      ? "to"
              : r->kind == Request::Kind::receive ? "from"
                                                  : nullptr);
  }
  return active;
}

int finish_all(int n, MPI_Request* requests, MPI_Status* statuses) {
  int code = MPI_SUCCESS;
  for (int i = 0; i < n; i++)
    if (finish_user(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i], true) !=
        MPI_SUCCESS)
      code = MPI_ERR_IN_STATUS;
  return code;
}

bool finished(const MPI_Request& request) {
  const Request* r = request_of(request);
  return r != nullptr && r->active && r->complete;
}

int finish_first(int n, MPI_Request* requests, int* index, MPI_Status* status) {
  for (int i = 0; i < n; i++)
    if (finished(requests[i])) {
      *index = i;
      return finish_user(&requests[i], status);
    }
  *index = MPI_UNDEFINED;
  set_status(status, Outcome());
  return MPI_SUCCESS;
}

int finish_some(int n, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  int code = MPI_SUCCESS;
  *outcount = 0;
  for (int i = 0; i < n; i++) {
    if (!finished(requests[i])) continue;
    MPI_Status* s = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*outcount];
    if (finish_user(&requests[i], s, true) != MPI_SUCCESS) code = MPI_ERR_IN_STATUS;
    indices[(*outcount)++] = i;
  }
  return code;
}

}  // namespace

int Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  const auto active = active_of(count, array_of_requests);
  wait_all(active.data(), active.size());
  return finish_all(count, array_of_requests, array_of_statuses);
}
int Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  const auto active = active_of(count, array_of_requests);
  wait_any(active.data(), active.size());
  return finish_first(count, array_of_requests, indx, status);
}
int Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  const auto active = active_of(incount, array_of_requests);
  if (active.empty()) {
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  wait_any(active.data(), active.size());
  return finish_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}
int Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  settle();
  const auto active = active_of(count, array_of_requests);
  *flag = std::all_of(active.begin(), active.end(), [](const Request* r) { return r->complete; });
  if (*flag != 0) return finish_all(count, array_of_requests, array_of_statuses);
  poll();
  return MPI_SUCCESS;
}
int Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  settle();
  const auto active = active_of(count, array_of_requests);
  *flag = active.empty() ||
          std::any_of(active.begin(), active.end(), [](const Request* r) { return r->complete; });
  *indx = MPI_UNDEFINED;
  if (*flag != 0) return finish_first(count, array_of_requests, indx, status);
  poll();
  return MPI_SUCCESS;
}
int Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  settle();
  if (active_of(incount, array_of_requests).empty()) {
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  const int code = finish_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  if (*outcount == 0) poll();
  return code;
}
int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  settle();
  const Request* r = request_of(request);
  *flag = r == nullptr || !r->active || r->complete;
  if (*flag == 0)
    poll();
  else
    set_status(status, r == nullptr || !r->active ? Outcome() : r->outcome);
  return MPI_SUCCESS;
}
int Request_free(MPI_Request* request) {
  Request* r = request_of(*request);
  if (r == nullptr) return MPI_ERR_REQUEST;
  if (r->complete || !r->active) {
    free_request(r);
  } else {
    r->freed = true;
    r->persistent = false;
  }
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
int Start(MPI_Request* request) {
  Request* r = request_of(*request);
  if (r == nullptr || !r->persistent || r->active) return MPI_ERR_REQUEST;
  r->active = true;
  r->complete = false;
  r->outcome = Outcome();
  if (r->comm != nullptr)
    note_call(r->comm, r->peer, r->tag, r->bytes, r->kind == Request::Kind::send ? "to" : "from");
  return begin(r);
}
int Startall(int count, MPI_Request array_of_requests[]) {
  for (int i = 0; i < count; i++)
    if (const int code = Start(&array_of_requests[i]); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}
// Receives only; a send that has begun goes its way.
int Cancel(MPI_Request* request) {
  Request* r = request_of(*request);
  if (r == nullptr) return MPI_ERR_REQUEST;
  settle();
  if (r->kind == Request::Kind::receive) r->rank->cancel_receive(r);
  if (r->kind == Request::Kind::generalized && r->cancel_function != nullptr)
    return r->cancel_function(r->extra, r->complete);
  return MPI_SUCCESS;
}
int Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request) {
  Request* r = new_request(Request::Kind::generalized);
  r->query = query_fn;
  r->free_function = free_fn;
  r->cancel_function = cancel_fn;
  r->extra = extra_state;
  *request = handle(r);
  return MPI_SUCCESS;
}
int Grequest_complete(MPI_Request request) {
  Request* r = request_of(request);
  if (r == nullptr || r->kind != Request::Kind::generalized) return MPI_ERR_REQUEST;
  r->rank->complete(r);
  return MPI_SUCCESS;
}

// ---- statuses
int Get_count(const MPI_Status* status, MPI_Datatype datatype, CountOut count) {
  const Datatype* t = type_of(datatype);
  if (t == nullptr) return MPI_ERR_TYPE;
  const uint64_t n = bytes_of(*status), size = t->size();
  count = size == 0       ? (n == 0 ? 0 : MPI_UNDEFINED)
          : n % size == 0 ? static_cast<int64_t>(n / size)
                          : int64_t{MPI_UNDEFINED};
  return MPI_SUCCESS;
}
int Get_elements(const MPI_Status* status, MPI_Datatype datatype, CountOut count) {
  const Datatype* t = type_of(datatype);
  if (t == nullptr) return MPI_ERR_TYPE;
  const int64_t n = count_elements(*t, bytes_of(*status));
  count = n < 0 ? int64_t{MPI_UNDEFINED} : n;
  return MPI_SUCCESS;
}
int Get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  return Get_elements(status, datatype, count);
}
int Test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status->MPI_internal[2];
  return MPI_SUCCESS;
}
int Status_set_cancelled(MPI_Status* status, int flag) {
  status->MPI_internal[2] = flag;
  return MPI_SUCCESS;
}
int Status_set_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  const Datatype* t = type_of(datatype);
  if (t == nullptr) return MPI_ERR_TYPE;
  Outcome o{status->MPI_SOURCE, status->MPI_TAG, status->MPI_ERROR,
            static_cast<uint64_t>(count) * (t->element != 0 ? t->element : t->size()), false};
  set_status(status, o);
  return MPI_SUCCESS;
}
int Status_set_elements(MPI_Status* status, MPI_Datatype datatype, int count) {
  return Status_set_elements_x(status, datatype, count);
}
int Status_set_elements_c(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  return Status_set_elements_x(status, datatype, count);
}
int Status_get_error(const MPI_Status* status, int* error) {
  *error = status->MPI_ERROR;
  return MPI_SUCCESS;
}
int Status_get_source(const MPI_Status* status, int* source) {
  *source = status->MPI_SOURCE;
  return MPI_SUCCESS;
}
int Status_get_tag(const MPI_Status* status, int* tag) {
  *tag = status->MPI_TAG;
  return MPI_SUCCESS;
}
int Status_set_error(MPI_Status* status, int error) {
  status->MPI_ERROR = error;
  return MPI_SUCCESS;
}
int Status_set_source(MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return MPI_SUCCESS;
}
int Status_set_tag(MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace tasuki::simmpi
