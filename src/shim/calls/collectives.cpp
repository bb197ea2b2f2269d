// Collective operations that move data, between tasks of one space. All ranks must come to the same decision
// from what is equal on all of them: the communicator, the root, and the size of a piece where all pieces
// have the same. A call with arguments that are not valid is the library's, which says so.
#include <algorithm>

#include "generated/pmpi.h"
#include "shim/calls/collective_buffers.h"
#include "shim/hosts/span_collectives.h"

namespace tasuki::shim::delegate {
namespace {

using message::Meeting;
using message::Moved;
using message::Parts;
using Buffer = CollectiveBuffer;
using Use = CollectiveBuffer::Use;
using message::Collective;

// MPICH calls it an error to name one buffer twice, where the arguments for both sides are the `same`. (Such
// a call is not left to the library: it can be told not to look, and would wait for the others then.)
bool is_alias([[maybe_unused]] const void* one, [[maybe_unused]] const void* other,
              [[maybe_unused]] bool same) {
#if defined(OPEN_MPI)
  return false;
#else
  return same && one == other && one != nullptr;
#endif
}

int buffer_error(MPI_Comm comm) {
  return raise(comm, MPI_ERR_BUFFER);
}

auto in_range(int root) {
  return [root](const CommInfo*, int members) { return root >= 0 && root < members; };
}

// Of a piece that is as large for all: there is nothing to move, or the library is the better one to move it.
// Between hosts that is known before.
bool is_left(const Place& at, const Target& t, MPI_Count count, When when) {
  if (at.comm == nullptr) return false;
  const uint64_t bytes = static_cast<uint64_t>(count) * t.type->size;
  return bytes == 0 || (!when.later && at.count > kFewRanks && is_faster_by_library(bytes));
}

// Where MPICH looks for the piece of a rank, to compare it with the other buffer.
[[maybe_unused]] const void* at_packed(const void* buffer, const Target& t, MPI_Count element) {
  return static_cast<const char*>(buffer) + static_cast<MPI_Count>(t.type->size) * element;
}

const void* at_element(const void* buffer, const Target& t, MPI_Count element) {
  return static_cast<const char*>(buffer) + extent_of(t) * element;
}

// Between hosts, in the order that the user has chosen. nullptr: he has chosen none, or it is in the space.
const schedule::Schedule* chosen_rounds(const Place& at) {
  const SpanChoices& choices = g_process.spans.choices();
  if (at.span == nullptr || choices.alltoall == 0) return nullptr;
  Span& s = *at.span;
  if (s.rounds_known) return s.rounds;
  s.rounds_known = true;
  s.rounds =
      chosen_schedule(choices, *kAlltoalls[choices.alltoall],
                      {.ranks = static_cast<uint32_t>(at.count), .bytes = 1}, s.of_all && at.rank == 0);
  return s.rounds;
}

int exchange_all(CollectiveCall& call, const message::Pieces& send, bool own) {
  const message::Pieces receive = call.receive().pieces();
  const schedule::Schedule* const rounds = call.is_later() ? nullptr : chosen_rounds(call.place());
  if (rounds != nullptr) return call.carry_out(*rounds, send, receive, own);
  return call.carry_out([&](Meeting& m, Moved* moved) { return exchange(m, send, receive, own, moved); },
                        [=](Parts& parts) { return begin_exchange(parts, send, receive, own); });
}

// Where the members are on several hosts. `places`: displacements by rank; nullptr: one piece behind the
// other. count_of(rank) elements of each.
template <typename CountOf>
int allgather_on_hosts(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       CountOf count_of, const Displacements* places, MPI_Datatype recvtype, MPI_Comm comm,
                       Pass pass) {
  Process& p = g_process;
  const int size = p.spans.members_of(comm);
  if (size == 0) return pass();
  return target(recvbuf, 1, recvtype, comm).answer(pass, [&](const Target& into) {
    MPI_Count elements = 0;
    bool in_a_row = true;
    for (int i = 0; i < size; i++) {
      if (count_of(i) < 0) return pass();
      if (places != nullptr && (*places)[i] != (*places)[0] + elements) in_a_row = false;
      if (__builtin_add_overflow(elements, count_of(i), &elements)) return pass();
    }
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(into.type->size, static_cast<uint64_t>(elements), &bytes) || bytes == 0)
      return pass();
    return p.spans.get_for(comm, bytes).answer(pass, [&](Span* s) {
      if (!s->shares()) return pass();
      const auto place_of = [&](int i) { return places != nullptr ? (*places)[i] : count_of(0) * i; };
      const MPI_Count mine = count_of(s->rank);
      const bool in_place = sendbuf == MPI_IN_PLACE;
      if (is_alias(sendbuf, at_packed(recvbuf, into, place_of(s->rank)),
                   sendtype == recvtype && sendcount != 0 && mine != 0 &&
                       (places != nullptr || sendcount == mine)))
        return buffer_error(comm);
      const MPI_Count sent = in_place ? mine : sendcount;
      const void* const own_at = in_place ? at_element(recvbuf, into, place_of(s->rank)) : sendbuf;
      const Resolved<Target> from = in_place ? into : target(sendbuf, sendcount, sendtype, comm);
      return from.answer(pass, [&](const Target& t) {
        const bool whole = in_a_row && s->in_order;
        Buffer own(Use::send, 1), all(Use::receive, whole ? 1 : size);
        own.add(t, own_at, sent);
        SpanGathered gathered{{}, nullptr, nullptr};
        for (int i = 0; i < size; i++)
          gathered.bytes.push_back(static_cast<uint64_t>(count_of(i)) * into.type->size);
        if (whole) {
          all.add(into, at_element(recvbuf, into, place_of(0)), elements);
          gathered.whole = &all[0];
        } else {
          for (int i = 0; i < size; i++) all.add(into, at_element(recvbuf, into, place_of(i)), count_of(i));
          gathered.pieces = &all[0];
        }
        const int rc = allgather_spanning({p.engine, p.broadcaster}, s, own[0], gathered);
        all.finish();
        return end_on_hosts(comm, rc);
      });
    });
  });
}

}  // namespace

int allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
              MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::allgather, comm, when, {recvcount, recvtype})) return pass();
  if (recvbuf == MPI_IN_PLACE) return pass();
  CommInfo* c = meeting_place(comm, when);
  if (c == nullptr && !when.later)
    return allgather_on_hosts(
        sendbuf, sendcount, sendtype, recvbuf, [&](int) { return recvcount; }, nullptr, recvtype, comm, pass);
  return place_at_once(c, comm, when, {recvcount, recvtype}).answer(pass, [&](const Place& at) {
    return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
      const bool in_place = sendbuf == MPI_IN_PLACE;
      if (is_alias(sendbuf, at_packed(recvbuf, into, recvcount * at.rank),
                   sendtype == recvtype && sendcount == recvcount && sendcount != 0))
        return buffer_error(comm);
      if (is_left(at, into, recvcount, when)) return pass();
      const void* const own = in_place ? at_element(recvbuf, into, recvcount * at.rank) : sendbuf;
      const MPI_Count count = in_place ? recvcount : sendcount;
      const Resolved<Target> sent = in_place ? into : target(sendbuf, sendcount, sendtype, comm);
      return sent.answer(pass, [&](const Target& from) {
        CollectiveCall call(at, when, 1, at.count);
        call.send().add(from, own, count);
        call.receive().add_blocks(into, recvbuf, recvcount, at.count, in_place ? at.rank : kNobody);
        return exchange_all(call, call.send().same_for_all(), !in_place);
      });
    });
  });
}

namespace {

MPI_Count largest(const Counts& counts, int n) {
  MPI_Count most = 0;
  for (int i = 0; i < n; i++) most = std::max(most, counts[i]);
  return most;
}

}  // namespace

int allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype, MPI_Comm comm,
               When when, Pass pass) {
  if (is_left(Collective::allgatherv, comm, when)) return pass();
  const Counts counts(recvcounts, large);
  const Displacements places(displs, large);
  if (recvbuf == MPI_IN_PLACE || !counts.there() || !places.there()) return pass();
  CommInfo* c = meeting_place(comm, when);
  if (c == nullptr && !when.later)
    return allgather_on_hosts(
        sendbuf, sendcount, sendtype, recvbuf, [&](int i) { return counts[i]; }, &places, recvtype, comm,
        pass);
  const MPI_Count most = c != nullptr ? 0 : largest(counts, members_on_hosts(comm, when));
  return place_at_once(c, comm, when, {most, recvtype}).answer(pass, [&](const Place& at) {
    if (!are_counts(counts, at.count)) return pass();
    return target(recvbuf, any(counts, at.count), recvtype, comm).answer(pass, [&](const Target& into) {
      const bool in_place = sendbuf == MPI_IN_PLACE;
      if (is_alias(sendbuf, at_packed(recvbuf, into, places[at.rank]),
                   sendtype == recvtype && sendcount != 0 && counts[at.rank] != 0))
        return buffer_error(comm);
      const void* const own = in_place ? at_element(recvbuf, into, places[at.rank]) : sendbuf;
      const MPI_Count count = in_place ? counts[at.rank] : sendcount;
      const Resolved<Target> sent = in_place ? into : target(sendbuf, sendcount, sendtype, comm);
      return sent.answer(pass, [&](const Target& from) {
        CollectiveCall call(at, when, 1, at.count);
        call.send().add(from, own, count);
        call.receive().add_blocks(into, recvbuf, counts, places, at.count, in_place ? at.rank : kNobody);
        return exchange_all(call, call.send().same_for_all(), !in_place);
      });
    });
  });
}

int alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::alltoall, comm, when, {recvcount, recvtype})) return pass();
  if (recvbuf == MPI_IN_PLACE) return pass();
  return place_for_pieces(comm, when, {recvcount, recvtype}).answer(pass, [&](const Place& at) {
    if (is_alias(sendbuf, recvbuf, sendtype == recvtype && sendcount == recvcount && sendcount != 0))
      return buffer_error(comm);
    return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
      if (is_left(at, into, recvcount, when)) return pass();
      const bool in_place = sendbuf == MPI_IN_PLACE;
      const Resolved<Target> sent = in_place ? into : target(sendbuf, sendcount, sendtype, comm);
      return sent.answer(pass, [&](const Target& from) {
        const MPI_Count count = in_place ? recvcount : sendcount;
        const int n = at.count, but = in_place ? at.rank : kNobody;
        CollectiveCall call(at, when, n, n);
        call.send().add_blocks(from, in_place ? recvbuf : sendbuf, count, n, but);
        if (in_place) call.send().copy_aside();
        call.receive().add_blocks(into, recvbuf, recvcount, n, but);
        return exchange_all(call, call.send().pieces(), !in_place);
      });
    });
  });
}

int alltoallv(const void* sendbuf, const void* sendcounts, const void* sdispls, MPI_Datatype sendtype,
              void* recvbuf, const void* recvcounts, const void* rdispls, bool large, MPI_Datatype recvtype,
              MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::alltoallv, comm, when)) return pass();
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const Counts received(recvcounts, large), sent = in_place ? received : Counts(sendcounts, large);
  const Displacements to(rdispls, large), from = in_place ? to : Displacements(sdispls, large);
  if (recvbuf == MPI_IN_PLACE || !received.there() || !sent.there() || !to.there() || !from.there())
    return pass();
  const auto valid = [&](const CommInfo*, int n) { return are_counts(received, n) && are_counts(sent, n); };
  return place_for(comm, when, valid).answer(pass, [&](const Place& at) {
    const int n = at.count, but = in_place ? at.rank : kNobody;
    if (is_alias(sendbuf, recvbuf, sendtype == recvtype && sendcounts == recvcounts))
      return buffer_error(comm);
    return target(recvbuf, any(received, n), recvtype, comm).answer(pass, [&](const Target& into) {
      const Resolved<Target> out = in_place ? into : target(sendbuf, any(sent, n), sendtype, comm);
      return out.answer(pass, [&](const Target& origin) {
        CollectiveCall call(at, when, n, n);
        call.send().add_blocks(origin, in_place ? recvbuf : sendbuf, sent, from, n, but);
        if (in_place) call.send().copy_aside();
        call.receive().add_blocks(into, recvbuf, received, to, n, but);
        return exchange_all(call, call.send().pieces(), !in_place);
      });
    });
  });
}

