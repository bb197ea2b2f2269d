#include "shim/hosts/remote.h"

#include <climits>
#include <cstdlib>
#include <optional>

#include "generated/pmpi.h"
#include "shim/errors.h"
#include "shim/objects/blocks.h"
#include "shim/objects/landing.h"
#include "shim/objects/verdict.h"

namespace tasuki::shim {
namespace {

// From here on a pack is shared with idle tasks, as in pack.cpp.
constexpr uint64_t kShareFrom = 128 << 10;
// Longer messages would need as much memory again; the library sends them in pieces.
constexpr uint64_t kMost = 64 << 20;

// ---- When it pays
//
// Half round trip in us of DDTBench's patterns between two network namespaces (veth, one rank on each, 2
// cores in all, a busy machine: 5th percentile of 60), the library's calls and Tasuki's in turns. "send",
// "receive": only that side packs; "both" is what two sides under Tasuki get where neither leaves the message
// to the library.
//
// clang-format off
//   Open MPI 4.1.4          contiguous  library   send  receive   both
//   SPECFEM3D_oc      12900       18.4     38.5   37.1     28.7   19.5
//   NAS_LU_y          16320       18.9     41.2   30.8     19.4   21.3
//   NAS_MG_x          32768       31.6     98.6   87.3     50.9   40.9
//   WRF_y_vec         90804      122.8     91.1   88.9     93.1   93.5
//   WRF_x_sa         102648      130.7    143.3  131.9    130.5  118.1
//   NAS_MG_x         131072      147.2    253.2  347.1    260.6  286.2
//   WRF_y_vec        181608      182.5     93.1  116.9    108.1  114.3   (again, busier: 440 380 413 330 308)
//   LAMMPS_full      195968      114.1    191.1  112.0    193.7  126.0
//   NAS_MG_y         262144      247.9    182.8  130.6    133.5  119.7
//   MILC_su3_zd      393216      219.9    234.1  232.5    243.9  224.6
//
//   MPICH 4.0.2             contiguous  library   send  receive   both
//   NAS_LU_y          16320       11.4     25.0   13.7     22.1   12.7
//   NAS_MG_x          32768       36.4     53.0   32.8     53.1   44.1
//   WRF_y_vec         90804       92.8    173.7   86.1    174.5   98.5
//   MILC_su3_zd       98304       46.7     98.1   44.8    100.1   48.7
//   WRF_x_sa         102648       51.4    148.0   76.0    145.8   71.4
//   NAS_MG_x         131072       67.5    174.4  141.2    221.5  158.8
//   WRF_y_vec        181608      119.9    280.7  134.7    284.0  133.6
//   NAS_MG_y         262144       95.8    230.8  138.3    238.0  111.2
//   MILC_su3_zd      393216      154.6    364.6  224.4    404.2  173.6
//   NAS_MG_z        1048576      593.3   1507.0  928.2   1617.0  680.7   (this and the next: TASUKI_THREADS=0)
//   FFT2            2359296     1505.4   8525.6 4994.0  10010.5 4503.1
// clang-format on
//
// Below: 1.00 to 1.02 of the library's time where the wire is everything.
constexpr uint64_t kLeast = 1 << 10;
// Longer runs the library copies as fast, a piece at a time while others are on the wire. Of messages of
// several pieces the shorter ones, too: on a quiet machine (`tasuki bench typed --where hosts`, medians of 9)
// 1 MiB in runs of 256 bytes takes 236 us by Open MPI and 523 packed on both sides, by MPICH 545 and 680; of
// 64 bytes 252 and 505, 663 and 683; 16 KiB in runs of 8 bytes 12.8 and 10.1, 36.8 and 8.4.
constexpr uint64_t kLongRun = 8 << 10, kLongRunOfPieces = 128;
constexpr uint64_t kPieces = 64 << 10;
// Where every few bytes lie in a cache line of their own (NAS_MG_x) a pack is slower than the wire, so that
// the library's way, a piece at a time, hides more.
constexpr uint64_t kSparseRun = 8;

bool is_sparse(const layout::Region& r) {
  if (layout::typical_run(r.layout) > kSparseRun) return false;
  const uint64_t span = layout::extent(r.layout) > 0 && r.count > 1
                            ? r.count * static_cast<uint64_t>(layout::extent(r.layout))
                            : static_cast<uint64_t>(layout::true_extent(r.layout));
  return span / kLine >= layout::bytes(r) / kSparseRun;
}

#if defined(OPEN_MPI)
// From here on the packed bytes leave the second-level cache before they are sent or unpacked (FFT2: 1048576
// bytes, library 938, both 819; 2359296 bytes, 2094 and 2585). On a quiet machine it is sooner: see kLongRun.
constexpr uint64_t kCacheful = 1 << 20;
// The library's first message of several pieces; up to twice as much packing costs 6 % unless runs are tiny.
constexpr uint64_t kSparseFrom = 64 << 10;
constexpr uint64_t kTinyRun = 8;
#else
// MPICH over UCX: messages of this size it unpacks from where they arrive (MILC_su3_zd, 98304 bytes: 44.8 and
// packed 48.7; NAS_MG_x, 32768: 32.8 and 44.1).
constexpr uint64_t kUnpackedFrom = 32 << 10, kUnpackedTo = 128 << 10;
#endif

layout::Region dense(char* data, uint64_t bytes) {
  return {data, bytes, layout::byte_layout()};
}

// The bytes of a message that has arrived.
uint64_t arrived(const MPI_Status& status) {
  int n = 0;
  pmpi().Get_count(&status, MPI_PACKED, &n);
  return n > 0 ? static_cast<uint64_t>(n) : 0;
}

}  // namespace

bool Remote::pays(Direction direction, const layout::Region& r) {
  const uint64_t bytes = layout::bytes(r);
  const uint64_t run = layout::typical_run(r.layout);
  if (bytes < kLeast || run >= (bytes < kPieces ? kLongRun : kLongRunOfPieces)) return false;
#if defined(OPEN_MPI)
  static_cast<void>(direction);
  if (bytes >= kPieces && bytes < 2 * kPieces && run > kTinyRun) return false;
  return bytes < kCacheful && (bytes < kSparseFrom || !is_sparse(r));
#else
  if (direction == Direction::send) return true;
  return bytes < kUnpackedFrom || (bytes >= kUnpackedTo && !is_sparse(r));
#endif
}

// nullptr: the library does better, or there is no memory.
char* Remote::room_for(Direction direction, const layout::Region& r) const {
  const bool packs = policy_ == RemotePolicy::always || (policy_ == RemotePolicy::on && pays(direction, r));
  const uint64_t bytes = layout::bytes(r);
  return packs && bytes > 1 ? take_block(Landing::room(bytes)) : nullptr;
}

char* Remote::packed_for(const layout::Region& region) {
  char* start = nullptr;
  const uint64_t bytes = layout::bytes(region);
  if (bytes == 0 || bytes > kMost || layout::is_dense(region, &start)) return nullptr;
  return room_for(Direction::receive, region);
}

void Remote::move(const layout::Region& to, const layout::Region& from, uint64_t bytes) {
  engine_.copy(to, from, bytes, kShareFrom);
  __atomic_add_fetch(&bytes_, bytes, __ATOMIC_RELAXED);
}

// The user's typed buffer of one call, and the packed bytes that stand for it.
class Remote::Packed {
 public:
  // `peer` is the rank that the call names. After it either used() holds, or the library does better with the
  // user's own arguments, or error() is a code to return, raised already.
  Packed(Remote& remote, Direction direction, const void* buf, MPI_Count count, MPI_Datatype type, int peer,
         MPI_Comm comm);
  // To receive a message that is matched already. Types that are not known here are the library's.
  Packed(Remote& remote, void* buf, MPI_Count count, MPI_Datatype type);
  ~Packed() { give_back(); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  // What the MPI function returns: library(), the code of the error, or use() where the packed bytes are
  // used.
  template <typename Library, typename Use>
  int answer(Library&& library, Use&& use) const {
    if (error_ != MPI_SUCCESS) return error_;
    return used() ? use() : library();
  }
  bool used() const { return data_ != nullptr; }
  int error() const { return error_; }
  void* data() const { return data_; }
  int bytes() const { return static_cast<int>(bytes_); }

  void pack() const;
  // Unpacks what came, which may be less than was asked for. An error is raised on `comm`.
  int unpack(const MPI_Status& status, MPI_Comm comm) const;
  // A blocking send of the packed bytes.
  int send(int dest, int tag, MPI_Comm comm, SendMode mode) const;
  // The request takes everything over and gives it back when it is discarded.
  void move_to(Request* r);

 private:
  void use(Direction direction, const void* buf, MPI_Count count, TypeInfo* t);
  void give_back();

  Remote& remote_;
  TypeInfo* type_ = nullptr;
  layout::Region region_{};
  uint64_t bytes_ = 0;
  char* data_ = nullptr;
  int error_ = MPI_SUCCESS;
};

Remote::Packed::Packed(Remote& remote, Direction direction, const void* buf, MPI_Count count,
                       MPI_Datatype type, int peer, MPI_Comm comm)
    : remote_(remote) {
  if (remote.policy_ == RemotePolicy::off || count <= 0 || comm == MPI_COMM_NULL) return;
  if (peer < 0 && (peer != MPI_ANY_SOURCE || direction == Direction::send)) return;
  // Refused for another reason than where the peer is: the library says what is wrong.
  const CommInfo* c = remote.comms_.find(comm);
  if (c != nullptr && (peer < 0 || peer >= c->peer_count || c->slots[peer] != kElsewhere)) return;
  error_ = remote.types_.find(type, comm)
               .answer([] { return MPI_SUCCESS; },
                       [&](TypeInfo* t) {
                         use(direction, buf, count, t);
                         return MPI_SUCCESS;
                       });
}

Remote::Packed::Packed(Remote& remote, void* buf, MPI_Count count, MPI_Datatype type) : remote_(remote) {
  if (remote.policy_ == RemotePolicy::off || count <= 0) return;
  if (TypeInfo* t = remote.types_.known(type); t != nullptr) use(Direction::receive, buf, count, t);
}

void Remote::Packed::use(Direction direction, const void* buf, MPI_Count count, TypeInfo* t) {
  if (t->dense || t->opaque || t->size == 0) return;
  if (static_cast<uint64_t>(count) > kMost / t->size) return;
  bytes_ = static_cast<uint64_t>(count) * t->size;
  region_ = {static_cast<char*>(const_cast<void*>(buf)), static_cast<uint64_t>(count), t->layout};
  if ((data_ = remote_.room_for(direction, region_)) == nullptr) return;
  type_ = t;
  TypeTable::retain(t);
}

void Remote::Packed::pack() const {
  remote_.move(dense(data_, bytes_), region_, bytes_);
}

int Remote::Packed::unpack(const MPI_Status& status, MPI_Comm comm) const {
  const uint64_t n = arrived(status);
  if (n == 0 || n > bytes_) return MPI_SUCCESS;
  if (refuses_part_of_element(n, type_, remote_.types_)) return raise(comm, MPI_ERR_TRUNCATE);
  Landing::order(data_, bytes_, n);
  remote_.move(region_, dense(data_, n), n);
  return MPI_SUCCESS;
}

void Remote::Packed::give_back() {
  if (data_ == nullptr) return;
  give_block(data_);
  TypeTable::release(type_);
  data_ = nullptr;
}

int Remote::Packed::send(int dest, int tag, MPI_Comm comm, SendMode mode) const {
  const Pmpi& m = pmpi();
  auto* const call = by_mode(mode, m.Send, m.Ssend, m.Bsend, m.Rsend);
  return call(data(), bytes(), MPI_PACKED, dest, tag, comm);
}

void Remote::Packed::move_to(Request* r) {
  r->kind = RequestKind::carried;
  r->region = region_;
  mine(r).type = type_;
  mine(r).packed = data_;
  data_ = nullptr;
}

// Hands the user a request for the library's, or its error.
int Remote::carry(Packed& p, Request* r, MPI_Request library, int rc, MPI_Request* request) {
  if (rc != MPI_SUCCESS) {
    requests_.discard(r);
    return rc;
  }
  p.move_to(r);
  mine(r).library = key_of(library);
  *request = requests_.handle_for(r);
  return MPI_SUCCESS;
}

int Remote::unpack(Request* r, const MPI_Status& status) {
  if (mine(r).unpacks == 0) return MPI_SUCCESS;
  mine(r).unpacks = 0;
  int cancelled = 0;
  pmpi().Test_cancelled(&status, &cancelled);
  const uint64_t n = cancelled != 0 ? 0 : arrived(status);
  const uint64_t room = layout::bytes(r->region);
  if (n == 0 || n > room) return MPI_SUCCESS;
  if (refuses_part_of_element(n, mine(r).type, types_))
    return raise_of_request(mine(r).comm != nullptr ? mine(r).comm->comm : MPI_COMM_WORLD, MPI_ERR_TRUNCATE);
  Landing::order(mine(r).packed, room, n);
  move(r->region, dense(mine(r).packed, n), n);
  return MPI_SUCCESS;
}

// `receive` is the library's call, for bytes that land in the block.
template <typename Receive>
int Remote::receive(const Packed& p, MPI_Comm comm, MPI_Status* status, Receive receive) {
  MPI_Status own_status;
  if (status == MPI_STATUS_IGNORE) status = &own_status;
  const int rc = receive(Landing(static_cast<uint64_t>(p.bytes())), status);
  return rc == MPI_SUCCESS ? p.unpack(*status, comm) : rc;
}

// `begin` is the library's call.
template <typename Begin>
int Remote::start_send(Packed& p, MPI_Request* request, Pass pass, Life life, Begin begin) {
  Request* r = requests_.take();
  if (r == nullptr) return pass();
  mine(r).persistent = life == Life::persistent ? 1 : 0;
  MPI_Request begun = MPI_REQUEST_NULL;
  const int rc = begin(&begun);
  return carry(p, r, begun, rc, request);
}

// The same for bytes that land in the block.
template <typename Begin>
int Remote::start_receive(Packed& p, MPI_Request* request, Pass pass, Life life, Begin begin) {
  Request* r = requests_.take();
  if (r == nullptr) return pass();
  mine(r).persistent = mine(r).receives = life == Life::persistent ? 1 : 0;
  mine(r).unpacks = life == Life::once ? 1 : 0;  // else from its start on
  MPI_Request begun = MPI_REQUEST_NULL;
  const int rc = begin(Landing(static_cast<uint64_t>(p.bytes())), &begun);
  return carry(p, r, begun, rc, request);
}

int Remote::send(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                 SendMode mode, Pass pass) {
  const Packed p(*this, Direction::send, buf, count, type, dest, comm);
  return p.answer(pass, [&] {
    p.pack();
    return p.send(dest, tag, comm, mode);
  });
}

int Remote::recv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                 MPI_Status* status, Pass pass) {
  const Packed p(*this, Direction::receive, buf, count, type, source, comm);
  return p.answer(pass, [&] {
    return receive(p, comm, status, [&](const Landing& in, MPI_Status* s) {
      return pmpi().Recv(p.data(), in.count(), in.type(), source, tag, comm, s);
    });
  });
}

int Remote::sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                     void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                     MPI_Comm comm, MPI_Status* status, Pass pass) {
  if (sendcount > INT_MAX || recvcount > INT_MAX) return pass();
  const Packed out(*this, Direction::send, sendbuf, sendcount, sendtype, dest, comm);
  if (out.error() != MPI_SUCCESS) return out.error();
  const Packed in(*this, Direction::receive, recvbuf, recvcount, recvtype, source, comm);
  if (in.error() != MPI_SUCCESS) return in.error();
  if (!out.used() && !in.used()) return pass();
  if (out.used()) {
    out.pack();
    sendbuf = out.data();
    sendcount = out.bytes();
    sendtype = MPI_PACKED;
  }
  std::optional<Landing> landing;
  if (in.used()) {
    landing.emplace(static_cast<uint64_t>(in.bytes()));
    recvbuf = in.data();
    recvcount = landing->count();
    recvtype = landing->type();
  }
  MPI_Status own_status;
  if (status == MPI_STATUS_IGNORE) status = &own_status;
  const int rc = pmpi().Sendrecv(sendbuf, static_cast<int>(sendcount), sendtype, dest, sendtag, recvbuf,
                                 static_cast<int>(recvcount), recvtype, source, recvtag, comm, status);
  return rc == MPI_SUCCESS && in.used() ? in.unpack(*status, comm) : rc;
}

