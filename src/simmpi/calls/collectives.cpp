// Collective operations: each in its three forms, blocking, non-blocking and persistent.
#include <functional>
#include <memory>

#include "simmpi/calls/call_scope.h"
#include "simmpi/calls/collective_operations.h"
#include "simmpi/calls/user_requests.h"
#include "simmpi/objects/comm.h"
#include "simmpi/objects/datatype.h"
#include "simmpi/run/handles.h"
#include "simmpi/run/rank.h"
#include "simmpi_generated/calls.h"

namespace tasuki::simmpi {
namespace {

// An operation whose arguments have been checked: what it does, on whatever task.
struct Prepared {
  int error = MPI_SUCCESS;
  std::function<void(const Collective&)> body;
  uint64_t bytes = 0;
  int root = -1;
};
Prepared wrong(int error) {
  Prepared p;
  p.error = error;
  return p;
}

enum class Form { blocking, nonblocking, persistent };

int perform(Form form, MPI_Comm comm, MPI_Request* request, const std::function<Prepared(Comm*)>& prepare) {
  Comm* c = comm_of(comm);
  if (c == nullptr) return MPI_ERR_COMM;
  if (c->inter()) fail_rank(1, "collective operations on intercommunicators are not in the simulator");
  Prepared p = prepare(c);
  if (p.error != MPI_SUCCESS) return p.error;
  note_call(c, p.root, MPI_UNDEFINED, p.bytes, p.root >= 0 && p.root != c->self ? "with root" : nullptr);
  const Collective collective = next_collective(c);
  if (form == Form::blocking) {
    settle();
    p.body(collective);
    return MPI_SUCCESS;
  }
  Request* r = new_request(Request::Kind::operation);
  r->comm = c;
  retain(c);
  r->operation = [collective, body = std::move(p.body)] {
    body(collective);
    return MPI_SUCCESS;
  };
  if (form == Form::persistent) {
    r->persistent = true;
    r->active = false;
  } else {
    settle();
    start_operation(r);
  }
  *request = handle(r);
  return MPI_SUCCESS;
}

Typed typed(const void* buffer, int64_t count, MPI_Datatype type) {
  return {const_cast<void*>(buffer), static_cast<uint64_t>(count), type_of(type)};
}

bool root_fits(const Comm* c, int root) {
  return root >= 0 && root < c->size();
}

// ---- one function for each operation: checks, and what is to be done
Prepared Barrier_body(Comm*) {
  Prepared p;
  p.body = [](const Collective& c) { barrier(c); };
  return p;
}

Prepared Bcast_body(Comm* comm, void* buffer, MPI_Count count, MPI_Datatype datatype, int root) {
  if (count < 0) return wrong(MPI_ERR_COUNT);
  if (type_of(datatype) == nullptr) return wrong(MPI_ERR_TYPE);
  if (!root_fits(comm, root)) return wrong(MPI_ERR_ROOT);
  const Typed data = typed(buffer, count, datatype);
  return {MPI_SUCCESS, [=](const Collective& c) { broadcast(c, data, root); }, data.bytes(), root};
}

Prepared Gather_body(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                     void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root) {
  if (!root_fits(comm, root)) return wrong(MPI_ERR_ROOT);
  const bool top = comm->self == root, in_place = sendbuf == MPI_IN_PLACE;
  if ((!in_place && type_of(sendtype) == nullptr) || (top && type_of(recvtype) == nullptr))
    return wrong(MPI_ERR_TYPE);
  if ((!in_place && sendcount < 0) || (top && recvcount < 0)) return wrong(MPI_ERR_COUNT);
  const Typed send = in_place ? Typed{nullptr, 0, nullptr} : typed(sendbuf, sendcount, sendtype);
  const Typed receive = top ? typed(recvbuf, recvcount, recvtype) : Typed{nullptr, 0, nullptr};
  return {MPI_SUCCESS, [=](const Collective& c) { gather_equal(c, send, receive, root); },
          in_place ? 0 : send.bytes(), root};
}

Prepared Gatherv_body(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void* recvbuf, Counts recvcounts, Counts displs, MPI_Datatype recvtype, int root) {
  if (!root_fits(comm, root)) return wrong(MPI_ERR_ROOT);
  const bool top = comm->self == root, in_place = sendbuf == MPI_IN_PLACE;
  if ((!in_place && type_of(sendtype) == nullptr) || (top && type_of(recvtype) == nullptr))
    return wrong(MPI_ERR_TYPE);
  if (!in_place && sendcount < 0) return wrong(MPI_ERR_COUNT);
  const Typed send = in_place ? Typed{nullptr, 0, nullptr} : typed(sendbuf, sendcount, sendtype);
  const Blocks blocks = [=](int i) {
    return typed(recvbuf, recvcounts[static_cast<size_t>(i)], recvtype).at(displs[static_cast<size_t>(i)]);
  };
  return {MPI_SUCCESS, [=](const Collective& c) { gather(c, send, blocks, root); },
          in_place ? 0 : send.bytes(), root};
}

Prepared Scatter_body(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root) {
  if (!root_fits(comm, root)) return wrong(MPI_ERR_ROOT);
  const bool top = comm->self == root, in_place = recvbuf == MPI_IN_PLACE;
  if ((top && type_of(sendtype) == nullptr) || (!in_place && type_of(recvtype) == nullptr))
    return wrong(MPI_ERR_TYPE);
  if ((top && sendcount < 0) || (!in_place && recvcount < 0)) return wrong(MPI_ERR_COUNT);
  const Typed send = top ? typed(sendbuf, sendcount, sendtype) : Typed{nullptr, 0, nullptr};
  const Typed receive = in_place ? Typed{nullptr, 0, nullptr} : typed(recvbuf, recvcount, recvtype);
  return {MPI_SUCCESS, [=](const Collective& c) { scatter_equal(c, send, receive, root); },
          in_place ? 0 : receive.bytes(), root};
}

Prepared Scatterv_body(Comm* comm, const void* sendbuf, Counts sendcounts, Counts displs,
                       MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                       int root) {
  if (!root_fits(comm, root)) return wrong(MPI_ERR_ROOT);
  const bool top = comm->self == root, in_place = recvbuf == MPI_IN_PLACE;
  if ((top && type_of(sendtype) == nullptr) || (!in_place && type_of(recvtype) == nullptr))
    return wrong(MPI_ERR_TYPE);
  if (!in_place && recvcount < 0) return wrong(MPI_ERR_COUNT);
  const Typed receive = in_place ? Typed{nullptr, 0, nullptr} : typed(recvbuf, recvcount, recvtype);
  const Blocks blocks = [=](int i) {
    return typed(sendbuf, sendcounts[static_cast<size_t>(i)], sendtype).at(displs[static_cast<size_t>(i)]);
  };
  return {MPI_SUCCESS, [=](const Collective& c) { scatter(c, blocks, receive, root); },
          in_place ? 0 : receive.bytes(), root};
}

Prepared gather_all(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                    MPI_Datatype recvtype, const Blocks& blocks) {
  if ((sendbuf != MPI_IN_PLACE && type_of(sendtype) == nullptr) || type_of(recvtype) == nullptr)
    return wrong(MPI_ERR_TYPE);
  if (sendbuf != MPI_IN_PLACE && sendcount < 0) return wrong(MPI_ERR_COUNT);
  const Typed own = blocks(comm->self);
  Prepared p;
  p.bytes = own.bytes();
  p.body = [=](const Collective& c) {
    if (sendbuf != MPI_IN_PLACE) copy(own, typed(sendbuf, sendcount, sendtype));
    allgather(c, blocks);
  };
  return p;
}

Prepared Allgather_body(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                        void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype) {
  if (recvcount < 0) return wrong(MPI_ERR_COUNT);
  if (type_of(recvtype) == nullptr) return wrong(MPI_ERR_TYPE);
  return gather_all(comm, sendbuf, sendcount, sendtype, recvtype,
                    [=](int i) { return typed(recvbuf, recvcount, recvtype).at(i * recvcount); });
}

Prepared Allgatherv_body(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                         void* recvbuf, Counts recvcounts, Counts displs, MPI_Datatype recvtype) {
  if (type_of(recvtype) == nullptr) return wrong(MPI_ERR_TYPE);
  return gather_all(comm, sendbuf, sendcount, sendtype, recvtype, [=](int i) {
    return typed(recvbuf, recvcounts[static_cast<size_t>(i)], recvtype).at(displs[static_cast<size_t>(i)]);
  });
}

Prepared Alltoall_body(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                       void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype) {
  const bool in_place = sendbuf == MPI_IN_PLACE;
  if ((!in_place && type_of(sendtype) == nullptr) || type_of(recvtype) == nullptr) return wrong(MPI_ERR_TYPE);
  if ((!in_place && sendcount < 0) || recvcount < 0) return wrong(MPI_ERR_COUNT);
  const Typed receive = typed(recvbuf, recvcount * comm->size(), recvtype);
  Prepared p;
  p.bytes = receive.bytes();
  p.body = [=](const Collective& c) {
    if (in_place) {
      const Scratch own(receive.count, receive.type);
      copy(own.typed(), receive);
      alltoall(c, own.typed(), receive, static_cast<uint64_t>(recvcount), static_cast<uint64_t>(recvcount));
    } else {
      alltoall(c, typed(sendbuf, sendcount * c.comm->size(), sendtype), receive,
               static_cast<uint64_t>(sendcount), static_cast<uint64_t>(recvcount));
    }
  };
  return p;
}

// In place the blocks that leave are those that arrive: they are copied first.
Prepared exchange(Comm* comm, bool in_place, const Blocks& send, const Blocks& receive) {
  Prepared p;
  for (int i = 0; i < comm->size(); i++) {
    const Typed t = (in_place ? receive : send)(i);
    if (t.type == nullptr) return wrong(MPI_ERR_TYPE);
    p.bytes += t.bytes();
  }
  p.body = [=](const Collective& c) {
    if (!in_place) {
      alltoall_blocks(c, send, receive);
      return;
    }
    std::vector<std::unique_ptr<Scratch>> copies;
    for (int i = 0; i < c.comm->size(); i++) {
      const Typed t = receive(i);
      copies.push_back(std::make_unique<Scratch>(t.count, t.type));
      copy(copies.back()->typed(), t);
    }
    alltoall_blocks(
        c, [&](int i) { return copies[static_cast<size_t>(i)]->typed(); }, receive);
  };
  return p;
}

Prepared Alltoallv_body(Comm* comm, const void* sendbuf, Counts sendcounts, Counts sdispls,
                        MPI_Datatype sendtype, void* recvbuf, Counts recvcounts, Counts rdispls,
                        MPI_Datatype recvtype) {
  const bool in_place = sendbuf == MPI_IN_PLACE;
  if ((!in_place && type_of(sendtype) == nullptr) || type_of(recvtype) == nullptr) return wrong(MPI_ERR_TYPE);
  return exchange(
      comm, in_place,
      [=](int i) {
        return typed(sendbuf, sendcounts[static_cast<size_t>(i)], sendtype)
            .at(sdispls[static_cast<size_t>(i)]);
      },
      [=](int i) {
        return typed(recvbuf, recvcounts[static_cast<size_t>(i)], recvtype)
            .at(rdispls[static_cast<size_t>(i)]);
      });
}

Typed typed_at(const void* buffer, int64_t bytes, int64_t count, MPI_Datatype type) {
  return typed(
      reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(buffer) + static_cast<uintptr_t>(bytes)),
      count, type);
}

Prepared Alltoallw_body(Comm* comm, const void* sendbuf, Counts sendcounts, Counts sdispls,
                        const MPI_Datatype* sendtypes, void* recvbuf, Counts recvcounts, Counts rdispls,
                        const MPI_Datatype* recvtypes) {
  return exchange(
      comm, sendbuf == MPI_IN_PLACE,
      [=](int i) {
        return typed_at(sendbuf, sdispls[static_cast<size_t>(i)], sendcounts[static_cast<size_t>(i)],
                        sendtypes[i]);
      },
      [=](int i) {
        return typed_at(recvbuf, rdispls[static_cast<size_t>(i)], recvcounts[static_cast<size_t>(i)],
                        recvtypes[i]);
      });
}

// ---- reductions
int check_reduction(MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  return count < 0 ? MPI_ERR_COUNT : check_op(op, datatype);
}

Prepared Reduce_body(Comm* comm, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Op op, int root) {
  if (!root_fits(comm, root)) return wrong(MPI_ERR_ROOT);
  if (const int error = check_reduction(count, datatype, op); error != MPI_SUCCESS) return wrong(error);
  const bool top = comm->self == root;
  const Typed send = typed(sendbuf, count, datatype), receive = typed(recvbuf, count, datatype);
  return {MPI_SUCCESS,
          [=](const Collective& c) {
            if (top && sendbuf != MPI_IN_PLACE) copy(receive, send);
            // Elsewhere the data are only read.
            reduce(c, top ? receive : send, op, root);
          },
          send.bytes(), root};
}

Prepared Allreduce_body(Comm*, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                        MPI_Op op) {
  if (const int error = check_reduction(count, datatype, op); error != MPI_SUCCESS) return wrong(error);
  const Typed receive = typed(recvbuf, count, datatype);
  return {MPI_SUCCESS,
          [=](const Collective& c) {
            if (sendbuf != MPI_IN_PLACE) copy(receive, typed(sendbuf, count, datatype));
            allreduce(c, receive, op);
          },
          receive.bytes(), -1};
}

Prepared scatter_reduced(Comm* comm, const void* sendbuf, void* recvbuf,
                         const std::function<int64_t(int)>& count_of, MPI_Datatype datatype, MPI_Op op) {
  int64_t total = 0;
  std::vector<int64_t> at;
  for (int i = 0; i < comm->size(); i++) {
    at.push_back(total);
    total += count_of(i);
  }
  if (const int error = check_reduction(total, datatype, op); error != MPI_SUCCESS) return wrong(error);
  const void* from = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
  const Typed send = typed(from, total, datatype);
  const Typed receive = typed(recvbuf, count_of(comm->self), datatype);
  const auto all_counts = [count_of, n = comm->size()] {
    std::vector<int64_t> v;
    for (int i = 0; i < n; i++) v.push_back(count_of(i));
    return v;
  }();
  return {MPI_SUCCESS,
          [=](const Collective& c) {
            const Scratch all(send.count, send.type);
            copy(all.typed(), send);
            reduce(c, all.typed(), op, 0);
            Collective second = c;
            second.tag++;
            scatter(
                second,
                [&](int i) {
                  Typed t = all.typed().at(at[static_cast<size_t>(i)]);
                  t.count = static_cast<uint64_t>(all_counts[static_cast<size_t>(i)]);
                  return t;
                },
                receive, 0);
          },
          send.bytes(), -1};
}

Prepared Reduce_scatter_body(Comm* comm, const void* sendbuf, void* recvbuf, Counts recvcounts,
                             MPI_Datatype datatype, MPI_Op op) {
  return scatter_reduced(
      comm, sendbuf, recvbuf, [=](int i) { return recvcounts[static_cast<size_t>(i)]; }, datatype, op);
}

Prepared Reduce_scatter_block_body(Comm* comm, const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                   MPI_Datatype datatype, MPI_Op op) {
  return scatter_reduced(
      comm, sendbuf, recvbuf, [=](int) { return recvcount; }, datatype, op);
}

Prepared prefix(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                bool exclusive) {
  if (const int error = check_reduction(count, datatype, op); error != MPI_SUCCESS) return wrong(error);
  const Typed data = typed(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, count, datatype);
  return {MPI_SUCCESS, [=](const Collective& c) { scan(c, data, op, exclusive, recvbuf); }, data.bytes(), -1};
}
Prepared Scan_body(Comm*, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                   MPI_Op op) {
  return prefix(sendbuf, recvbuf, count, datatype, op, false);
}
Prepared Exscan_body(Comm*, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Op op) {
  return prefix(sendbuf, recvbuf, count, datatype, op, true);
}

// ---- neighbours
struct Neighbors {
  std::vector<int> from, to;
};

int neighbors_of(const Comm* c, Neighbors* n) {
  if (c->cart != nullptr) {
    const CartTopology& t = *c->cart;
    int stride = c->size();
    for (size_t d = 0; d < t.dims.size(); d++) {
      stride /= t.dims[d];
      const int at = c->self / stride % t.dims[d];
      for (const int step : {-1, 1}) {
        const int next = at + step;
        const bool inside = next >= 0 && next < t.dims[d];
        const int rank = inside || t.periods[d] != 0
                             ? c->self + ((next + t.dims[d]) % t.dims[d] - at) * stride
                             : MPI_PROC_NULL;
        n->from.push_back(rank);
        n->to.push_back(rank);
      }
    }
  } else if (c->graph != nullptr) {
    const int begin = c->self == 0 ? 0 : c->graph->index[static_cast<size_t>(c->self) - 1];
    const int end = c->graph->index[static_cast<size_t>(c->self)];
    n->from.assign(c->graph->edges.begin() + begin, c->graph->edges.begin() + end);
    n->to = n->from;
  } else if (c->neighbors != nullptr) {
    n->from = c->neighbors->sources;
    n->to = c->neighbors->destinations;
  } else {
    return MPI_ERR_TOPOLOGY;
  }
  return MPI_SUCCESS;
}

Prepared neighbor_exchange(Comm* comm, const Blocks& send, const Blocks& receive) {
  Neighbors n;
  if (const int error = neighbors_of(comm, &n); error != MPI_SUCCESS) return wrong(error);
  // On a ring of one or two the same rank is a neighbour on both sides: what it sent up comes in from below.
  const bool cart = comm->cart != nullptr;
  Prepared p;
  for (size_t i = 0; i < n.to.size(); i++) p.bytes += send(static_cast<int>(i)).bytes();
  p.body = [=](const Collective& c) {
    std::vector<Request*> requests;
    for (size_t i = 0; i < n.from.size(); i++) {
      const int tag = c.tag + (cart ? static_cast<int>(i % 2) : 0);
      requests.push_back(begin_receive(c.comm, c.comm->collective_context(), n.from[i], tag,
                                       whole(receive(static_cast<int>(i))), false));
    }
    for (size_t i = 0; i < n.to.size(); i++) {
      const int tag = c.tag + (cart ? static_cast<int>(1 - i % 2) : 0);
      requests.push_back(begin_send(c.comm, c.comm->collective_context(), n.to[i], tag,
                                    whole(send(static_cast<int>(i))), false));
    }
    finish(&requests);
  };
  return p;
}

Prepared Neighbor_allgather_body(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype) {
  if (type_of(sendtype) == nullptr || type_of(recvtype) == nullptr) return wrong(MPI_ERR_TYPE);
  return neighbor_exchange(
      comm, [=](int) { return typed(sendbuf, sendcount, sendtype); },
      [=](int i) { return typed(recvbuf, recvcount, recvtype).at(i * recvcount); });
}
Prepared Neighbor_allgatherv_body(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, Counts recvcounts, Counts displs, MPI_Datatype recvtype) {
  if (type_of(sendtype) == nullptr || type_of(recvtype) == nullptr) return wrong(MPI_ERR_TYPE);
  return neighbor_exchange(
      comm, [=](int) { return typed(sendbuf, sendcount, sendtype); },
      [=](int i) {
        return typed(recvbuf, recvcounts[static_cast<size_t>(i)], recvtype)
            .at(displs[static_cast<size_t>(i)]);
      });
}
Prepared Neighbor_alltoall_body(Comm* comm, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype) {
  if (type_of(sendtype) == nullptr || type_of(recvtype) == nullptr) return wrong(MPI_ERR_TYPE);
  return neighbor_exchange(
      comm, [=](int i) { return typed(sendbuf, sendcount, sendtype).at(i * sendcount); },
      [=](int i) { return typed(recvbuf, recvcount, recvtype).at(i * recvcount); });
}
Prepared Neighbor_alltoallv_body(Comm* comm, const void* sendbuf, Counts sendcounts, Counts sdispls,
                                 MPI_Datatype sendtype, void* recvbuf, Counts recvcounts, Counts rdispls,
                                 MPI_Datatype recvtype) {
  if (type_of(sendtype) == nullptr || type_of(recvtype) == nullptr) return wrong(MPI_ERR_TYPE);
  return neighbor_exchange(
      comm,
      [=](int i) {
        return typed(sendbuf, sendcounts[static_cast<size_t>(i)], sendtype)
            .at(sdispls[static_cast<size_t>(i)]);
      },
      [=](int i) {
        return typed(recvbuf, recvcounts[static_cast<size_t>(i)], recvtype)
            .at(rdispls[static_cast<size_t>(i)]);
      });
}
Prepared Neighbor_alltoallw_body(Comm* comm, const void* sendbuf, Counts sendcounts, const MPI_Aint* sdispls,
                                 const MPI_Datatype* sendtypes, void* recvbuf, Counts recvcounts,
                                 const MPI_Aint* rdispls, const MPI_Datatype* recvtypes) {
  return neighbor_exchange(
      comm,
      [=](int i) { return typed_at(sendbuf, sdispls[i], sendcounts[static_cast<size_t>(i)], sendtypes[i]); },
      [=](int i) { return typed_at(recvbuf, rdispls[i], recvcounts[static_cast<size_t>(i)], recvtypes[i]); });
}

}  // namespace

