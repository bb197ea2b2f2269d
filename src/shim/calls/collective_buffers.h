// The buffers of one collective call, piece by piece, as the message layer takes them. Elements of a type
// that cannot be decoded are packed and unpacked by the library.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "message/collectives/exchange.h"
#include "message/collectives/nonblocking.h"
#include "shim/calls/task_state.h"
#include "shim/hosts/span_messages.h"

namespace tasuki::shim {

// Where the members of a communicator meet: those of one space, and all of them. nullptr: the operation is
// the library's, for all members alike.
inline CommInfo* meeting_place(MPI_Comm comm, When when = kNow) {
  if (when.persistent) g_process.library_testall_fails.store(true, std::memory_order_relaxed);
  if (!g_process.own_collectives || (when.later && when.request == nullptr)) return nullptr;
  CommInfo* c = g_process.comms.find(comm);
  if (c == nullptr || c->barrier == nullptr || c->inter || c->mixed) return nullptr;
  return when.later && c->peer_count > message::kMostByMessages ? nullptr : c;
}

// Where a call that moves data is carried out: in the space that all members share, or on the several
// hosts where they are.
struct Place {
  CommInfo* comm;  // of the space; nullptr: on several hosts
  Span* span;
  MPI_Comm handle;
  int rank;  // of this process
  int count;
};

inline Place place_in(CommInfo* c) {
  return {c, nullptr, c->comm, c->rank, c->peer_count};
}

// On several hosts: the first call there is collective, so all members must come here. Before, valid(c,
// members) is asked, of what each of them sees by itself; c is nullptr there. `typed`: each piece has a
// type of its own. One that does not block is the library's if no other has been there, and a persistent one
// in any case.
Resolved<Place> place_on_hosts(MPI_Comm comm, When when, bool typed);
// How many members there are; 0: the operation is the library's.
int members_on_hosts(MPI_Comm comm, When when);
template <typename Valid>
Resolved<Place> place_for(MPI_Comm comm, When when, Valid valid, bool typed = false) {
  CommInfo* c = meeting_place(comm, when);
  const int members = c != nullptr ? c->peer_count : members_on_hosts(comm, when);
  if (members == 0 || !valid(c, members)) return Unresolved::pass();
  return c != nullptr ? place_in(c) : place_on_hosts(comm, when, typed);
}

// The same for pieces that are as large for all, of which small ones are the library's between hosts.
struct Elements {
  MPI_Count count;
  MPI_Datatype type;
};
Resolved<Place> place_on_hosts(MPI_Comm comm, When when, const Elements& piece, bool rooted);
inline Resolved<Place> place_for_pieces(MPI_Comm comm, When when, const Elements& piece) {
  CommInfo* c = meeting_place(comm, when);
  return c != nullptr ? place_in(c) : place_on_hosts(comm, when, piece, false);
}
// Where the root has other arguments than the others.
Resolved<Place> place_on_hosts(MPI_Comm comm, When when, int root, const Elements& at_root,
                               const Elements& elsewhere);
inline Resolved<Place> place_for_pieces(MPI_Comm comm, When when, int root, const Elements& at_root,
                                        const Elements& elsewhere) {
  CommInfo* c = meeting_place(comm, when);
  if (c != nullptr) {
    if (root < 0 || root >= c->peer_count) return Unresolved::pass();
    return place_in(c);
  }
  return place_on_hosts(comm, when, root, at_root, elsewhere);
}

// Do the ranks of a space leave a blocking call to the library, by the rules of TASUKI_LEFT
// (message/cost/left.h)? The bytes are those of the elements that are named, which are the same on all
// ranks; without them ranks may have different ones. For all members alike.
bool is_left_by_rule(message::Collective what, MPI_Comm comm, const Elements* elements);
inline bool is_left(message::Collective what, MPI_Comm comm, When when) {
  return g_process.board->left.count != 0 && !when.later && is_left_by_rule(what, comm, nullptr);
}
inline bool is_left(message::Collective what, MPI_Comm comm, When when, const Elements& elements) {
  return g_process.board->left.count != 0 && !when.later && is_left_by_rule(what, comm, &elements);
}
// Where the root has other arguments than the others.
inline bool is_left(message::Collective what, MPI_Comm comm, When when, int root, const Elements& at_root,
                    const Elements& elsewhere) {
  if (g_process.board->left.count == 0 || when.later) return false;
  const CommInfo* c = g_process.comms.find(comm);
  return c != nullptr && is_left_by_rule(what, comm, c->rank == root ? &at_root : &elsewhere);
}

// A non-blocking operation in which one rank, or each, has a message for all others is not for many of them:
// the libraries' trees are better for more.
inline constexpr int kMostAtOnce = 16;

// The place of one in which all get the same: `piece` from each of them, or from the root. Between hosts
// every message to another host goes there by itself, from the start on, so that nobody has to pass anything
// on while it is busy with something else: only small ones.
Resolved<Place> place_at_once_on_hosts(MPI_Comm comm, When when, const Elements& piece);
// `c`: meeting_place().
inline Resolved<Place> place_at_once(CommInfo* c, MPI_Comm comm, When when, const Elements& piece) {
  return c != nullptr ? place_in(c) : place_at_once_on_hosts(comm, when, piece);
}
inline Resolved<Place> place_at_once(MPI_Comm comm, When when, const Elements& piece) {
  return place_at_once(meeting_place(comm, when), comm, when, piece);
}

// Open MPI's own collectives may be faster where pieces are small and ranks have cores of their own: scans,
// in which nobody waits for a rank behind him (8 B, two ranks: 0.1 to 0.2 us, this layer's 0.3), and those of
// many ranks, which take fewer steps than there are ranks. Of few ranks this layer's are: two on a Xeon take
// 0.35 us for MPI_Allgather of 8 B and 0.28 for MPI_Gather, Open MPI's 0.43 and 0.41. Where ranks outnumber
// cores they are, too: of 8 ranks on 2 cores MPI_Gather of 64 B takes 1.6 us, Open MPI's 8.8, MPICH's some
// ms. All ranks say the same, since `bytes` is what each gives to or gets from another.
inline bool is_faster_by_library([[maybe_unused]] uint64_t bytes) {
#if defined(OPEN_MPI)
  constexpr uint64_t kSmall = 256;
  return !g_process.engine.options().wait.oversubscribed && bytes <= kSmall;
#else
  return false;
#endif
}
inline constexpr int kFewRanks = 8;

// An argument that is an array of counts, or of displacements: of int, or of the type of a large count.
template <typename Large>
class Array {
 public:
  Array(const void* values, bool large) : values_(values), large_(large) {}
  bool there() const { return values_ != nullptr; }
  Large operator[](int i) const {
    return large_ ? static_cast<const Large*>(values_)[i] : static_cast<const int*>(values_)[i];
  }

