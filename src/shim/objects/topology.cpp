#include "shim/objects/topology.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "generated/pmpi.h"
#include "shim/errors.h"

namespace tasuki::shim {
namespace {

using message::kNoNeighbour;

struct Lists {
  std::vector<int> sources, destinations;
};

// False: the library's.
bool neighbours_in_grid(MPI_Comm comm, Lists* lists) {
  int dimensions = 0;
  pmpi().Cartdim_get(comm, &dimensions);
  const auto n = static_cast<size_t>(dimensions);
  std::vector<int> sizes(n + 1), periods(n + 1), coordinates(n + 1);
  pmpi().Cart_get(comm, dimensions, sizes.data(), periods.data(), coordinates.data());
  for (int i = 0; i < dimensions; i++) {
    if (periods[static_cast<size_t>(i)] != 0 && sizes[static_cast<size_t>(i)] <= 2) return false;
    int before = MPI_PROC_NULL, after = MPI_PROC_NULL;
    pmpi().Cart_shift(comm, i, 1, &before, &after);
    for (const int rank : {before, after})
      lists->sources.push_back(rank == MPI_PROC_NULL ? kNoNeighbour : rank);
  }
  lists->destinations = lists->sources;
  return true;
}

void neighbours_in_graph(MPI_Comm comm, int rank, Lists* lists) {
  int count = 0;
  pmpi().Graph_neighbors_count(comm, rank, &count);
  lists->sources.resize(static_cast<size_t>(count));
  pmpi().Graph_neighbors(comm, rank, count, lists->sources.data());
  lists->destinations = lists->sources;
}

void neighbours_in_distributed_graph(MPI_Comm comm, Lists* lists) {
  int in = 0, out = 0, weighted = 0;
  pmpi().Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  lists->sources.resize(static_cast<size_t>(in));
  lists->destinations.resize(static_cast<size_t>(out));
  std::vector<int> in_weights(static_cast<size_t>(in) + 1), out_weights(static_cast<size_t>(out) + 1);
  pmpi().Dist_graph_neighbors(comm, in, lists->sources.data(), in_weights.data(), out,
                              lists->destinations.data(), out_weights.data());
}

bool find_neighbours(MPI_Comm comm, int rank, Lists* lists) {
  int kind = MPI_UNDEFINED;
  pmpi().Topo_test(comm, &kind);
  if (kind == MPI_CART) return neighbours_in_grid(comm, lists);
  if (kind == MPI_GRAPH)
    neighbours_in_graph(comm, rank, lists);
  else if (kind == MPI_DIST_GRAPH)
    neighbours_in_distributed_graph(comm, lists);
  else
    return false;
  return true;
}

bool has_repeated(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  const auto same = std::adjacent_find(ranks.begin(), ranks.end(),
                                       [](int a, int b) { return a == b && a != kNoNeighbour; });
  return same != ranks.end();
}

// In one piece of memory: the structure, its sources and their places, its destinations.
Topology* make_topology(int count, const Lists& lists) {
  const size_t in = lists.sources.size(), out = lists.destinations.size();
  Topology* const t = static_cast<Topology*>(malloc(sizeof(Topology) + (2 * in + out) * sizeof(int)));
  if (t == nullptr) abort_without_memory("a topology", count);
  int* const sources = reinterpret_cast<int*>(t + 1);
  std::copy(lists.sources.begin(), lists.sources.end(), sources);
  std::copy(lists.destinations.begin(), lists.destinations.end(), sources + 2 * in);
  t->neighbours = {static_cast<int>(in), static_cast<int>(out), sources, sources + 2 * in,
                   has_repeated(lists.sources) || has_repeated(lists.destinations)};
  t->place = sources + in;
  t->has_places = t->repeated = false;
  return t;
}

}  // namespace

const Topology* topology_of(KnownTopology* known, MPI_Comm comm, int rank, int count) {
  if (known->known) return known->topology;
  known->known = true;
  Lists lists;
  if (find_neighbours(comm, rank, &lists)) known->topology = make_topology(count, lists);
  return known->topology;
}

const Topology* topology_with_places(CommInfo* c, message::Engine& engine) {
  topology_of(&c->topology, c->comm, c->rank, c->peer_count);
  Topology* const t = c->topology.topology;
  if (t == nullptr || t->has_places) return t;
  message::Meeting meeting(engine, *c->barrier, member(*c));
  if (!find_places(meeting, t->neighbours, t->place, &t->repeated))
    abort_without_memory("a topology", c->peer_count);
  t->has_places = true;
  return t;
}

void free_topology(Topology* t) {
  free(t);
}

}  // namespace tasuki::shim