int alltoallw(const void* sendbuf, const void* sendcounts, const void* sdispls,
              const MPI_Datatype sendtypes[], void* recvbuf, const void* recvcounts, const void* rdispls,
              bool large, const MPI_Datatype recvtypes[], MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::alltoallw, comm, when)) return pass();
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const Counts received(recvcounts, large), sent = in_place ? received : Counts(sendcounts, large);
  const Displacements to(rdispls, large), from = in_place ? to : Displacements(sdispls, large);
  const MPI_Datatype* const out = in_place ? recvtypes : sendtypes;
  if (recvbuf == MPI_IN_PLACE || !received.there() || !sent.there() || !to.there() || !from.there() ||
      out == nullptr || recvtypes == nullptr)
    return pass();
  const auto valid = [&](const CommInfo*, int n) { return are_counts(received, n) && are_counts(sent, n); };
  return place_for(comm, when, valid, true).answer(pass, [&](const Place& at) {
    const int n = at.count, but = in_place ? at.rank : kNobody;
    if (is_alias(sendbuf, recvbuf, sendtypes == recvtypes && sendcounts == recvcounts))
      return buffer_error(comm);
    CollectiveCall call(at, when, n, n);
    bool passes = false;
    int rc = add_typed(&call.send(), in_place ? recvbuf : sendbuf, sent, from, out, n, comm, but, &passes);
    if (rc == MPI_SUCCESS && !passes)
      rc = add_typed(&call.receive(), recvbuf, received, to, recvtypes, n, comm, but, &passes);
    if (passes) return pass();
    if (rc != MPI_SUCCESS) return rc;
    if (in_place) call.send().copy_aside();
    return exchange_all(call, call.send().pieces(), !in_place);
  });
}

namespace {

constexpr message::Pieces kNoPieces{nullptr, 0};

// `call` has both buffers' pieces: at the root its own one and all, elsewhere one.
int gather_to(CollectiveCall& call, int root, const message::Pieces& receive, bool own) {
  const layout::Region& send = call.send()[0];
  return call.carry_out(
      [&](Meeting& m, Moved* moved) { return gather(m, root, send, receive, own, moved); },
      [=, from = &send](Parts& parts) { return begin_gather(parts, root, *from, receive, own); });
}

int scatter_from(CollectiveCall& call, int root, const message::Pieces& send, bool own) {
  const layout::Region& receive = call.receive()[0];
  return call.carry_out(
      [&](Meeting& m, Moved* moved) { return scatter(m, root, send, receive, own, moved); },
      [=, into = &receive](Parts& parts) { return begin_scatter(parts, root, send, *into, own); });
}

// The others' part of a gather, and of a scatter.
int give(const Place& at, When when, int root, const Target& from, const void* sendbuf, MPI_Count count) {
  CollectiveCall call(at, when, 1, 0);
  call.send().add(from, sendbuf, count);
  return gather_to(call, root, kNoPieces, false);
}

int get(const Place& at, When when, int root, const Target& into, void* recvbuf, MPI_Count count) {
  CollectiveCall call(at, when, 0, 1);
  call.receive().add(into, recvbuf, count);
  return scatter_from(call, root, kNoPieces, false);
}

// The root's own piece, for which nothing stands where it is in place, and then the rest: `rest()`.
template <typename Rest>
int with_own(Buffer& own, const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm, Pass pass,
             Rest rest) {
  if (buffer == MPI_IN_PLACE) {
    own.add_nothing();
    return rest();
  }
  return target(buffer, count, type, comm).answer(pass, [&](const Target& t) {
    own.add(t, buffer, count);
    return rest();
  });
}

}  // namespace

int gather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
           MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::gather, comm, when, root, {recvcount, recvtype}, {sendcount, sendtype}))
    return pass();
  return place_for_pieces(comm, when, root, {recvcount, recvtype}, {sendcount, sendtype})
      .answer(pass, [&](const Place& at) {
        if (at.rank != root) {
          return target(sendbuf, sendcount, sendtype, comm).answer(pass, [&](const Target& from) {
            if (is_left(at, from, sendcount, when) || sendbuf == MPI_IN_PLACE) return pass();
            return give(at, when, root, from, sendbuf, sendcount);
          });
        }
        if (recvbuf == MPI_IN_PLACE) return pass();
        return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
          if (is_alias(sendbuf, at_packed(recvbuf, into, recvcount * root),
                       sendtype == recvtype && sendcount == recvcount && sendcount != 0))
            return buffer_error(comm);
          if (is_left(at, into, recvcount, when)) return pass();
          const bool in_place = sendbuf == MPI_IN_PLACE;
          CollectiveCall call(at, when, 1, at.count);
          return with_own(call.send(), sendbuf, sendcount, sendtype, comm, pass, [&] {
            call.receive().add_blocks(into, recvbuf, recvcount, at.count, in_place ? root : kNobody);
            return gather_to(call, root, call.receive().pieces(), !in_place);
          });
        });
      });
}

int gatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype, int root,
            MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::gatherv, comm, when)) return pass();
  return place_for(comm, when, in_range(root)).answer(pass, [&](const Place& at) {
    if (at.rank != root) {
      if (sendbuf == MPI_IN_PLACE) return pass();
      return target(sendbuf, sendcount, sendtype, comm).answer(pass, [&](const Target& from) {
        return give(at, when, root, from, sendbuf, sendcount);
      });
    }
    const Counts counts(recvcounts, large);
    const Displacements places(displs, large);
    if (recvbuf == MPI_IN_PLACE || !counts.there() || !places.there() || !are_counts(counts, at.count))
      return pass();
    return target(recvbuf, any(counts, at.count), recvtype, comm).answer(pass, [&](const Target& into) {
      if (is_alias(sendbuf, at_packed(recvbuf, into, places[root]),
                   sendtype == recvtype && sendcount != 0 && counts[root] != 0))
        return buffer_error(comm);
      const bool in_place = sendbuf == MPI_IN_PLACE;
      CollectiveCall call(at, when, 1, at.count);
      return with_own(call.send(), sendbuf, sendcount, sendtype, comm, pass, [&] {
        call.receive().add_blocks(into, recvbuf, counts, places, at.count, in_place ? root : kNobody);
        return gather_to(call, root, call.receive().pieces(), !in_place);
      });
    });
  });
}

int scatter(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::scatter, comm, when, root, {sendcount, sendtype}, {recvcount, recvtype}))
    return pass();
  return place_for_pieces(comm, when, root, {sendcount, sendtype}, {recvcount, recvtype})
      .answer(pass, [&](const Place& at) {
        if (at.rank != root) {
          return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
            if (is_left(at, into, recvcount, when) || recvbuf == MPI_IN_PLACE) return pass();
            return get(at, when, root, into, recvbuf, recvcount);
          });
        }
        if (sendbuf == MPI_IN_PLACE) return pass();
        return target(sendbuf, sendcount, sendtype, comm).answer(pass, [&](const Target& from) {
          if (is_alias(recvbuf, at_packed(sendbuf, from, sendcount * root),
                       sendtype == recvtype && sendcount == recvcount && recvcount != 0))
            return buffer_error(comm);
          if (is_left(at, from, sendcount, when)) return pass();
          const bool in_place = recvbuf == MPI_IN_PLACE;
          CollectiveCall call(at, when, at.count, 1);
          return with_own(call.receive(), recvbuf, recvcount, recvtype, comm, pass, [&] {
            call.send().add_blocks(from, sendbuf, sendcount, at.count, in_place ? root : kNobody);
            return scatter_from(call, root, call.send().pieces(), !in_place);
          });
        });
      });
}

int scatterv(const void* sendbuf, const void* sendcounts, const void* displs, bool large,
             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
             MPI_Comm comm, When when, Pass pass) {
  if (is_left(Collective::scatterv, comm, when)) return pass();
  return place_for(comm, when, in_range(root)).answer(pass, [&](const Place& at) {
    if (at.rank != root) {
      if (recvbuf == MPI_IN_PLACE) return pass();
      return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
        return get(at, when, root, into, recvbuf, recvcount);
      });
    }
    const Counts counts(sendcounts, large);
    const Displacements places(displs, large);
    if (sendbuf == MPI_IN_PLACE || !counts.there() || !places.there() || !are_counts(counts, at.count))
      return pass();
    return target(sendbuf, any(counts, at.count), sendtype, comm).answer(pass, [&](const Target& from) {
      if (is_alias(recvbuf, at_packed(sendbuf, from, places[root]),
                   sendtype == recvtype && recvcount != 0 && counts[root] != 0))
        return buffer_error(comm);
      const bool in_place = recvbuf == MPI_IN_PLACE;
      CollectiveCall call(at, when, at.count, 1);
      return with_own(call.receive(), recvbuf, recvcount, recvtype, comm, pass, [&] {
        call.send().add_blocks(from, sendbuf, counts, places, at.count, in_place ? root : kNobody);
        return scatter_from(call, root, call.send().pieces(), !in_place);
      });
    });
  });
}

}  // namespace tasuki::shim::delegate
