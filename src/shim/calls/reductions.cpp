// Reductions between tasks of one space, and where members are on several hosts (hosts/span_collectives.h).
// All ranks must come to the same decision from what is equal on all of them: the communicator, the root, the
// counts, the datatype and the operation (MPI-4.0, 6.9.1).
//
// Handled: rows of predefined elements, and of the user's own that have no gaps, with the operations that
// MPI allows for them, and the user's own. What is combined where is the message layer's matter
// (collectives/reduction.h), how is here: sums of numbers by this layer, all else by MPI_Reduce_local.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "generated/pmpi.h"
#include "message/collectives/joint.h"
#include "message/collectives/reduction.h"
#include "message/transfers/sums.h"
#include "shim/calls/collective_buffers.h"
#include "shim/hosts/span_collectives.h"
#include "shim/objects/updates.h"

namespace tasuki::shim::delegate {
namespace {

using message::Collective;

using message::Combination;
using message::Meeting;

template <typename Handle, size_t N>
bool is_one_of(Handle handle, const Handle (&known)[N]) {
  return std::find(std::begin(known), std::end(known), handle) != std::end(known);
}

bool is_predefined(MPI_Op op) {
  return is_update(op) || op == MPI_OP_NULL;
}

bool is_arithmetic(MPI_Op op) {
  const MPI_Op known[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};
  return is_one_of(op, known);
}

bool is_logical(MPI_Op op) {
  return op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR;
}

bool is_bitwise(MPI_Op op) {
  return op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR;
}

// MPI-4.0, 6.9.2 and 6.9.4. False of what it allows, too, where programs hardly ever use it.
bool is_allowed(MPI_Op op, const Element& e) {
  if (e.number == Number::float32 || e.number == Number::float64) return is_arithmetic(op);
  const MPI_Datatype without_truth[] = {MPI_INTEGER, MPI_AINT, MPI_OFFSET, MPI_COUNT};
  if (e.number != Number::none)
    return is_arithmetic(op) || is_bitwise(op) || (is_logical(op) && !is_one_of(e.handle, without_truth));
  const MPI_Datatype complexes[] = {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX,
                                    MPI_DOUBLE_COMPLEX};
  if (is_one_of(e.handle, complexes)) return op == MPI_SUM || op == MPI_PROD;
  const MPI_Datatype pairs[] = {MPI_FLOAT_INT, MPI_2INT, MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION};
  if (is_one_of(e.handle, pairs)) return op == MPI_MAXLOC || op == MPI_MINLOC;
  if (e.handle == MPI_LONG_DOUBLE) return is_arithmetic(op);
  const MPI_Datatype truths[] = {MPI_LOGICAL, MPI_C_BOOL};
  if (is_one_of(e.handle, truths)) return is_logical(op);
  return e.handle == MPI_BYTE && is_bitwise(op);
}

// What is reduced, and how. Open MPI's sums of 8 and 16 bits saturate, so these stay the library's.
struct Operation {
  MPI_Op op;
  MPI_Datatype type;
  Number summed;                   // none: by the library
  uint64_t size;                   // bytes of an element, which has no gaps
  mutable int code = MPI_SUCCESS;  // of the library

