// Requests as the MPI functions see them: with what the shim keeps for them and with their MPI handles;
// results turned into statuses and error codes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <new>
#include <type_traits>

#include "message/engine.h"
#include "message/partitioned/channel.h"
#include "shim/objects/attached.h"
#include "shim/objects/detached.h"
#include "shim/objects/handle_map.h"
#include "shim/objects/once.h"
#include "shim/objects/status.h"
#include "shim/objects/targets.h"
#include "shim/objects/twins.h"
#include "shim/objects/verdict.h"

namespace tasuki::shim {

// What a collective operation needs until it is complete; of a persistent one, as long as its request exists.
class HeldOperation {
 public:
  virtual ~HeldOperation() = default;
  // All is here: to be called before anybody hears of that, perhaps several times.
  void arrived() {
    do_once(state_, State::open, State::ending, State::ended, [this] { end(); });
  }
  // Of an operation that the engine does not complete alone (Twin::operation): one look; *code is an error
  // code, not raised, once it is complete.
  virtual bool look(int* code) {
    *code = MPI_SUCCESS;
    return true;
  }
  // Of a persistent one: begins it as `r`, whose messages it has. Returns an error code, raised.
  virtual int start(Request*) { return MPI_SUCCESS; }
  // What it has is about to be used once more, for the first time as well.
  void renew() {
    state_ = State::open;
    begin_anew();
  }

 private:
  enum class State : uint8_t { open, ending, ended };

  virtual void end() = 0;
  virtual void begin_anew() {}

  State state_ = State::open;
};

// Whether the library packs and unpacks: an undecodable type, and of a receive whether it has.
enum class Opaque : uint8_t { no, yes, unpacking, unpacked };

// What the shim keeps with a request, in the slot that the message layer leaves to it.
struct OwnerPart {
  CommInfo* comm;       // retained while in use
  TypeInfo* type;       // retained while in use
  char* scratch;        // malloc'ed packed bytes that stand for the user's buffer; nullptr: none
  char* user_buffer;    // undecodable type, or persistent receive with a twin: the user's buffer,
  uint64_t user_count;  //   its elements,
  uintptr_t user_type;  //   and a duplicate of its MPI_Datatype
  Opaque opaque;
  uint8_t persistent;
  uint8_t started;      // persistent: between start and completion
  uint8_t detached;     // freed by the user while active: recycled when done
  SendMode mode;        // of a persistent send
  uint8_t receives;     // carried and persistent: a receive
  uint8_t from_nobody;  // a send whose status tells of a receive from MPI_PROC_NULL (MPI_Isendrecv)
  Twin twin;
  uint8_t by_library;   // the library has completed it
  uint8_t unpacks;      // `packed` is still to be unpacked
  uint8_t of_matched;   // made by MPI_Imrecv
  int32_t code;         // the library's error code, which it has raised; of a group one that is not raised
  uintptr_t library;    // carried, or with a twin: the library's MPI_Request,
  char* packed;         //   the packed bytes that it sends or receives, nullptr: none
  uint8_t* unpacked;    // partitioned receive of an undecodable type: what parts.h knows of each partition
  HeldOperation* held;  // of a group
};
static_assert(sizeof(OwnerPart) <= Request::kOwnersBytes && std::is_trivial_v<OwnerPart>);

inline OwnerPart& mine(Request* r) {
  return *std::launder(reinterpret_cast<OwnerPart*>(r->owners));
}
inline const OwnerPart& mine(const Request* r) {
  return *std::launder(reinterpret_cast<const OwnerPart*>(r->owners));
}

// Nothing is kept but a communicator and a type.
inline bool is_plain(const OwnerPart& part) {
  uint64_t words[sizeof part / sizeof(uint64_t)], others = 0;
  static_assert(sizeof words == sizeof part && offsetof(OwnerPart, scratch) == 2 * sizeof words[0]);
  memcpy(words, &part, sizeof words);
  for (size_t i = 2; i < std::size(words); i++) others |= words[i];
  return others == 0 && part.comm != nullptr && part.type != nullptr;
}

// Whether a request retains communicator and type, which the user may free while it is in progress. A
// blocking call's need not: that saves four locked instructions of an 8-byte message's 0.15 us.
enum class Hold : bool { no, yes };

// A request of the library that this layer completes.
MPI_Request generalized_request();

// Frees a complete request of the library without making the library progress.
void free_complete(MPI_Request* request);

// nullptr: nobody's.
inline bool has_twin(const Request* r) {
  return r != nullptr && mine(r).twin != Twin::none;
}

inline bool is_inactive(const Request* r) {
  return mine(r).persistent != 0 && mine(r).started == 0;
}

// Completes requests that the library carries (RequestKind::carried): hosts/remote.h.
class Carrier {
 public:
  // As MPI_Test: the request is gone if *done says so.
  virtual int test(Request* r, int* done, MPI_Status* status) = 0;
  // Memory of blocks.h to receive packed bytes for this region in; nullptr: the library does better.
  virtual char* packed_for(const layout::Region& region) = 0;
  // Once, if mine(r).unpacks: what the library has received, with this status, to where it belongs. Returns
  // MPI_SUCCESS, or an error, raised.
  virtual int unpack(Request* r, const MPI_Status& status) = 0;