int Remote::isend(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                  MPI_Request* request, SendMode mode, Pass pass) {
  if (request == nullptr) return pass();
  Packed p(*this, Direction::send, buf, count, type, dest, comm);
  return p.answer(pass, [&] {
    p.pack();
    const Pmpi& m = pmpi();
    return start_send(p, request, pass, Life::once, [&](MPI_Request* sent) {
      auto* const begin = by_mode(mode, m.Isend, m.Issend, m.Ibsend, m.Irsend);
      return begin(p.data(), p.bytes(), MPI_PACKED, dest, tag, comm, sent);
    });
  });
}

int Remote::irecv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  Packed p(*this, Direction::receive, buf, count, type, source, comm);
  return p.answer(pass, [&] {
    return start_receive(p, request, pass, Life::once, [&](const Landing& in, MPI_Request* posted) {
      return pmpi().Irecv(p.data(), in.count(), in.type(), source, tag, comm, posted);
    });
  });
}

int Remote::send_init(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                      MPI_Request* request, SendMode mode, Pass pass) {
  if (request == nullptr) return pass();
  Packed p(*this, Direction::send, buf, count, type, dest, comm);
  return p.answer(pass, [&] {
    const Pmpi& m = pmpi();
    return start_send(p, request, pass, Life::persistent, [&](MPI_Request* made) {
      auto* const init = by_mode(mode, m.Send_init, m.Ssend_init, m.Bsend_init, m.Rsend_init);
      return init(p.data(), p.bytes(), MPI_PACKED, dest, tag, comm, made);
    });
  });
}

