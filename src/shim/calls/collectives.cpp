// Collective operations that move data, between tasks of one space. All ranks must come to the same decision
// from what is equal on all of them: the communicator, the root, and the size of a piece where all pieces
// have the same. A call with arguments that are not valid is the library's, which says so.
#include "generated/pmpi.h"
#include "shim/calls/collective_buffers.h"
#include "shim/hosts/span_collectives.h"

namespace tasuki::shim::delegate {
namespace {

using message::Meeting;
using message::Moved;
using Buffer = CollectiveBuffer;
using Use = CollectiveBuffer::Use;

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

// Of a piece that is as large for all: there is nothing to move, or the library is the better one to move it.
bool is_left(const Target& t, MPI_Count count, Waits waits) {
  const uint64_t bytes = static_cast<uint64_t>(count) * t.type->size;
  return bytes == 0 || is_faster_by_library(waits, bytes);
}

// Where MPICH looks for the piece of a rank, to compare it with the other buffer.
[[maybe_unused]] const void* at_packed(const void* buffer, const Target& t, MPI_Count element) {
  return static_cast<const char*>(buffer) + static_cast<MPI_Count>(t.type->size) * element;
}

const void* at_element(const void* buffer, const Target& t, MPI_Count element) {
  return static_cast<const char*>(buffer) + extent_of(t) * element;
}

int exchange_all(CommInfo* c, const message::Pieces& send, Buffer& receive, bool own) {
  const int rc =
      carry_out(c, [&](Meeting& m, Moved* moved) { return exchange(m, send, receive.pieces(), own, moved); });
  receive.finish();
  return rc;
}

// Where the members are on several hosts.
int allgather_on_hosts(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Pass pass) {
  Process& p = g_process;
  if (!p.spans.collectives() || comm == MPI_COMM_NULL || recvcount <= 0 || recvbuf == nullptr) return pass();
  return p.types.find(recvtype, comm).answer(pass, [&](TypeInfo* received) {
    int size = 0;
    uint64_t bytes = 0;
    pmpi().Comm_size(comm, &size);
    if (__builtin_mul_overflow(received->size * static_cast<uint64_t>(size), static_cast<uint64_t>(recvcount),
                               &bytes) ||
        !spans_pay(bytes))
      return pass();
    return p.spans.get(comm).answer(pass, [&](Span* s) {
      if (!span_collectives_pay(*s, bytes) || !s->in_order) return pass();
      const Target into{nullptr, received, recvtype, 0};
      const bool in_place = sendbuf == MPI_IN_PLACE;
      if (is_alias(sendbuf, at_packed(recvbuf, into, recvcount * s->rank),
                   sendtype == recvtype && sendcount == recvcount))
        return buffer_error(comm);
      const Resolved<TypeInfo*> sent = in_place ? received : p.types.find(sendtype, comm);
      return sent.answer(pass, [&](TypeInfo* t) {
        Buffer own(Use::send, 1), all(Use::receive, 1);
        own.add({nullptr, t, in_place ? recvtype : sendtype, 0},
                in_place ? at_element(recvbuf, into, recvcount * s->rank) : sendbuf,
                in_place ? recvcount : sendcount);
        all.add(into, recvbuf, recvcount * size);
        const int rc = allgather_spanning({p.engine, p.broadcaster}, s, own[0], all[0]);
        all.finish();
        p.engine.count(p.engine.stats().spanning);
        return rc == MPI_SUCCESS ? rc : raise(comm, rc);
      });
    });
  });
}

}  // namespace

int allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
              MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Pass pass) {
  if (recvbuf == MPI_IN_PLACE) return pass();
  CommInfo* c = meeting_place(comm);
  if (c == nullptr)
    return allgather_on_hosts(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, pass);
  return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    if (is_alias(sendbuf, at_packed(recvbuf, into, recvcount * c->rank),
                 sendtype == recvtype && sendcount == recvcount && sendcount != 0))
      return buffer_error(comm);
    const void* const own = in_place ? at_element(recvbuf, into, recvcount * c->rank) : sendbuf;
    const MPI_Count count = in_place ? recvcount : sendcount;
    const Resolved<Target> sent = in_place ? into : target(sendbuf, sendcount, sendtype, comm);
    return sent.answer(pass, [&](const Target& from) {
      if (is_left(from, count, Waits::for_all)) return pass();
      Buffer send(Use::send, 1), receive(Use::receive, c->peer_count);
      send.add(from, own, count);
      receive.add_blocks(into, recvbuf, recvcount, c->peer_count, in_place ? c->rank : kNobody);
      return exchange_all(c, send.same_for_all(), receive, !in_place);
    });
  });
}

int allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype, MPI_Comm comm,
               Pass pass) {
  CommInfo* c = meeting_place(comm);
  const Counts counts(recvcounts, large);
  const Displacements places(displs, large);
  if (c == nullptr || recvbuf == MPI_IN_PLACE || !counts.there() || !places.there() ||
      !are_counts(counts, c->peer_count))
    return pass();
  return target(recvbuf, any(counts, c->peer_count), recvtype, comm).answer(pass, [&](const Target& into) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    if (is_alias(sendbuf, at_packed(recvbuf, into, places[c->rank]),
                 sendtype == recvtype && sendcount != 0 && counts[c->rank] != 0))
      return buffer_error(comm);
    const void* const own = in_place ? at_element(recvbuf, into, places[c->rank]) : sendbuf;
    const MPI_Count count = in_place ? counts[c->rank] : sendcount;
    const Resolved<Target> sent = in_place ? into : target(sendbuf, sendcount, sendtype, comm);
    return sent.answer(pass, [&](const Target& from) {
      Buffer send(Use::send, 1), receive(Use::receive, c->peer_count);
      send.add(from, own, count);
      receive.add_blocks(into, recvbuf, counts, places, c->peer_count, in_place ? c->rank : kNobody);
      return exchange_all(c, send.same_for_all(), receive, !in_place);
    });
  });
}

int alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Pass pass) {
  CommInfo* c = meeting_place(comm);
  if (c == nullptr || recvbuf == MPI_IN_PLACE) return pass();
  if (is_alias(sendbuf, recvbuf, sendtype == recvtype && sendcount == recvcount && sendcount != 0))
    return buffer_error(comm);
  return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const Resolved<Target> sent = in_place ? into : target(sendbuf, sendcount, sendtype, comm);
    return sent.answer(pass, [&](const Target& from) {
      const MPI_Count count = in_place ? recvcount : sendcount;
      if (is_left(from, count, Waits::for_all)) return pass();
      const int n = c->peer_count, but = in_place ? c->rank : kNobody;
      Buffer send(Use::send, n), receive(Use::receive, n);
      send.add_blocks(from, in_place ? recvbuf : sendbuf, count, n, but);
      if (in_place) send.copy_aside();
      receive.add_blocks(into, recvbuf, recvcount, n, but);
      return exchange_all(c, send.pieces(), receive, !in_place);
    });
  });
}

int alltoallv(const void* sendbuf, const void* sendcounts, const void* sdispls, MPI_Datatype sendtype,
              void* recvbuf, const void* recvcounts, const void* rdispls, bool large, MPI_Datatype recvtype,
              MPI_Comm comm, Pass pass) {
  CommInfo* c = meeting_place(comm);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const Counts received(recvcounts, large), sent = in_place ? received : Counts(sendcounts, large);
  const Displacements to(rdispls, large), from = in_place ? to : Displacements(sdispls, large);
  if (c == nullptr || recvbuf == MPI_IN_PLACE || !received.there() || !sent.there() || !to.there() ||
      !from.there() || !are_counts(received, c->peer_count) || !are_counts(sent, c->peer_count))
    return pass();
  if (is_alias(sendbuf, recvbuf, sendtype == recvtype && sendcounts == recvcounts)) return buffer_error(comm);
  const int n = c->peer_count;
  return target(recvbuf, any(received, n), recvtype, comm).answer(pass, [&](const Target& into) {
    const Resolved<Target> out = in_place ? into : target(sendbuf, any(sent, n), sendtype, comm);
    return out.answer(pass, [&](const Target& origin) {
      const int but = in_place ? c->rank : kNobody;
      Buffer send(Use::send, n), receive(Use::receive, n);
      send.add_blocks(origin, in_place ? recvbuf : sendbuf, sent, from, n, but);
      if (in_place) send.copy_aside();
      receive.add_blocks(into, recvbuf, received, to, n, but);
      return exchange_all(c, send.pieces(), receive, !in_place);
    });
  });
}

