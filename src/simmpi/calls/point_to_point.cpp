// Point-to-point communication.
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

struct Message {
  static constexpr uint32_t kMagic = 0x4d455353;
  uint32_t magic = kMagic;
  Packet* packet = nullptr;
};

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

}  // namespace

void start_operation(Request* r) {
  r->rank->start_task([r] {
    r->outcome.error = r->operation();
    r->rank->complete(r);
  });
}

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

namespace {

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

}  // namespace calls
}  // namespace tasuki::simmpi