  static void combine(const void* context, const char* left, char* right, uint64_t elements) {
    const Operation& o = *static_cast<const Operation*>(context);
    if (o.summed != Number::none && message::add_row(o.summed, right, left, elements * o.size)) return;
    const int rc = pmpi().Reduce_local(left, right, static_cast<int>(elements), o.type, o.op);
    if (rc != MPI_SUCCESS) o.code = rc;
  }
  Combination combination() const { return {size, &combine, this}; }
};

Number summed(MPI_Op op, const Element& e) {
  return op == MPI_SUM && e.number != Number::none && e.type->size >= 4 ? e.number : Number::none;
}

// Pass: the library's.
Resolved<Operation> operation_for(MPI_Op op, MPI_Datatype handle, TypeInfo* type) {
  const TypeInfo& info = *type;
  // MPI_DOUBLE_INT and its like have gaps, in which a program may keep something else.
  if (info.opaque || info.size == 0 || !info.dense || info.offset != 0) return Unresolved::pass();
  if (info.size > message::kLargestElement) return Unresolved::pass();
  if (!is_predefined(op)) return Operation{op, handle, Number::none, info.size};
  if (!info.predefined) return Unresolved::pass();
  const Element e = element_of(handle, type, g_process.types, g_process.quiet_comm);
  if (e.type != type || !is_allowed(op, e)) return Unresolved::pass();
  return Operation{op, handle, summed(op, e), info.size};
}

// One rank's vectors; the same one twice where the call is in place.
struct Operands {
  const char* send;
  char* receive;
};

// Whether small vectors are the library's where it is faster.
enum class Left : bool { never, small };

bool is_left(Left left, uint64_t bytes) {
  return left == Left::small && is_faster_by_library(bytes);
}

// An error for MPICH, unless that is told not to look.
bool is_alias([[maybe_unused]] const void* send, [[maybe_unused]] const void* receive) {
#if defined(OPEN_MPI)
  return false;
#else
  return send == receive && send != nullptr;
#endif
}

// Buffers as the user names them; `count` is the same on all ranks, and may be 0. Then use(Target, Operation,
// Operands, bytes).
template <typename Use>
int with_operands(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm, Pass pass, Use use) {
  const bool in_place = sendbuf == MPI_IN_PLACE;
  if (count <= 0 || op == MPI_OP_NULL || recvbuf == MPI_IN_PLACE) return pass();
  if (is_alias(sendbuf, recvbuf)) return raise(comm, MPI_ERR_BUFFER);
  const void* const used = in_place ? recvbuf : sendbuf;
  return target(used, count, type, comm).answer(pass, [&](const Target& t) {
    return operation_for(op, t.handle, t.type).answer(pass, [&](const Operation& o) {
      const Operands operands{static_cast<const char*>(used), static_cast<char*>(recvbuf)};
      return use(t, o, operands, static_cast<uint64_t>(count) * o.size);
    });
  });
}

template <typename Use>
int meet_and_reduce(Left left, CommInfo* c, const void* sendbuf, void* recvbuf, MPI_Count count,
                    MPI_Datatype type, MPI_Op op, MPI_Comm comm, Pass pass, Use use) {
  return with_operands(sendbuf, recvbuf, count, type, op, comm, pass,
                       [&](const Target& t, const Operation& o, const Operands& operands, uint64_t bytes) {
                         if (is_left(left, bytes)) return pass();
                         TypeTable::retain(t.type);
                         Process& p = g_process;
                         Meeting meeting(p.engine, *c->barrier, member(*c));
                         if (!use(meeting, operands, o.combination())) no_memory_to_meet(c->peer_count);
                         p.engine.count(p.engine.stats().collectives);
                         p.engine.count(p.engine.stats().collective_bytes, bytes);
                         TypeTable::release(t.type);
                         return o.code;  // raised already
                       });
}

// The ranks whose vectors a rank combines: none, where it does not get the result.
struct Combined {
  int ranks;      // so many of the first
  bool in_order;  // as a scan does it
};

// A non-blocking reduction on a rank that gets its result: the others' vectors come here.
class HeldReduction : public HeldOperation {
 public:
  HeldReduction(const Place& at, Combined what, const Operation& o, const Operands& operands, uint64_t bytes)
      : operation_(o),
        in_order_(what.in_order),
        result_(operands.receive),
        elements_(bytes / o.size),
        memory_(bytes * static_cast<uint64_t>(what.ranks)) {
    for (int i = 0; i < what.ranks; i++) {
      char* const here = memory_.data() + bytes * static_cast<uint64_t>(i);
      places_.push_back({here, bytes, layout::byte_layout()});
      vectors_.push_back(i == at.rank ? operands.send : here);
    }
  }
  message::Pieces places() const { return {places_.data(), 1}; }

 private:
  void end() override {
    const int ranks = static_cast<int>(vectors_.size());
    if (in_order_)
      message::fold_vectors(vectors_.data(), ranks, {0, elements_}, result_, operation_.combination());
    else
      message::combine_vectors(vectors_.data(), ranks, {0, elements_}, result_, operation_.combination(),
                               true);
  }