int Remote::recv_init(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                      MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  Packed p(*this, Direction::receive, buf, count, type, source, comm);
  return p.answer(pass, [&] {
    return start_receive(p, request, pass, Life::persistent, [&](const Landing& in, MPI_Request* made) {
      return pmpi().Recv_init(p.data(), in.count(), in.type(), source, tag, comm, made);
    });
  });
}

int Remote::mrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status,
                  Pass pass) {
  if (message == nullptr) return pass();
  const Packed p(*this, buf, count, type);
  return p.answer(pass, [&] {
    return receive(p, MPI_COMM_WORLD, status, [&](const Landing& in, MPI_Status* s) {
      return pmpi().Mrecv(p.data(), in.count(), in.type(), message, s);
    });
  });
}

int Remote::imrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request,
                   Pass pass) {
  if (message == nullptr || request == nullptr) return pass();
  Packed p(*this, buf, count, type);
  return p.answer(pass, [&] {
    return start_receive(p, request, pass, Life::once, [&](const Landing& in, MPI_Request* posted) {
      return pmpi().Imrecv(p.data(), in.count(), in.type(), message, posted);
    });
  });
}

// ---- carried requests

int Remote::arrive(Request* r, const MPI_Status& status, int code) {
  if (code == MPI_SUCCESS) code = unpack(r, status);
  mine(r).started = 0;
  if (mine(r).persistent == 0)
    requests_.discard(r);
  else if (mine(r).detached != 0)
    free(r);
  return code;
}

