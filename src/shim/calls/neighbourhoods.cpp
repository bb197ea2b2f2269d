// Neighbourhood collectives between tasks of one space: each rank copies what it gets from its neighbours, as
// in collectives.cpp. All ranks must come to the same decision, from the communicator alone.
#include "shim/calls/collective_buffers.h"
#include "shim/objects/topology.h"

namespace tasuki::shim::delegate {
namespace {

using message::Meeting;
using message::Moved;
using message::Neighbours;
using message::Pieces;
using Buffer = CollectiveBuffer;
using Use = CollectiveBuffer::Use;

// One call: the communicator, whose neighbourhood collectives are this layer's, and its topology.
struct Place {
  CommInfo* comm;
  const Topology* topology;  // nullptr: the library's
  const Neighbours& neighbours() const { return topology->neighbours; }
};

// In place there are no such operations.
Place place_for(MPI_Comm comm, const void* send, const void* receive) {
  CommInfo* const c = send == MPI_IN_PLACE || receive == MPI_IN_PLACE ? nullptr : meeting_place(comm);
  return {c, c == nullptr ? nullptr : topology_of(c, g_process.engine)};
}

int exchange_all(const Place& p, const Pieces& send, Buffer& receive) {
  const int rc = carry_out(p.comm, [&](Meeting& m, Moved* moved) {
    return exchange_among(m, p.neighbours(), p.topology->place, send, receive.pieces(), moved);
  });
  receive.finish();
  return rc;
}

// Of a buffer for `n` neighbours: nothing is used of it, if there are none.
MPI_Count used(MPI_Count count, int n) {
  return n == 0 ? 0 : count;
}

// MPI_Neighbor_alltoall of MPICH gives the first of several pieces between two ranks the last place, against
// the standard and its own MPI_Neighbor_alltoallv; programs may know that.
bool turns_pairs_around([[maybe_unused]] const Topology& t) {
#if defined(OPEN_MPI)
  return false;
#else
  return t.repeated;
#endif
}

// The sender's part of an allgather, and then the rest: rest(send).
template <typename Rest>
int with_one_piece(const Place& p, const void* sendbuf, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                   Pass pass, Rest rest) {
  const MPI_Count sent = used(count, p.neighbours().destinations);
  return target(sendbuf, sent, type, comm).answer(pass, [&](const Target& from) {
    Buffer send(Use::send, 1);
    if (sent == 0)
      send.add_nothing();
    else
      send.add(from, sendbuf, sent);
    return rest(send.same_for_all());
  });
}

}  // namespace

int neighbor_allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Pass pass) {
  const Place p = place_for(comm, sendbuf, recvbuf);
  if (p.topology == nullptr) return pass();
  const int n = p.neighbours().sources;
  return target(recvbuf, used(recvcount, n), recvtype, comm).answer(pass, [&](const Target& into) {
    return with_one_piece(p, sendbuf, sendcount, sendtype, comm, pass, [&](const Pieces& send) {
      Buffer receive(Use::receive, n);
      receive.add_blocks(into, recvbuf, recvcount, n);
      return exchange_all(p, send, receive);
    });
  });
}

int neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype,
                        MPI_Comm comm, Pass pass) {
  const Place p = place_for(comm, sendbuf, recvbuf);
  if (p.topology == nullptr) return pass();
  const int n = p.neighbours().sources;
  const Counts counts(recvcounts, large);
  const Displacements places(displs, large);
  if (n != 0 && (!counts.there() || !places.there() || !are_counts(counts, n))) return pass();
  return target(recvbuf, any(counts, n), recvtype, comm).answer(pass, [&](const Target& into) {
    return with_one_piece(p, sendbuf, sendcount, sendtype, comm, pass, [&](const Pieces& send) {
      Buffer receive(Use::receive, n);
      receive.add_blocks(into, recvbuf, counts, places, n);
      return exchange_all(p, send, receive);
    });
  });
}

int neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Pass pass) {
  const Place p = place_for(comm, sendbuf, recvbuf);
  if (p.topology == nullptr || turns_pairs_around(*p.topology)) return pass();
  const int in = p.neighbours().sources, out = p.neighbours().destinations;
  return target(recvbuf, used(recvcount, in), recvtype, comm).answer(pass, [&](const Target& into) {
    return target(sendbuf, used(sendcount, out), sendtype, comm).answer(pass, [&](const Target& from) {
      Buffer send(Use::send, out), receive(Use::receive, in);
      send.add_blocks(from, sendbuf, sendcount, out);
      receive.add_blocks(into, recvbuf, recvcount, in);
      return exchange_all(p, send.pieces(), receive);
    });
  });
}

int neighbor_alltoallv(const void* sendbuf, const void* sendcounts, const void* sdispls,
                       MPI_Datatype sendtype, void* recvbuf, const void* recvcounts, const void* rdispls,
                       bool large, MPI_Datatype recvtype, MPI_Comm comm, Pass pass) {
  const Place p = place_for(comm, sendbuf, recvbuf);
  if (p.topology == nullptr) return pass();
  const int in = p.neighbours().sources, out = p.neighbours().destinations;
  const Counts sent(sendcounts, large), received(recvcounts, large);
  const Displacements from(sdispls, large), to(rdispls, large);
  if ((out != 0 && (!sent.there() || !from.there() || !are_counts(sent, out))) ||
      (in != 0 && (!received.there() || !to.there() || !are_counts(received, in))))
    return pass();
  return target(recvbuf, any(received, in), recvtype, comm).answer(pass, [&](const Target& into) {
    return target(sendbuf, any(sent, out), sendtype, comm).answer(pass, [&](const Target& origin) {
      Buffer send(Use::send, out), receive(Use::receive, in);
      send.add_blocks(origin, sendbuf, sent, from, out);
      receive.add_blocks(into, recvbuf, received, to, in);
      return exchange_all(p, send.pieces(), receive);
    });
  });
}

int neighbor_alltoallw(const void* sendbuf, const void* sendcounts, const MPI_Aint sdispls[],
                       const MPI_Datatype sendtypes[], void* recvbuf, const void* recvcounts,
                       const MPI_Aint rdispls[], bool large, const MPI_Datatype recvtypes[], MPI_Comm comm,
                       Pass pass) {
  const Place p = place_for(comm, sendbuf, recvbuf);
  if (p.topology == nullptr) return pass();
  const int in = p.neighbours().sources, out = p.neighbours().destinations;
  const Counts sent(sendcounts, large), received(recvcounts, large);
  const Displacements from(sdispls, true), to(rdispls, true);
  if ((out != 0 && (!sent.there() || !from.there() || sendtypes == nullptr || !are_counts(sent, out))) ||
      (in != 0 && (!received.there() || !to.there() || recvtypes == nullptr || !are_counts(received, in))))
    return pass();
  Buffer send(Use::send, out), receive(Use::receive, in);
  bool passes = false;
  int rc = add_typed(&send, sendbuf, sent, from, sendtypes, out, comm, kNobody, &passes);
  if (rc == MPI_SUCCESS && !passes)
    rc = add_typed(&receive, recvbuf, received, to, recvtypes, in, comm, kNobody, &passes);
  if (passes) return pass();
  return rc == MPI_SUCCESS ? exchange_all(p, send.pieces(), receive) : rc;
}

}  // namespace tasuki::shim::delegate