  const Operation operation_;
  const bool in_order_;
  char* result_;
  uint64_t elements_;
  std::vector<char> memory_;
  std::vector<layout::Region> places_;
  std::vector<const char*> vectors_;
};

// One whose result the ranks share out, in `pieces`, by rank: each gets what the others have for it.
class HeldScattered final : public HeldReduction {
 public:
  HeldScattered(const Place& at, const Operation& o, std::vector<layout::Region> pieces, char* result)
      : HeldReduction(at, {at.count, false}, o, {of(pieces, at.rank).base, result},
                      of(pieces, at.rank).count),
        pieces_(std::move(pieces)) {}
  message::Pieces pieces() const { return {pieces_.data(), 1}; }

 private:
  static const layout::Region& of(const std::vector<layout::Region>& pieces, int rank) {
    return pieces[static_cast<size_t>(rank)];
  }

  const std::vector<layout::Region> pieces_;
};

// A rank that only gives.
class NothingHeld : public HeldOperation {
  void end() override {}
};

// Either of them, between hosts.
class HeldReductionOnHosts final : public HeldOnHosts {
 public:
  HeldReductionOnHosts(Span* s, std::unique_ptr<HeldOperation> reduction)
      : HeldOnHosts(s), reduction_(std::move(reduction)) {}

 private:
  void end() override { reduction_->arrived(); }

  std::unique_ptr<HeldOperation> reduction_;
};

// One that whoever waits for it carries out.
class HeldJoint final : public HeldOperation {
 public:
  HeldJoint(const Operation& o, const message::JointVectors& vectors, std::vector<uint64_t> ends,
            std::optional<message::Scan> scan)
      : operation_(o), vectors_(vectors), ends_(std::move(ends)), scan_(scan) {}
  bool begin(message::Parts& parts) {
    Process& p = g_process;
    p.engine.count(p.engine.stats().collective_bytes, vectors_.elements * operation_.size);
    operation_.code = MPI_SUCCESS;
    joint_.emplace(p.engine, parts.me(), vectors_, ends_, operation_.combination(), scan_);
    return joint_->begin(parts, p.joints);
  }
  bool look(int* code) override {
    if (!joint_->look()) return false;
    *code = operation_.code;
    return true;
  }

 private:
  void end() override {}

