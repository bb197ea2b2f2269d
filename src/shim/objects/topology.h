// Whom a rank exchanges pieces with in the neighbourhood collectives of a communicator, from the topology
// that the MPI library keeps of it.
#pragma once

#include "message/collectives/exchange.h"
#include "shim/objects/comm.h"

namespace tasuki::shim {

struct Topology {
  message::Neighbours neighbours;
  // Of topology_with_places().
  bool has_places;
  int* place;     // of each source, as find_places() says
  bool repeated;  // some rank has another one twice in a list
};

// The communicator's. nullptr: its neighbourhood collectives are the library's, for all members alike. A rank
// without memory ends the job.
//
// That is so where the communicator has no topology, and in a grid with a periodic dimension of one or two
// ranks: the neighbours on both sides are one rank there, and libraries do not agree on which piece goes
// where.
const Topology* topology_of(KnownTopology* known, MPI_Comm comm, int rank, int count);
// The same between tasks of one space, collective.
const Topology* topology_with_places(CommInfo* c, message::Engine& engine);

void free_topology(Topology* t);

}  // namespace tasuki::shim
