#include "simmpi/run/handles.h"

#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {

MpiState::MpiState(Rank& rank) : world(new Comm), self(new Comm) {
  world->local = Members::range(rank.simulation.options.ranks);
  world->self = static_cast<int>(rank.number);
  world->context = 1;
  world->name = "MPI_COMM_WORLD";
  self->local = std::make_shared<Members>(std::vector<uint32_t>{rank.number});
  self->context = 2;
  self->name = "MPI_COMM_SELF";
  universe = static_cast<int>(rank.simulation.options.ranks);
  for (Comm* c : {world, self}) {
    c->rank = &rank;
    c->predefined = true;
  }
}

MpiState::~MpiState() {
  delete world;
  delete self;
}

MpiState& mpi_state() {
  return *running_rank()->mpi;
}

MPI_Comm handle(Comm* comm) {
  if (comm == nullptr) return MPI_COMM_NULL;
  const MpiState& s = mpi_state();
  return comm == s.world ? MPI_COMM_WORLD : comm == s.self ? MPI_COMM_SELF : reinterpret_cast<MPI_Comm>(comm);
}

Comm* comm_of(MPI_Comm comm) {
  if (comm == MPI_COMM_WORLD) return mpi_state().world;
  if (comm == MPI_COMM_SELF) return mpi_state().self;
  return object<Comm>(comm);
}

Comm* new_comm(MembersPtr local, uint64_t context, const Comm* like) {
  Comm* c = new Comm;
  c->rank = running_rank();
  c->context = context;
  c->self = local->find(c->rank->number);
  c->local = std::move(local);
  if (like != nullptr) c->errhandler = like->errhandler;
  return c;
}

Request* new_request(Request::Kind kind) {
  auto* r = new Request;
  r->kind = kind;
  r->rank = running_rank();
  r->requested = running_task()->clock;
  return r;
}

Buffer bytes_at(const void* p, uint64_t n) {
  return {{static_cast<char*>(const_cast<void*>(p)), n, layout::byte_layout()}, 0, n};
}

namespace {

Request* begin(Request::Kind kind, Comm* comm, uint64_t context, int peer, int tag, const Buffer& buffer,
               bool control) {
  Request* r = new_request(kind);
  r->internal = true;
  r->control = control;
  r->region = buffer.region;
  r->from = buffer.from;
  r->bytes = buffer.bytes;
  r->peer = peer;
  if (peer >= 0) r->peer_world = comm->peers().world(peer);
  r->tag = tag;
  r->self = comm->self;
  r->context = context;
  return r;
}

}  // namespace

Request* begin_send(Comm* comm, uint64_t context, int peer, int tag, const Buffer& buffer, bool control) {
  Request* r = begin(Request::Kind::send, comm, context, peer, tag, buffer, control);
  comm->rank->start_send(r);
  return r;
}

Request* begin_receive(Comm* comm, uint64_t context, int peer, int tag, const Buffer& buffer, bool control) {
  Request* r = begin(Request::Kind::receive, comm, context, peer, tag, buffer, control);
  comm->rank->start_receive(r);
  return r;
}

void finish(Request* r) {
  wait_all(&r, 1);
  free_request(r);
}

void finish(std::vector<Request*>* requests) {
  wait_all(requests->data(), requests->size());
  for (Request* r : *requests) free_request(r);
  requests->clear();
}

}  // namespace tasuki::simmpi