int alltoallw(const void* sendbuf, const void* sendcounts, const void* sdispls,
              const MPI_Datatype sendtypes[], void* recvbuf, const void* recvcounts, const void* rdispls,
              bool large, const MPI_Datatype recvtypes[], MPI_Comm comm, Pass pass) {
  CommInfo* c = meeting_place(comm);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const Counts received(recvcounts, large), sent = in_place ? received : Counts(sendcounts, large);
  const Displacements to(rdispls, large), from = in_place ? to : Displacements(sdispls, large);
  const MPI_Datatype* const out = in_place ? recvtypes : sendtypes;
  if (c == nullptr || recvbuf == MPI_IN_PLACE || !received.there() || !sent.there() || !to.there() ||
      !from.there() || out == nullptr || recvtypes == nullptr || !are_counts(received, c->peer_count) ||
      !are_counts(sent, c->peer_count))
    return pass();
  if (is_alias(sendbuf, recvbuf, sendtypes == recvtypes && sendcounts == recvcounts))
    return buffer_error(comm);
  const int n = c->peer_count, but = in_place ? c->rank : kNobody;
  Buffer send(Use::send, n), receive(Use::receive, n);
  bool passes = false;
  int rc = add_typed(&send, in_place ? recvbuf : sendbuf, sent, from, out, n, comm, but, &passes);
  if (rc == MPI_SUCCESS && !passes)
    rc = add_typed(&receive, recvbuf, received, to, recvtypes, n, comm, but, &passes);
  if (passes) return pass();
  if (rc != MPI_SUCCESS) return rc;
  if (in_place) send.copy_aside();
  return exchange_all(c, send.pieces(), receive, !in_place);
}

namespace {

// The others' part of a gather, and of a scatter.
int give(CommInfo* c, int root, const Target& from, const void* sendbuf, MPI_Count count) {
  Buffer send(Use::send, 1);
  send.add(from, sendbuf, count);
  return carry_out(c, [&](Meeting& m, Moved* moved) {
    return gather(m, root, send[0], {nullptr, 0}, false, moved);
  });
}

int get(CommInfo* c, int root, const Target& into, void* recvbuf, MPI_Count count) {
  Buffer receive(Use::receive, 1);
  receive.add(into, recvbuf, count);
  const int rc = carry_out(c, [&](Meeting& m, Moved* moved) {
    return scatter(m, c->context, root, {nullptr, 0}, receive[0], false, moved);
  });
  receive.finish();
  return rc;
}

// The root's part: its own piece, which nothing stands for where it is in place, and all pieces.
int gather_here(CommInfo* c, const Buffer& own, Buffer& receive, bool in_place) {
  const int rc = carry_out(c, [&](Meeting& m, Moved* moved) {
    return gather(m, c->rank, own[0], receive.pieces(), !in_place, moved);
  });
  receive.finish();
  return rc;
}

int scatter_here(CommInfo* c, const Buffer& send, Buffer& own, bool in_place) {
  const int rc = carry_out(c, [&](Meeting& m, Moved* moved) {
    return scatter(m, c->context, c->rank, send.pieces(), own[0], !in_place, moved);
  });
  own.finish();
  return rc;
}

// The root's own piece of a gather or scatter, and then the rest: `rest(own)`.
template <typename Rest>
int with_own(Use use, const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm, Pass pass,
             Rest rest) {
  Buffer own(use, 1);
  if (buffer == MPI_IN_PLACE) {
    own.add_nothing();
    return rest(own);
  }
  return target(buffer, count, type, comm).answer(pass, [&](const Target& t) {
    own.add(t, buffer, count);
    return rest(own);
  });
}

}  // namespace

int gather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
           MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, Pass pass) {
  CommInfo* c = meeting_place(comm);
  if (c == nullptr || root < 0 || root >= c->peer_count) return pass();
  if (c->rank != root) {
    return target(sendbuf, sendcount, sendtype, comm).answer(pass, [&](const Target& from) {
      if (is_left(from, sendcount, Waits::for_some) || sendbuf == MPI_IN_PLACE) return pass();
      return give(c, root, from, sendbuf, sendcount);
    });
  }
  if (recvbuf == MPI_IN_PLACE) return pass();
  return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
    if (is_alias(sendbuf, at_packed(recvbuf, into, recvcount * root),
                 sendtype == recvtype && sendcount == recvcount && sendcount != 0))
      return buffer_error(comm);
    if (is_left(into, recvcount, Waits::for_some)) return pass();
    return with_own(Use::send, sendbuf, sendcount, sendtype, comm, pass, [&](const Buffer& own) {
      const bool in_place = sendbuf == MPI_IN_PLACE;
      Buffer receive(Use::receive, c->peer_count);
      receive.add_blocks(into, recvbuf, recvcount, c->peer_count, in_place ? root : kNobody);
      return gather_here(c, own, receive, in_place);
    });
  });
}

int gatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype, int root,
            MPI_Comm comm, Pass pass) {
  CommInfo* c = meeting_place(comm);
  if (c == nullptr || root < 0 || root >= c->peer_count) return pass();
  if (c->rank != root) {
    if (sendbuf == MPI_IN_PLACE) return pass();
    return target(sendbuf, sendcount, sendtype, comm).answer(pass, [&](const Target& from) {
      return give(c, root, from, sendbuf, sendcount);
    });
  }
  const Counts counts(recvcounts, large);
  const Displacements places(displs, large);
  if (recvbuf == MPI_IN_PLACE || !counts.there() || !places.there() || !are_counts(counts, c->peer_count))
    return pass();
  return target(recvbuf, any(counts, c->peer_count), recvtype, comm).answer(pass, [&](const Target& into) {
    if (is_alias(sendbuf, at_packed(recvbuf, into, places[root]),
                 sendtype == recvtype && sendcount != 0 && counts[root] != 0))
      return buffer_error(comm);
    return with_own(Use::send, sendbuf, sendcount, sendtype, comm, pass, [&](const Buffer& own) {
      const bool in_place = sendbuf == MPI_IN_PLACE;
      Buffer receive(Use::receive, c->peer_count);
      receive.add_blocks(into, recvbuf, counts, places, c->peer_count, in_place ? root : kNobody);
      return gather_here(c, own, receive, in_place);
    });
  });
}

int scatter(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, Pass pass) {
  CommInfo* c = meeting_place(comm);
  if (c == nullptr || root < 0 || root >= c->peer_count) return pass();
  if (c->rank != root) {
    return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
      if (is_left(into, recvcount, Waits::for_some) || recvbuf == MPI_IN_PLACE) return pass();
      return get(c, root, into, recvbuf, recvcount);
    });
  }
  if (sendbuf == MPI_IN_PLACE) return pass();
  return target(sendbuf, sendcount, sendtype, comm).answer(pass, [&](const Target& from) {
    if (is_alias(recvbuf, at_packed(sendbuf, from, sendcount * root),
                 sendtype == recvtype && sendcount == recvcount && recvcount != 0))
      return buffer_error(comm);
    if (is_left(from, sendcount, Waits::for_some)) return pass();
    return with_own(Use::receive, recvbuf, recvcount, recvtype, comm, pass, [&](Buffer& own) {
      const bool in_place = recvbuf == MPI_IN_PLACE;
      Buffer send(Use::send, c->peer_count);
      send.add_blocks(from, sendbuf, sendcount, c->peer_count, in_place ? root : kNobody);
      return scatter_here(c, send, own, in_place);
    });
  });
}

int scatterv(const void* sendbuf, const void* sendcounts, const void* displs, bool large,
             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
             MPI_Comm comm, Pass pass) {
  CommInfo* c = meeting_place(comm);
  if (c == nullptr || root < 0 || root >= c->peer_count) return pass();
  if (c->rank != root) {
    if (recvbuf == MPI_IN_PLACE) return pass();
    return target(recvbuf, recvcount, recvtype, comm).answer(pass, [&](const Target& into) {
      return get(c, root, into, recvbuf, recvcount);
    });
  }
  const Counts counts(sendcounts, large);
  const Displacements places(displs, large);
  if (sendbuf == MPI_IN_PLACE || !counts.there() || !places.there() || !are_counts(counts, c->peer_count))
    return pass();
  return target(sendbuf, any(counts, c->peer_count), sendtype, comm).answer(pass, [&](const Target& from) {
    if (is_alias(recvbuf, at_packed(sendbuf, from, places[root]),
                 sendtype == recvtype && recvcount != 0 && counts[root] != 0))
      return buffer_error(comm);
    return with_own(Use::receive, recvbuf, recvcount, recvtype, comm, pass, [&](Buffer& own) {
      const bool in_place = recvbuf == MPI_IN_PLACE;
      Buffer send(Use::send, c->peer_count);
      send.add_blocks(from, sendbuf, counts, places, c->peer_count, in_place ? root : kNobody);
      return scatter_here(c, send, own, in_place);
    });
  });
}

}  // namespace tasuki::shim::delegate