namespace calls {

// The three forms of an operation: its name twice, parameters and arguments without the communicator.
#define UNPACK(...) __VA_ARGS__
#define COLLECTIVE(Name, name, PARAMETERS, ARGUMENTS)                                                        \
  int Name(UNPACK PARAMETERS MPI_Comm comm) {                                                                \
    return perform(Form::blocking, comm, nullptr, [&](Comm* c) { return Name##_body(c UNPACK ARGUMENTS); }); \
  }                                                                                                          \
  int I##name(UNPACK PARAMETERS MPI_Comm comm, MPI_Request* request) {                                       \
    return perform(Form::nonblocking, comm, request,                                                         \
                   [&](Comm* c) { return Name##_body(c UNPACK ARGUMENTS); });                                \
  }                                                                                                          \
  int Name##_init(UNPACK PARAMETERS MPI_Comm comm, MPI_Info, MPI_Request* request) {                         \
    return perform(Form::persistent, comm, request,                                                          \
                   [&](Comm* c) { return Name##_body(c UNPACK ARGUMENTS); });                                \
  }

#define EQUAL_PARAMETERS                                                                               \
  const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, \
      MPI_Datatype recvtype
#define EQUAL_ARGUMENTS sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype
#define REDUCE_PARAMETERS \
  const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op
#define REDUCE_ARGUMENTS sendbuf, recvbuf, count, datatype, op
#define V_PARAMETERS                                                                            \
  const void *sendbuf, Counts sendcounts, Counts sdispls, MPI_Datatype sendtype, void *recvbuf, \
      Counts recvcounts, Counts rdispls, MPI_Datatype recvtype
#define V_ARGUMENTS sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype
#define GATHERV_PARAMETERS                                                                           \
  const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, Counts recvcounts, \
      Counts displs, MPI_Datatype recvtype
#define GATHERV_ARGUMENTS sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype

COLLECTIVE(Barrier, barrier, (), ())
COLLECTIVE(Bcast, bcast, (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, ),
           (, buffer, count, datatype, root))
COLLECTIVE(Gather, gather, (EQUAL_PARAMETERS, int root, ), (, EQUAL_ARGUMENTS, root))
COLLECTIVE(Gatherv, gatherv, (GATHERV_PARAMETERS, int root, ), (, GATHERV_ARGUMENTS, root))
COLLECTIVE(Scatter, scatter, (EQUAL_PARAMETERS, int root, ), (, EQUAL_ARGUMENTS, root))
COLLECTIVE(Scatterv, scatterv,
           (const void* sendbuf, Counts sendcounts, Counts displs, MPI_Datatype sendtype, void* recvbuf,
            MPI_Count recvcount, MPI_Datatype recvtype, int root, ),
           (, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root))
COLLECTIVE(Allgather, allgather, (EQUAL_PARAMETERS, ), (, EQUAL_ARGUMENTS))
COLLECTIVE(Allgatherv, allgatherv, (GATHERV_PARAMETERS, ), (, GATHERV_ARGUMENTS))
COLLECTIVE(Alltoall, alltoall, (EQUAL_PARAMETERS, ), (, EQUAL_ARGUMENTS))
COLLECTIVE(Alltoallv, alltoallv, (V_PARAMETERS, ), (, V_ARGUMENTS))
COLLECTIVE(Alltoallw, alltoallw,
           (const void* sendbuf, Counts sendcounts, Counts sdispls, const MPI_Datatype sendtypes[],
            void* recvbuf, Counts recvcounts, Counts rdispls, const MPI_Datatype recvtypes[], ),
           (, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes))
COLLECTIVE(Reduce, reduce, (REDUCE_PARAMETERS, int root, ), (, REDUCE_ARGUMENTS, root))
COLLECTIVE(Allreduce, allreduce, (REDUCE_PARAMETERS, ), (, REDUCE_ARGUMENTS))
COLLECTIVE(Scan, scan, (REDUCE_PARAMETERS, ), (, REDUCE_ARGUMENTS))
COLLECTIVE(Exscan, exscan, (REDUCE_PARAMETERS, ), (, REDUCE_ARGUMENTS))
COLLECTIVE(Reduce_scatter, reduce_scatter,
           (const void* sendbuf, void* recvbuf, Counts recvcounts, MPI_Datatype datatype, MPI_Op op, ),
           (, sendbuf, recvbuf, recvcounts, datatype, op))
COLLECTIVE(Reduce_scatter_block, reduce_scatter_block,
           (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, ),
           (, sendbuf, recvbuf, recvcount, datatype, op))
COLLECTIVE(Neighbor_allgather, neighbor_allgather, (EQUAL_PARAMETERS, ), (, EQUAL_ARGUMENTS))
COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, (GATHERV_PARAMETERS, ), (, GATHERV_ARGUMENTS))
COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, (EQUAL_PARAMETERS, ), (, EQUAL_ARGUMENTS))
COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, (V_PARAMETERS, ), (, V_ARGUMENTS))
COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw,
           (const void* sendbuf, Counts sendcounts, const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
            void* recvbuf, Counts recvcounts, const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], ),
           (, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes))

// ---- operators
int Op_create(OpFunction user_fn, int commute, MPI_Op* op) {
  auto* o = new Op;
  o->function = user_fn;
  o->commutes = commute != 0;
  *op = reinterpret_cast<MPI_Op>(o);
  return MPI_SUCCESS;
}
int Op_free(MPI_Op* op) {
  if (op_of(*op) == nullptr) return MPI_ERR_OP;
  *op = MPI_OP_NULL;  // operations that are under way may still need it
  return MPI_SUCCESS;
}
int Op_commutative(MPI_Op op, int* commute) {
  *commute = commutes(op);
  return MPI_SUCCESS;
}
int Reduce_local(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  if (const int error = check_reduction(count, datatype, op); error != MPI_SUCCESS) return error;
  return tasuki::simmpi::reduce(op, datatype, inbuf, inoutbuf, static_cast<uint64_t>(count));
}

}  // namespace calls
}  // namespace tasuki::simmpi