 protected:
  ~Carrier() = default;
};

// The requests of one process, from their making to their end.
class Requests {
 public:
  Requests(Engine& engine, TypeTable& types, AttachedBuffers& attached)
      : engine_(engine), types_(types), attached_(attached) {}
  void open(int world_rank, bool threads);
  // After open(), when there is an engine to take a request from; false: no memory.
  bool open_sent();
  void set_carrier(Carrier* carrier) {
    carrier_ = carrier;
    twins_.set_carrier(carrier);
  }
  // At the end: the library completes in MPI_Finalize what it still carries; its bytes stay.
  void close();

  // A request of the engine, blank; nullptr when memory is exhausted.
  Request* take();
  // Keeps the arguments of a persistent receive for launch_receive().
  bool keep_arguments(Request* r, void* buf, MPI_Count count, MPI_Datatype type);
  // One filled in for a send or a receive.
  Request* make_send(const Target& t, const void* buf, MPI_Count count, int tag);
  Request* make_receive(const Target& t, void* buf, MPI_Count count, int tag, Hold hold = Hold::yes);
  // The same for partitioned communication: `count` elements in all. They are persistent, and inactive.
  Request* make_partitioned_send(const Target& t, const void* buf, MPI_Count count, uint32_t partitions,
                                 int tag);
  Request* make_partitioned_receive(const Target& t, void* buf, MPI_Count count, uint32_t partitions,
                                    int tag);
  Channels& channels() { return channels_; }

  // Starts what make_receive made of these arguments, which it holds (Hold::yes) if it is from any source on
  // a mixed communicator. Returns an MPI error code, raised; the request is then given back.
  int launch_receive(Request* r, void* buf, MPI_Count count, MPI_Datatype type, int tag);
  // Starts what make_send made. Returns an MPI error code, raised; the request is then given back.
  int launch_send(Request* r, SendMode mode);
  int launch_persistent(Request* r);

  // The handle of a group, which keeps `held`. comm may be nullptr: then MPI_COMM_WORLD hears of errors.
  MPI_Request hand_over(Request* group, CommInfo* comm, HeldOperation* held);
  // The same for an operation that completes by held->look().
  MPI_Request hand_over(CommInfo* comm, HeldOperation* held);
  // That of a persistent operation: held->start() begins it. `by_looks`: it completes by held->look().
  MPI_Request hand_over_persistent(CommInfo* comm, HeldOperation* held, bool by_looks);

  // A request that the library alone completes: for calls that must wait for both kinds at once.
  Request* make_borne(RequestKind kind, CommInfo* comm, MPI_Request library);