  const Operation operation_;
  const message::JointVectors vectors_;
  const std::vector<uint64_t> ends_;
  const std::optional<message::Scan> scan_;
  std::optional<message::JointReduction> joint_;
};

// All of these are of predefined operations, which cannot be freed. Of small vectors each rank that gets the
// result combines all.
constexpr uint64_t kMostLater = 16 << 10;  // bytes of all ranks together
bool are_small(uint64_t bytes, int ranks) {
  return bytes * static_cast<uint64_t>(ranks) <= kMostLater;
}

// begin(Parts&, send, places).
template <typename Begin>
int reduce_small_later(const Place& at, When when, Combined what, const Operation& o,
                       const Operands& operands, uint64_t bytes, Begin begin) {
  const layout::Region send{const_cast<char*>(operands.send), bytes, layout::byte_layout()};
  std::unique_ptr<HeldOperation> held;
  message::Pieces places{nullptr, 0};
  if (what.ranks != 0) {
    auto reduction = std::make_unique<HeldReduction>(at, what, o, operands, bytes);
    places = reduction->places();
    held = std::move(reduction);
  } else {
    held = std::make_unique<NothingHeld>();
  }
  const auto all = [=](message::Parts& parts) { return begin(parts, send, places); };
  if (at.comm != nullptr) return begin_messages(at.comm, when, std::move(held), all);
  return begin_on_hosts(at, when.request, std::make_unique<HeldReductionOnHosts>(at.span, std::move(held)),
                        all);
}

// Each tells all others first where its vectors are (two ranks, MPICH: 2 KiB 1.3 us, and 2.4 where vectors
// are exchanged; 8 KiB 2.2 and 7.2).
bool joint_pays(uint64_t bytes, int ranks) {
  constexpr uint64_t kLeastForEach = 1 << 10;
  return ranks >= 2 && bytes >= kLeastForEach * static_cast<uint64_t>(ranks);
}

int reduce_large_later(CommInfo* c, When when, const Operation& o, const message::JointVectors& vectors,
                       std::vector<uint64_t> ends, std::optional<message::Scan> scan = std::nullopt) {
  Process& p = g_process;
  auto held = std::make_unique<HeldJoint>(o, vectors, std::move(ends), scan);
  HeldJoint* const joint = held.get();
  if (when.persistent)
    return make_persistent(
        c, when.request, std::move(held), [=](message::Parts& parts) { return joint->begin(parts); }, true);
  p.engine.count(p.engine.stats().collectives);
  message::Parts parts(p.engine, member(*c), message::of_pieces(c->context),
                       static_cast<int32_t>(c->begun++ & INT32_MAX));
  if (!joint->begin(parts)) no_memory_to_meet(c->peer_count);
  *when.request = p.requests.hand_over(c, held.release());
  if (*when.request == MPI_REQUEST_NULL) no_memory_to_meet(c->peer_count);
  return MPI_SUCCESS;
}

template <typename Begin>
int reduce_later(const Place& at, When when, bool gets, const void* sendbuf, void* recvbuf, MPI_Count count,
                 MPI_Datatype type, MPI_Op op, MPI_Comm comm, Pass pass, Begin begin) {
  if (!is_predefined(op)) return pass();
  const auto use = [&](const Target&, const Operation& o, const Operands& operands, uint64_t bytes) {
    char* const into = gets ? operands.receive : nullptr;
    if (at.comm != nullptr && joint_pays(bytes, at.count))
      return reduce_large_later(at.comm, when, o, {operands.send, into, bytes / o.size}, {});
    if (!are_small(bytes, at.count)) return pass();
    return reduce_small_later(at, when, {gets ? at.count : 0, false}, o, operands, bytes, begin);
  };
  return with_operands(sendbuf, recvbuf, count, type, op, comm, pass, use);
}

bool commutes(MPI_Op op) {
  int commutes = 0;
  return pmpi().Op_commutative(op, &commutes) == MPI_SUCCESS && commutes != 0;
}

// The same on a communicator that may be carried between hosts: use(Inside, Span*, SpanReduction).
// What has less than `least` bytes is the library's.
enum class Ranks : bool { in_any_order, in_order };
template <typename Use>
int join_and_reduce(Ranks ranks, uint64_t least, const void* sendbuf, void* recvbuf, MPI_Count count,
                    MPI_Datatype type, MPI_Op op, MPI_Comm comm, Pass pass, Use use) {
  Process& p = g_process;
  const void* const used = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
  if (count <= 0 || op == MPI_OP_NULL || used == nullptr) return pass();
  return p.types.find(type, comm).answer(pass, [&](TypeInfo* t) {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(count), t->size, &bytes) || bytes < least) return pass();
    return operation_for(op, type, t).answer(pass, [&](const Operation& o) {
      return p.spans.get_for(comm, bytes).answer(pass, [&](Span* s) {
        if (!s->shares() || (!s->in_order && (ranks == Ranks::in_order || !commutes(op)))) return pass();
        if (is_alias(sendbuf, recvbuf)) return raise(comm, MPI_ERR_BUFFER);
        TypeTable::retain(t);
        const int rc = use(Inside{p.engine, p.broadcaster}, s,
                           SpanReduction{static_cast<const char*>(used), static_cast<char*>(recvbuf),
                                         static_cast<uint64_t>(count), type, op, o.combination()});
        TypeTable::release(t);
        const int ended = end_on_hosts(comm, rc);
        return rc == MPI_SUCCESS ? o.code : ended;
      });
    });
  });
}

// Where ranks outnumber cores every step may take a time slice, and Open MPI's small ones have fewer steps
// (two hosts, four ranks and a busy loop on each of two cores: 4 ms and, with three steps, 12).
uint64_t least_for_allreduce() {
#if defined(OPEN_MPI)
  return g_process.spans.crowded() ? kLargeForSpans : 0;
#else
  return 0;
#endif
}

}  // namespace

int allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::allreduce, comm, when, {count, type})) return pass();
  if (recvbuf == nullptr || recvbuf == MPI_IN_PLACE) return pass();
  if (when.later)
    return place_at_once(comm, when, {count, type}).answer(pass, [&](const Place& at) {
      return reduce_later(
          at, when, true, sendbuf, recvbuf, count, type, op, comm, pass,
          [](message::Parts& parts, const layout::Region& send, const message::Pieces& places) {
            return begin_exchange(parts, {&send, 0}, places, false);
          });
    });
  CommInfo* c = meeting_place(comm);
  if (c == nullptr) {
    if (g_process.spans.members_of(comm) == 0) return pass();
    return join_and_reduce(Ranks::in_any_order, least_for_allreduce(), sendbuf, recvbuf, count, type, op,
                           comm, pass, allreduce_spanning);
  }
  return meet_and_reduce(Left::never, c, sendbuf, recvbuf, count, type, op, comm, pass,
                         [&](Meeting& m, const Operands& o, const Combination& how) {
                           return reduce_for_all(m, o.send, o.receive, static_cast<uint64_t>(count), how);
                         });
}

namespace {

int reduce_on_hosts(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
                    int root, MPI_Comm comm, Pass pass) {
  int rank = MPI_PROC_NULL;
  if (root < 0 || root >= g_process.spans.members_of(comm)) return pass();
  pmpi().Comm_rank(comm, &rank);
  const bool at_root = rank == root;
  if (at_root ? recvbuf == nullptr || recvbuf == MPI_IN_PLACE : sendbuf == MPI_IN_PLACE) return pass();
  return join_and_reduce(Ranks::in_any_order, 0, sendbuf, at_root ? recvbuf : nullptr, count, type, op, comm,
                         pass, [&](const Inside& inside, Span* s, const SpanReduction& r) {
                           return reduce_spanning(inside, s, root, r);
                         });
}

}  // namespace

int reduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::reduce, comm, when, {count, type})) return pass();
  if (when.later)
    return place_at_once(comm, when, {count, type}).answer(pass, [&](const Place& at) {
      if (root < 0 || root >= at.count) return pass();
      const bool at_root = at.rank == root;
      if (at_root ? recvbuf == nullptr : sendbuf == MPI_IN_PLACE) return pass();
      return reduce_later(
          at, when, at_root, sendbuf, at_root ? recvbuf : nullptr, count, type, op, comm, pass,
          [root](message::Parts& parts, const layout::Region& send, const message::Pieces& places) {
            return begin_gather(parts, root, send, places, false);
          });
    });
  CommInfo* c = meeting_place(comm);
  if (c == nullptr) return reduce_on_hosts(sendbuf, recvbuf, count, type, op, root, comm, pass);
  if (root < 0 || root >= c->peer_count) return pass();
  const bool at_root = c->rank == root;
  if (at_root ? recvbuf == nullptr : sendbuf == MPI_IN_PLACE) return pass();
  return meet_and_reduce(Left::never, c, sendbuf, at_root ? recvbuf : nullptr, count, type, op, comm, pass,
                         [&](Meeting& m, const Operands& o, const Combination& how) {
                           return reduce_for_root(m, root, o.send, o.receive, static_cast<uint64_t>(count),
                                                  how);
                         });
}

namespace {

// count_of(rank) elements for each.
template <typename CountOf>
int reduce_scatter_on_hosts(const void* sendbuf, void* recvbuf, CountOf count_of, MPI_Datatype type,
                            MPI_Op op, MPI_Comm comm, Pass pass) {
  const int size = g_process.spans.members_of(comm);
  MPI_Count all = 0;
  if (size == 0) return pass();
  std::vector<uint64_t> counts;
  for (int i = 0; i < size; i++) {
    const MPI_Count n = count_of(i);
    if (n < 0 || __builtin_add_overflow(all, n, &all)) return pass();
    counts.push_back(static_cast<uint64_t>(n));
  }
  return join_and_reduce(Ranks::in_order, 0, sendbuf, recvbuf, all, type, op, comm, pass,
                         [&](const Inside& inside, Span* s, const SpanReduction& r) {
                           return reduce_scatter_spanning(inside, s, counts, r);
                         });
}

}  // namespace