 private:
  const void* values_;
  bool large_;
};
using Counts = Array<MPI_Count>;
using Displacements = Array<MPI_Aint>;

// Is any of the pieces more than nothing? A type of which nothing is used need not be one, nor the address
// of the buffer.
inline MPI_Count any(const Counts& counts, int n) {
  for (int i = 0; i < n; i++)
    if (counts[i] != 0) return 1;
  return 0;
}

inline bool are_counts(const Counts& counts, int n) {
  for (int i = 0; i < n; i++)
    if (counts[i] < 0) return false;
  return true;
}

class CollectiveBuffer {
 public:
  enum class Use : bool { send, receive };
  // `pieces`: how many will be added. `persistent`: nothing is read before renew().
  CollectiveBuffer(Use use, int pieces, bool persistent = false);
  ~CollectiveBuffer();
  CollectiveBuffer(const CollectiveBuffer&) = delete;
  CollectiveBuffer& operator=(const CollectiveBuffer&) = delete;

  // `count` elements from `at` on, or a piece of nothing. The type stays known until the call ends.
  void add(const Target& t, const void* at, MPI_Count count);
  // A piece of nothing.
  void add_nothing() { regions_[count_++] = {nullptr, 0, layout::byte_layout()}; }
  // One piece for each of `n` ranks but `but`, which gets nothing: as many elements for each; as the
  // arrays say, displacements in extents.
  void add_blocks(const Target& t, const void* buffer, MPI_Count count, int n, int but = kNobody);
  void add_blocks(const Target& t, const void* buffer, const Counts& counts,
                  const Displacements& displacements, int n, int but = kNobody);
  // The pieces are read now: what will be sent is a copy, while their places are received into.
  void copy_aside();
  // Of a persistent call: what is sent is what there is now.
  void renew();