int Remote::start(Request* r) {
  if (mine(r).started != 0) return raise(MPI_COMM_WORLD, MPI_ERR_REQUEST);
  const uint64_t bytes = layout::bytes(r->region);
  if (mine(r).receives == 0) move(dense(mine(r).packed, bytes), r->region, bytes);
  mine(r).unpacks = mine(r).receives;
  MPI_Request library = handle_of<MPI_Request>(mine(r).library);
  const int rc = pmpi().Start(&library);
  mine(r).started = rc == MPI_SUCCESS ? 1 : 0;
  return rc;
}

int Remote::free(Request* r) {
  MPI_Request library = handle_of<MPI_Request>(mine(r).library);
  const int rc = pmpi().Request_free(&library);
  requests_.discard(r);
  return rc;
}

int Remote::wait(Request* r, MPI_Status* status) {
  MPI_Status own_status;
  if (status == MPI_STATUS_IGNORE) status = &own_status;
  MPI_Request library = handle_of<MPI_Request>(mine(r).library);
  return arrive(r, *status, pmpi().Wait(&library, status));
}

int Remote::test(Request* r, int* flag, MPI_Status* status) {
  MPI_Status own_status;
  if (status == MPI_STATUS_IGNORE) status = &own_status;
  MPI_Request library = handle_of<MPI_Request>(mine(r).library);
  const int rc = pmpi().Test(&library, flag, status);
  const bool done = library == MPI_REQUEST_NULL || (mine(r).persistent != 0 && *flag != 0);
  if (!done) return rc;
  *flag = 1;
  return arrive(r, *status, rc);
}

int Remote::get_status(Request* r, int* flag, MPI_Status* status) {
  MPI_Status own_status;
  if (status == MPI_STATUS_IGNORE) status = &own_status;
  status->MPI_ERROR = MPI_SUCCESS;
  const int rc = pmpi().Request_get_status(handle_of<MPI_Request>(mine(r).library), flag, status);
  return rc == MPI_SUCCESS && *flag != 0 && status->MPI_ERROR == MPI_SUCCESS ? unpack(r, *status) : rc;
}

int Remote::cancel(Request* r) {
  MPI_Request library = handle_of<MPI_Request>(mine(r).library);
  return pmpi().Cancel(&library);
}

}  // namespace tasuki::shim