namespace {

int reduce_scatter_small_later(CommInfo* c, When when, const Operation& o, const Operands& operands,
                               const std::vector<uint64_t>& ends) {
  std::vector<layout::Region> pieces;
  uint64_t begin = 0;
  for (const uint64_t end : ends) {
    pieces.push_back(
        {const_cast<char*>(operands.send) + begin * o.size, (end - begin) * o.size, layout::byte_layout()});
    begin = end;
  }
  auto held = std::make_unique<HeldScattered>(place_in(c), o, std::move(pieces), operands.receive);
  const message::Pieces given = held->pieces(), places = held->places();
  return begin_messages(c, when, std::move(held),
                        [=](message::Parts& parts) { return begin_exchange(parts, given, places, false); });
}

// Not between hosts. count_of(rank) elements for each.
template <typename CountOf>
int reduce_scatter_later(const void* sendbuf, void* recvbuf, CountOf count_of, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, When when, Pass pass) {
  CommInfo* c = meeting_place(comm, when);
  if (c == nullptr || !is_predefined(op)) return pass();
  MPI_Count all = 0;
  std::vector<uint64_t> ends;
  for (int i = 0; i < c->peer_count; i++) {
    if (count_of(i) < 0 || __builtin_add_overflow(all, count_of(i), &all)) return pass();
    ends.push_back(static_cast<uint64_t>(all));
  }
  return with_operands(
      sendbuf, recvbuf, all, type, op, comm, pass,
      [&](const Target&, const Operation& o, const Operands& operands, uint64_t bytes) {
        if (!joint_pays(bytes, c->peer_count)) return reduce_scatter_small_later(c, when, o, operands, ends);
        char* const into = count_of(c->rank) != 0 ? operands.receive : nullptr;
        return reduce_large_later(c, when, o, {operands.send, into, bytes / o.size}, std::move(ends));
      });
}

}  // namespace

int reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::reduce_scatter_block, comm, when, {recvcount, type})) return pass();
  if (recvbuf == nullptr || recvbuf == MPI_IN_PLACE || recvcount < 0) return pass();
  const auto the_same = [&](int) { return recvcount; };
  if (when.later) return reduce_scatter_later(sendbuf, recvbuf, the_same, type, op, comm, when, pass);
  CommInfo* c = meeting_place(comm);
  const uint64_t mine = static_cast<uint64_t>(recvcount);
  if (c == nullptr) return reduce_scatter_on_hosts(sendbuf, recvbuf, the_same, type, op, comm, pass);
  return meet_and_reduce(Left::never, c, sendbuf, recvbuf, recvcount * c->peer_count, type, op, comm, pass,
                         [&](Meeting& m, const Operands& o, const Combination& how) {
                           const uint64_t begin = mine * static_cast<uint64_t>(c->rank);
                           const uint64_t all = mine * static_cast<uint64_t>(c->peer_count);
                           return reduce_and_scatter(m, o.send, o.receive, all, begin, mine, how);
                         });
}

int reduce_scatter(const void* sendbuf, void* recvbuf, const void* recvcounts, bool large, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::reduce_scatter, comm, when)) return pass();
  const Counts counts(recvcounts, large);
  if (!counts.there() || recvbuf == MPI_IN_PLACE) return pass();
  const auto count_of = [&](int i) { return counts[i]; };
  if (when.later) return reduce_scatter_later(sendbuf, recvbuf, count_of, type, op, comm, when, pass);
  CommInfo* c = meeting_place(comm);
  if (c == nullptr) return reduce_scatter_on_hosts(sendbuf, recvbuf, count_of, type, op, comm, pass);
  if (!are_counts(counts, c->peer_count)) return pass();
  MPI_Count begin = 0, all = 0;
  for (int i = 0; i < c->peer_count; i++) {
    if (i == c->rank) begin = all;
    all += counts[i];
  }
  // A rank that gets nothing needs no buffer; in place it has one.
  const uint64_t mine = static_cast<uint64_t>(counts[c->rank]);
  return meet_and_reduce(Left::never, c, sendbuf, recvbuf, all, type, op, comm, pass,
                         [&](Meeting& m, const Operands& o, const Combination& how) {
                           return reduce_and_scatter(m, o.send, o.receive, static_cast<uint64_t>(all),
                                                     static_cast<uint64_t>(begin), mine, how);
                         });
}