  const layout::Region& operator[](int i) const { return regions_[i]; }
  message::Pieces pieces() const { return {regions_, 1}; }
  message::Pieces same_for_all() const { return {regions_, 0}; }
  // Of a receive: all has come.
  void finish();

 private:
  struct Opaque {
    int piece;
    char* packed;
    const void* at;
    MPI_Count count;
    MPI_Datatype type;  // a duplicate, if it is still needed when the user may have freed his
  };
  void keep(TypeInfo* t);
  bool duplicates() const { return persistent_ || use_ == Use::receive; }
  void pack(const Opaque& o) const;
  void fill_aside() const;

  // Two allocations are a fourth of the time of a small operation.
  static constexpr int kFew = 16;

  Use use_;
  bool persistent_;
  int count_ = 0;
  layout::Region* regions_;
  TypeInfo* type_ = nullptr;  // the last that was added
  std::vector<TypeInfo*> earlier_types_;
  std::vector<Opaque> opaque_;
  char* aside_ = nullptr;
  std::vector<layout::Region> originals_;  // of what lies aside
  layout::Region few_[kFew];
};

inline Resolved<Target> target(const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm) {
  return g_process.targets.memory(buffer, count, type, comm);
}

// `n` pieces with types of their own, displacements in bytes. Returns MPI_SUCCESS, or an error code,
// raised; *passes: the call is the library's.
int add_typed(CollectiveBuffer* b, const void* buffer, const Counts& counts,
              const Displacements& displacements, const MPI_Datatype types[], int n, MPI_Comm comm, int but,
              bool* passes);

// Bytes from one element to the next.
int64_t extent_of(const Target& t);

// The other members count on this one.
[[noreturn]] void no_memory_to_meet(int members);

// Both buffers of one call.
class CollectiveBuffers : public HeldOperation {
 public:
  // So many pieces.
  CollectiveBuffers(int out, int in, bool persistent = false)
      : send(CollectiveBuffer::Use::send, out, persistent),
        receive(CollectiveBuffer::Use::receive, in, persistent) {}

  CollectiveBuffer send, receive;

 private:
  void end() override { receive.finish(); }
  void begin_anew() override {
    send.renew();
    receive.renew();
  }
};

// A non-blocking call between hosts, with its messages.
class HeldOnHosts : public HeldOperation {
 public:
  explicit HeldOnHosts(Span* s) : outside(g_process.engine, s, g_process.spans.choices(), true) {}
  bool look(int* code) override;

  SpanMessages outside;
  Request* inside = nullptr;  // the rest of what passes inside the host
};

class CallOnHosts final : public HeldOnHosts {
 public:
  CallOnHosts(Span* s, int out, int in) : HeldOnHosts(s), buffers(out, in) {}

  CollectiveBuffers buffers;

