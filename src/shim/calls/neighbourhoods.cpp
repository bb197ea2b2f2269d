// Neighbourhood collectives between tasks of one space: each rank copies what it gets from its neighbours, as
// in collectives.cpp. All ranks must come to the same decision, from the communicator alone.
#include "generated/pmpi.h"
#include "shim/calls/collective_buffers.h"
#include "shim/habits.h"
#include "shim/objects/topology.h"

namespace tasuki::shim::delegate {
namespace {

using message::Meeting;
using message::Moved;
using message::Neighbours;
using message::Parts;
using message::Pieces;
using Buffer = CollectiveBuffer;
using Use = CollectiveBuffer::Use;

// One call: where it is carried out, and the topology.
struct Neighbourhood {
  Place place;
  When when;
  const Topology* topology;
  // Must be asked from what is equal on all ranks.
  bool has_places() const { return place.comm != nullptr && !when.later; }
  const Neighbours& neighbours() const { return topology->neighbours; }
};

// Pass: the neighbourhood collectives of this communicator are the library's.
Resolved<Neighbourhood> neighbourhood(MPI_Comm comm, When when, const void* send, const void* receive,
                                      bool typed = false) {
  if (send == MPI_IN_PLACE || receive == MPI_IN_PLACE) return Unresolved::pass();  // there are none
  const auto valid = [&](const CommInfo* c, int) {
    if (c != nullptr) return true;
    int kind = MPI_UNDEFINED;
    pmpi().Topo_test(comm, &kind);
    return kind != MPI_UNDEFINED;
  };
  return place_for(comm, when, valid, typed).and_then([&](const Place& at) -> Resolved<Neighbourhood> {
    Neighbourhood n{at, when, nullptr};
    KnownTopology* const known = at.comm != nullptr ? &at.comm->topology : &at.span->topology;
    n.topology = n.has_places() ? topology_with_places(at.comm, g_process.engine)
                                : topology_of(known, comm, at.rank, at.count);
    if (n.topology == nullptr) return Unresolved::pass();
    return n;
  });
}

int exchange_all(const Neighbourhood& p, CollectiveCall& call, const Pieces& send) {
  const Pieces receive = call.receive().pieces();
  return call.carry_out(
      [&](Meeting& m, Moved* moved) {
        return exchange_among(m, p.neighbours(), p.topology->place, send, receive, moved);
      },
      [=, topology = p.topology](Parts& parts) {
        return begin_exchange_among(parts, topology->neighbours, send, receive);
      });
}

// Of a buffer for `n` neighbours: nothing is used of it, if there are none.
MPI_Count used(MPI_Count count, int n) {
  return n == 0 ? 0 : count;
}

// MPI_Neighbor_alltoall of MPICH gives the first of several pieces between two ranks the last place, against
// the standard and, before 4.1, its own MPI_Neighbor_alltoallv; programs may know that. Nobody asks whether
// any rank has several, where the places are not asked for.
bool turns_pairs_around([[maybe_unused]] const Neighbourhood& n) {
#if defined(OPEN_MPI)
  return false;
#else
  return !n.has_places() || n.topology->repeated;
#endif
}

// The same of MPI_Neighbor_alltoallv and MPI_Neighbor_alltoallw.
bool turns_pairs_of_any_size_around(const Neighbourhood& n) {
  return g_habits.turns_all_pairs_around && turns_pairs_around(n);
}

// The sender's part of an allgather; `in` fills in what the rank receives.
template <typename In>
int gather_all(const Neighbourhood& p, const void* sendbuf, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
               Pass pass, In in) {
  const MPI_Count sent = used(count, p.neighbours().destinations);
  return target(sendbuf, sent, type, comm).answer(pass, [&](const Target& from) {
    CollectiveCall call(p.place, p.when, 1, p.neighbours().sources);
    call.send().add(from, sendbuf, sent);
    in(call.receive());
    return exchange_all(p, call, call.send().same_for_all());
  });
}

}  // namespace

int neighbor_allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  return neighbourhood(comm, when, sendbuf, recvbuf).answer(pass, [&](const Neighbourhood& p) {
    const int n = p.neighbours().sources;
    return target(recvbuf, used(recvcount, n), recvtype, comm).answer(pass, [&](const Target& into) {
      return gather_all(p, sendbuf, sendcount, sendtype, comm, pass,
                        [&](Buffer& receive) { receive.add_blocks(into, recvbuf, recvcount, n); });
    });
  });
}

int neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype,
                        MPI_Comm comm, When when, Pass pass) {
  return neighbourhood(comm, when, sendbuf, recvbuf).answer(pass, [&](const Neighbourhood& p) {
    const int n = p.neighbours().sources;
    const Counts counts(recvcounts, large);
    const Displacements places(displs, large);
    if (n != 0 && (!counts.there() || !places.there() || !are_counts(counts, n))) return pass();
    return target(recvbuf, any(counts, n), recvtype, comm).answer(pass, [&](const Target& into) {
      return gather_all(p, sendbuf, sendcount, sendtype, comm, pass,
                        [&](Buffer& receive) { receive.add_blocks(into, recvbuf, counts, places, n); });
    });
  });
}

int neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  return neighbourhood(comm, when, sendbuf, recvbuf).answer(pass, [&](const Neighbourhood& p) {
    if (turns_pairs_around(p)) return pass();
    const int in = p.neighbours().sources, out = p.neighbours().destinations;
    return target(recvbuf, used(recvcount, in), recvtype, comm).answer(pass, [&](const Target& into) {
      return target(sendbuf, used(sendcount, out), sendtype, comm).answer(pass, [&](const Target& from) {
        CollectiveCall call(p.place, when, out, in);
        call.send().add_blocks(from, sendbuf, sendcount, out);
        call.receive().add_blocks(into, recvbuf, recvcount, in);
        return exchange_all(p, call, call.send().pieces());
      });
    });
  });
}

int neighbor_alltoallv(const void* sendbuf, const void* sendcounts, const void* sdispls,
                       MPI_Datatype sendtype, void* recvbuf, const void* recvcounts, const void* rdispls,
                       bool large, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  return neighbourhood(comm, when, sendbuf, recvbuf).answer(pass, [&](const Neighbourhood& p) {
    if (turns_pairs_of_any_size_around(p)) return pass();
    const int in = p.neighbours().sources, out = p.neighbours().destinations;
    const Counts sent(sendcounts, large), received(recvcounts, large);
    const Displacements from(sdispls, large), to(rdispls, large);
    if ((out != 0 && (!sent.there() || !from.there() || !are_counts(sent, out))) ||
        (in != 0 && (!received.there() || !to.there() || !are_counts(received, in))))
      return pass();
    return target(recvbuf, any(received, in), recvtype, comm).answer(pass, [&](const Target& into) {
      return target(sendbuf, any(sent, out), sendtype, comm).answer(pass, [&](const Target& origin) {
        CollectiveCall call(p.place, when, out, in);
        call.send().add_blocks(origin, sendbuf, sent, from, out);
        call.receive().add_blocks(into, recvbuf, received, to, in);
        return exchange_all(p, call, call.send().pieces());
      });
    });
  });
}

int neighbor_alltoallw(const void* sendbuf, const void* sendcounts, const MPI_Aint sdispls[],
                       const MPI_Datatype sendtypes[], void* recvbuf, const void* recvcounts,
                       const MPI_Aint rdispls[], bool large, const MPI_Datatype recvtypes[], MPI_Comm comm,
                       When when, Pass pass) {
  return neighbourhood(comm, when, sendbuf, recvbuf, true).answer(pass, [&](const Neighbourhood& p) {
    if (turns_pairs_of_any_size_around(p)) return pass();
    const int in = p.neighbours().sources, out = p.neighbours().destinations;
    const Counts sent(sendcounts, large), received(recvcounts, large);
    const Displacements from(sdispls, true), to(rdispls, true);
    if ((out != 0 && (!sent.there() || !from.there() || sendtypes == nullptr || !are_counts(sent, out))) ||
        (in != 0 && (!received.there() || !to.there() || recvtypes == nullptr || !are_counts(received, in))))
      return pass();
    CollectiveCall call(p.place, when, out, in);
    bool passes = false;
    int rc = add_typed(&call.send(), sendbuf, sent, from, sendtypes, out, comm, kNobody, &passes);
    if (rc == MPI_SUCCESS && !passes)
      rc = add_typed(&call.receive(), recvbuf, received, to, recvtypes, in, comm, kNobody, &passes);
    if (passes) return pass();
    return rc == MPI_SUCCESS ? exchange_all(p, call, call.send().pieces()) : rc;
  });
}

}  // namespace tasuki::shim::delegate