namespace {

// Open MPI passes small vectors on from rank to rank as fast as this (two hosts, two ranks each: 0.9 to 1.3
// times its speed), and nobody waits for a host that is not before it. MPICH's ranks spin there.
#if defined(OPEN_MPI)
constexpr bool kScansAreLeft = true;
#else
constexpr bool kScansAreLeft = false;
#endif

int scan_on_hosts(message::Scan kind, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type,
                  MPI_Op op, MPI_Comm comm, Pass pass) {
  if (kScansAreLeft || g_process.spans.members_of(comm) == 0) return pass();
  return join_and_reduce(Ranks::in_order, 0, sendbuf, recvbuf, count, type, op, comm, pass,
                         [&](const Inside& inside, Span* s, const SpanReduction& r) {
                           return scan_spanning(inside, s, kind, r);
                         });
}

// Sizes as those of other reductions that do not block (reduce_later).
int scan_later(message::Scan kind, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type,
               MPI_Op op, MPI_Comm comm, When when, Pass pass) {
  return place_at_once(comm, when, {count, type}).answer(pass, [&](const Place& at) {
    const bool inclusive = kind == message::Scan::inclusive;
    if (!is_predefined(op) || (recvbuf == nullptr && (inclusive || at.rank != 0))) return pass();
    return with_operands(sendbuf, recvbuf, count, type, op, comm, pass,
                         [&](const Target&, const Operation& o, const Operands& operands, uint64_t bytes) {
                           if (at.comm != nullptr && joint_pays(bytes, at.count))
                             return reduce_large_later(at.comm, when, o,
                                                       {operands.send, operands.receive, bytes / o.size}, {},
                                                       kind);
                           if (!are_small(bytes, at.count)) return pass();
                           return reduce_small_later(
                               at, when, {at.rank + (inclusive ? 1 : 0), true}, o, operands, bytes,
                               [](message::Parts& parts, const layout::Region& send,
                                  const message::Pieces& places) { return begin_scan(parts, send, places); });
                         });
  });
}

}  // namespace

int scan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
         When when, Pass pass) {
  if (is_left(Collective::scan, comm, when, {count, type})) return pass();
  if (recvbuf == nullptr || recvbuf == MPI_IN_PLACE) return pass();
  const message::Scan kind = message::Scan::inclusive;
  if (when.later) return scan_later(kind, sendbuf, recvbuf, count, type, op, comm, when, pass);
  CommInfo* c = meeting_place(comm);
  if (c == nullptr) return scan_on_hosts(kind, sendbuf, recvbuf, count, type, op, comm, pass);
  return meet_and_reduce(Left::small, c, sendbuf, recvbuf, count, type, op, comm, pass,
                         [&](Meeting& m, const Operands& o, const Combination& how) {
                           return message::scan(m, kind, o.send, o.receive, static_cast<uint64_t>(count),
                                                how);
                         });
}

int exscan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
           When when, Pass pass) {
  if (is_left(Collective::exscan, comm, when, {count, type})) return pass();
  const message::Scan kind = message::Scan::exclusive;
  if (when.later) return scan_later(kind, sendbuf, recvbuf, count, type, op, comm, when, pass);
  CommInfo* c = meeting_place(comm);
  if (c == nullptr) return scan_on_hosts(kind, sendbuf, recvbuf, count, type, op, comm, pass);
  if (recvbuf == nullptr && c->rank != 0) return pass();
  return meet_and_reduce(Left::small, c, sendbuf, recvbuf, count, type, op, comm, pass,
                         [&](Meeting& m, const Operands& o, const Combination& how) {
                           return message::scan(m, kind, o.send, o.receive, static_cast<uint64_t>(count),
                                                how);
                         });
}

}  // namespace tasuki::shim::delegate
