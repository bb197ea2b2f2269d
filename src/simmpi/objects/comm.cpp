#include "simmpi/objects/comm.h"

#include <algorithm>

#include "simmpi/objects/datatype.h"
#include "simmpi/objects/mpi_state.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93u;
  return h ^ h >> 29;
}

// Handles below are the ABI's own constants.
constexpr uintptr_t kFirstPointer = 0x1000;

template <typename T, typename Handle>
T* object(Handle handle) {
  if (reinterpret_cast<uintptr_t>(handle) < kFirstPointer) return nullptr;
  T* p = reinterpret_cast<T*>(handle);
  return p->magic == T::kMagic ? p : nullptr;
}

}  // namespace

Members::Members(std::vector<uint32_t> list) : size_(static_cast<uint32_t>(list.size())) {
  if (size_ > 0) first_ = list[0];
  if (size_ > 1) step_ = int64_t{list[1]} - list[0];
  bool regular = step_ != 0 || size_ < 2;
  for (uint32_t i = 0; regular && i < size_; i++) regular = list[i] == first_ + step_ * i;
  if (regular) return;
  list_ = std::move(list);
  sorted_.reserve(size_);
  for (uint32_t i = 0; i < size_; i++) sorted_.emplace_back(list_[i], i);
  std::sort(sorted_.begin(), sorted_.end());
}

MembersPtr Members::range(uint32_t size) {
  auto m = std::make_shared<Members>();
  m->size_ = size;
  return m;
}

int Members::find(uint32_t world) const {
  if (!list_.empty()) {
    const auto i = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair<uint32_t, uint32_t>{world, 0});
    return i != sorted_.end() && i->first == world ? static_cast<int>(i->second) : MPI_UNDEFINED;
  }
  const int64_t distance = int64_t{world} - first_;
  if (size_ == 0 || distance % step_ != 0) return MPI_UNDEFINED;
  const int64_t i = distance / step_;
  return i >= 0 && i < size_ ? static_cast<int>(i) : MPI_UNDEFINED;
}

uint64_t Comm::child_context(uint64_t salt) {
  return mix(mix(context, ++children), salt);
}

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

void retain(Comm* comm) {
  comm->references++;
}

void release(Comm* comm) {
  if (--comm->references != 0 || comm->predefined) return;
  comm->magic = 0;
  delete comm;
}

Group* group_of(MPI_Group group) {
  static Group empty{Group::kMagic, Members::range(0)};
  if (group == MPI_GROUP_EMPTY) return &empty;
  return object<Group>(group);
}

MPI_Group new_group(MembersPtr members) {
  if (members->size() == 0) return MPI_GROUP_EMPTY;
  return reinterpret_cast<MPI_Group>(new Group{Group::kMagic, std::move(members)});
}

Request* request_of(MPI_Request request) {
  return object<Request>(request);
}

Request* new_request(Request::Kind kind) {
  auto* r = new Request;
  r->kind = kind;
  r->rank = running_rank();
  r->requested = running_task()->clock;
  return r;
}

void free_request(Request* r) {
  if (r->comm != nullptr) release(r->comm);
  if (r->type != nullptr) release(r->type);
  delete[] r->buffered;
  r->magic = 0;
  delete r;
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
