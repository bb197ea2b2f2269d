// Communicators and requests of the rank that runs: what its handles stand for, and messages within MPI
// itself.
#pragma once

#include <cstdint>
#include <vector>

#include "simmpi/objects/comm.h"
#include "simmpi/objects/mpi_state.h"

namespace tasuki::simmpi {

MpiState& mpi_state();

MPI_Comm handle(Comm* comm);
Comm* comm_of(MPI_Comm comm);  // null: not a communicator (any more)
Comm* new_comm(MembersPtr local, uint64_t context, const Comm* like);
Request* new_request(Request::Kind kind);

// Messages within MPI itself: blocking or not, on `context` of the communicator.
struct Buffer {
  layout::Region region;
  uint64_t from, bytes;
};
Buffer bytes_at(const void* p, uint64_t n);
Request* begin_send(Comm* comm, uint64_t context, int peer, int tag, const Buffer& buffer, bool control);
Request* begin_receive(Comm* comm, uint64_t context, int peer, int tag, const Buffer& buffer, bool control);
void finish(Request* r);  // waits and frees
void finish(std::vector<Request*>* requests);

}  // namespace tasuki::simmpi