  // As the functions of the engine, for requests of all kinds but those that the library carries.
  bool poll(Request* r, bool stay) {
    return __builtin_expect(mine(r).twin == Twin::none, 1) ? engine_.poll(r, stay) : twins_.poll(r, stay);
  }
  void wait(Request* r) {
    if (__builtin_expect(mine(r).twin == Twin::none, 1)) return engine_.wait(r);
    engine_.wait_for_both([this, r] { return poll(r, true); });
  }
  // Not of partitioned ones, which MPI does not allow: no effect.
  void cancel(Request* r) {
    if (r->partitions == 0) twins_.cancel(r);
  }
  // Receives with a twin for which messages of this space wait: their owner has time.
  void serve_twins() { twins_.serve(); }

  // Takes a completed operation's result: status (may be MPI_STATUS_IGNORE), unpacking of undecodable types.
  // Returns its error code, not raised; `raised_on` is where the caller will, if at all. The request goes
  // back to the pool, unless it is persistent.
  int finish(Request* r, MPI_Status* status);
  int finish(Request* r, MPI_Status* status, MPI_Comm raised_on);
  // The same of a complete receive that has come well and with which nothing but communicator and type is
  // kept, as nearly all are. False, with nothing done: it is not one.
  bool finish_plain(Request* r, MPI_Status* status) {
    if (r->kind != RequestKind::receive || (r->truncated | r->cancelled) != 0 || r->partitions != 0 ||
        !is_plain(mine(r)) || may_end_inside(r->status_bytes, mine(r).type))
      return false;
    set_status(status, r->status_source, r->status_tag, r->status_bytes, false);
    engine_.count(engine_.stats().received);
    engine_.count(engine_.stats().received_bytes, r->status_bytes);
    CommTable::release(mine(r).comm);
    TypeTable::release(mine(r).type);
    engine_.give_request(r);
    return true;
  }
  // The same result without any effect on the request (MPI_Request_get_status).
  int peek(Request* r, MPI_Status* status);
  void discard(Request* r);
  // A complete receive becomes a truncated one where the library calls it so: verdict.h. nullptr: has been
  // looked at.
  void check_end(Request* r, TypeInfo* t) {
    if (__builtin_expect(t != nullptr && may_end_inside(r->status_bytes, t), 0))
      refuse_part_of_element(r, t, types_);
  }

  // The valid MPI_Request that stands for a request: a complete generalized request of the library, made once
  // and used again.
  MPI_Request handle_for(Request* r);
  // That of a send which was done when it started, one for all of them: as in the libraries, whose handles of
  // such sends are not told apart either. Making a request for each was half the time of MPI_Isend.
  MPI_Request handle_of_sent() { return handle_for(sent_); }
  bool is_of_sent(const Request* r) const { return r == sent_; }
  // nullptr: the library's.
  Request* find(MPI_Request handle) { return by_handle_.find(key_of(handle)); }

  // The user has freed the request: it is gone, or will be when it is done.
  void free(Request* r);

 private:
  Request* make(const Target& t, const void* buf, MPI_Count count, Hold hold);
  void give_up(Request* r);
  static void land(Request* r);
  void detach(Request* r);
  int fail(Request* r, MPI_Comm comm, int code);
  void reap_detached();
  int launch_twin(Request* r, void* buf, MPI_Count count, MPI_Datatype type, int tag);

  Engine& engine_;
  Request* sent_ = nullptr;  // handle_of_sent()
  Twins twins_{engine_};
  Channels channels_{engine_};
  TypeTable& types_;
  AttachedBuffers& attached_;
  Carrier* carrier_ = nullptr;
  int world_rank_ = 0;
  bool threads_ = false;
  HandleMap<Request> by_handle_;  // by the MPI_Request that stands for it
  DetachedRequests detached_;
};

}  // namespace tasuki::shim