 private:
  void end() override { buffers.arrived(); }
};

// operation(Meeting&, Moved*) is the message layer's.
template <typename Operation>
int carry_out(CommInfo* c, Operation operation) {
  Process& p = g_process;
  const MPI_Comm comm = c->comm;
  message::Meeting meeting(p.engine, *c->barrier, member(*c));
  message::Moved moved;
  if (!operation(meeting, &moved)) no_memory_to_meet(c->peer_count);
  p.engine.count(p.engine.stats().collectives);
  p.engine.count(p.engine.stats().collective_bytes, moved.bytes);
  return moved.too_long ? raise(comm, MPI_ERR_TRUNCATE) : MPI_SUCCESS;
}

// The request of a non-blocking operation whose messages have begun; `held` lives until it is complete.
int hand_over(CommInfo* c, MPI_Request* request, message::Parts& parts, std::unique_ptr<HeldOperation> held);

// A persistent operation, whose request is inactive at first. Each start calls begin(Parts&), which refers to
// nothing but what `held` has. `by_looks`: held->look() completes it, else its messages do.
using BeginParts = std::function<bool(message::Parts&)>;
int make_persistent(CommInfo* c, MPI_Request* request, std::unique_ptr<HeldOperation> held, BeginParts begin,
                    bool by_looks = false);

// Begins a non-blocking operation, or makes a persistent one: begin(Parts&) is the message layer's.
template <typename Begin>
int begin_messages(CommInfo* c, When when, std::unique_ptr<HeldOperation> held, Begin begin) {
  if (when.persistent) return make_persistent(c, when.request, std::move(held), begin);
  message::Parts parts(g_process.engine, member(*c), message::of_pieces(c->context),
                       static_cast<int32_t>(c->begun++ & INT32_MAX));
  if (!begin(parts)) no_memory_to_meet(c->peer_count);
  return hand_over(c, when.request, parts, std::move(held));
}

// An operation between hosts has ended with this code, which is raised.
inline int end_on_hosts(MPI_Comm comm, int rc) {
  g_process.engine.count(g_process.engine.stats().spanning);
  return rc == MPI_SUCCESS ? rc : raise(comm, rc);
}

// The same between hosts, all of it: begin(Parts&, round) begins the messages of one of so many rounds.
template <typename Begin>
int carry_out_on_hosts(const Place& p, uint32_t rounds, Begin begin) {
  Process& process = g_process;
  SpanMessages outside(process.engine, p.span, process.spans.choices());
  message::Parts parts(process.engine, member(*p.span), message::of_pieces(p.span->local.context),
                       message::kBlocking, message::Parts::Ends::alone, &outside);
  int rc = MPI_SUCCESS;
  for (uint32_t round = 0; round < rounds; round++) {
    Request* rest = nullptr;
    if (!begin(parts, round) || !parts.rest(&rest)) no_memory_to_meet(p.count);
    rc = outside.wait(rest);
  }
  return end_on_hosts(p.handle, rc);
}

int hand_over(const Place& p, MPI_Request* request, message::Parts& parts, std::unique_ptr<HeldOnHosts> held);

// The same of a call that does not block.
template <typename Begin>
int begin_on_hosts(const Place& p, MPI_Request* request, std::unique_ptr<HeldOnHosts> held, Begin begin) {
  message::Parts parts(g_process.engine, member(*p.span), message::of_pieces(p.span->local.context),
                       static_cast<int32_t>(p.span->begun++ & INT32_MAX), message::Parts::Ends::alone,
                       &held->outside);
  if (!begin(parts)) no_memory_to_meet(p.count);
  return hand_over(p, request, parts, std::move(held));
}

// One call that moves data, blocking or not, with its buffers.
class CollectiveCall {
 public:
  CollectiveCall(const Place& place, When when, int out, int in);

  CollectiveBuffer& send() { return buffers_->send; }
  CollectiveBuffer& receive() { return buffers_->receive; }

  // When both buffers are filled in. Of the message layer: now(Meeting&, Moved*), and begin(Parts&), which
  // may be called after this object is gone. Returns an error code, raised.
  template <typename Now, typename Begin>
  int carry_out(Now now, Begin begin) {
    if (when_.later) return begin_only(begin);
    const auto all = [&](message::Parts& parts, uint32_t) { return begin(parts); };
    const int rc =
        place_.comm != nullptr ? shim::carry_out(place_.comm, now) : carry_out_on_hosts(place_, 1, all);
    receive().finish();
    return rc;
  }
  // Of a schedule for all-to-all, whose pieces have one byte there.
  int carry_out(const schedule::Schedule& rounds, const message::Pieces& send, const message::Pieces& receive,
                bool own);
  const Place& place() const { return place_; }
  bool is_later() const { return when_.later; }
  // The same of one that is not blocking.
  template <typename Begin>
  int begin_only(Begin begin) {
    if (place_.comm != nullptr) return begin_messages(place_.comm, when_, std::move(later_), begin);
    return begin_on_hosts(place_, when_.request, std::move(later_on_hosts_), begin);
  }

 private:
  const Place place_;
  const When when_;
  std::optional<CollectiveBuffers> now_;
  std::unique_ptr<CollectiveBuffers> later_;
  std::unique_ptr<CallOnHosts> later_on_hosts_;
  CollectiveBuffers* buffers_;  // one of these
};

}  // namespace tasuki::shim
