// Topologies: Cartesian ones, graphs, distributed graphs.
#include <algorithm>

#include "simmpi/calls/call_scope.h"
#include "simmpi/calls/collective_operations.h"
#include "simmpi/calls/communicator_calls.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"
#include "simmpi_generated/calls.h"

namespace tasuki::simmpi {
namespace calls {

namespace {

// A communicator of the first `n` ranks, or null for the others. Ranks are not reordered: the user's mapping
// stays.
Comm* first_ranks(Comm* c, int n) {
  return split(c, c->self < n ? 0 : MPI_UNDEFINED, c->self);
}

}  // namespace

int Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int,
                MPI_Comm* comm_cart) {
  COMM(c, comm_old);
  int64_t n = 1;
  for (int i = 0; i < ndims; i++) {
    if (dims[i] <= 0) return MPI_ERR_DIMS;
    n *= dims[i];
  }
  if (n > c->size()) return MPI_ERR_DIMS;
  note_call(c, -1, 0, 0, nullptr);
  settle();
  Comm* m = first_ranks(c, static_cast<int>(n));
  *comm_cart = MPI_COMM_NULL;
  if (m == nullptr) return MPI_SUCCESS;
  m->cart = std::make_unique<CartTopology>();
  m->cart->dims.assign(dims, dims + ndims);
  m->cart->periods.assign(periods, periods + ndims);
  *comm_cart = handle(m);
  return MPI_SUCCESS;
}
#define CART(name, handle)                  \
  Comm* name = comm_of(handle);             \
  if (name == nullptr) return MPI_ERR_COMM; \
  if (name->cart == nullptr) return MPI_ERR_TOPOLOGY
int Cartdim_get(MPI_Comm comm, int* ndims) {
  CART(c, comm);
  *ndims = static_cast<int>(c->cart->dims.size());
  return MPI_SUCCESS;
}
int Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]) {
  CART(c, comm);
  if (rank < 0 || rank >= c->size()) return MPI_ERR_RANK;
  int stride = c->size();
  for (size_t d = 0; d < c->cart->dims.size() && static_cast<int>(d) < maxdims; d++) {
    stride /= c->cart->dims[d];
    coords[d] = rank / stride % c->cart->dims[d];
  }
  return MPI_SUCCESS;
}
int Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]) {
  CART(c, comm);
  for (size_t d = 0; d < c->cart->dims.size() && static_cast<int>(d) < maxdims; d++) {
    dims[d] = c->cart->dims[d];
    periods[d] = c->cart->periods[d];
  }
  return Cart_coords(comm, c->self, maxdims, coords);
}
int Cart_rank(MPI_Comm comm, const int coords[], int* rank) {
  CART(c, comm);
  int r = 0;
  for (size_t d = 0; d < c->cart->dims.size(); d++) {
    const int n = c->cart->dims[d];
    int x = coords[d];
    if (x < 0 || x >= n) {
      if (c->cart->periods[d] == 0) return MPI_ERR_ARG;
      x = (x % n + n) % n;
    }
    r = r * n + x;
  }
  *rank = r;
  return MPI_SUCCESS;
}
int Cart_shift(MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest) {
  CART(c, comm);
  if (direction < 0 || direction >= static_cast<int>(c->cart->dims.size())) return MPI_ERR_DIMS;
  std::vector<int> coords(c->cart->dims.size());
  Cart_coords(comm, c->self, static_cast<int>(coords.size()), coords.data());
  const auto d = static_cast<size_t>(direction);
  const int at = coords[d];
  const auto rank_at = [&](int x, int* rank) {
    coords[d] = x;
    if ((x < 0 || x >= c->cart->dims[d]) && c->cart->periods[d] == 0)
      *rank = MPI_PROC_NULL;
    else
      Cart_rank(comm, coords.data(), rank);
  };
  rank_at(at - disp, rank_source);
  rank_at(at + disp, rank_dest);
  return MPI_SUCCESS;
}
int Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
  CART(c, comm);
  std::vector<int> coords(c->cart->dims.size());
  Cart_coords(comm, c->self, static_cast<int>(coords.size()), coords.data());
  int color = 0, key = 0;
  auto t = std::make_unique<CartTopology>();
  for (size_t d = 0; d < coords.size(); d++) {
    int& sum = remain_dims[d] != 0 ? key : color;
    sum = sum * c->cart->dims[d] + coords[d];
    if (remain_dims[d] == 0) continue;
    t->dims.push_back(c->cart->dims[d]);
    t->periods.push_back(c->cart->periods[d]);
  }
  note_call(c, -1, 0, 0, nullptr);
  settle();
  Comm* m = split(c, color, key);
  m->cart = std::move(t);
  *newcomm = handle(m);
  return MPI_SUCCESS;
}
int Cart_map(MPI_Comm comm, int ndims, const int dims[], const int[], int* newrank) {
  COMM(c, comm);
  int64_t n = 1;
  for (int i = 0; i < ndims; i++) n *= dims[i];
  *newrank = c->self < n ? c->self : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
#undef CART
// As equal as possible, in falling order: the largest prime factors go to the smallest dimensions first.
int Dims_create(int nnodes, int ndims, int dims[]) {
  int left = nnodes;
  std::vector<int*> open;
  for (int i = 0; i < ndims; i++) {
    if (dims[i] < 0) return MPI_ERR_DIMS;
    if (dims[i] == 0) {
      open.push_back(&dims[i]);
      continue;
    }
    if (left % dims[i] != 0) return MPI_ERR_DIMS;
    left /= dims[i];
  }
  if (open.empty()) return left == 1 ? MPI_SUCCESS : MPI_ERR_DIMS;
  std::vector<int> factors, sizes(open.size(), 1);
  for (int f = 2; f * f <= left; f++)
    for (; left % f == 0; left /= f) factors.push_back(f);
  if (left > 1) factors.push_back(left);
  for (auto f = factors.rbegin(); f != factors.rend(); ++f)
    *std::min_element(sizes.begin(), sizes.end()) *= *f;
  std::sort(sizes.rbegin(), sizes.rend());
  for (size_t i = 0; i < open.size(); i++) *open[i] = sizes[i];
  return MPI_SUCCESS;
}
int Topo_test(MPI_Comm comm, int* status) {
  COMM(c, comm);
  *status = c->cart        ? int{MPI_CART}
            : c->graph     ? int{MPI_GRAPH}
            : c->neighbors ? int{MPI_DIST_GRAPH}
                           : int{MPI_UNDEFINED};
  return MPI_SUCCESS;
}
int Graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int,
                 MPI_Comm* comm_graph) {
  COMM(c, comm_old);
  if (nnodes > c->size() || nnodes < 0) return MPI_ERR_ARG;
  settle();
  Comm* m = first_ranks(c, nnodes);
  *comm_graph = MPI_COMM_NULL;
  if (m == nullptr) return MPI_SUCCESS;
  m->graph = std::make_unique<GraphTopology>();
  m->graph->index.assign(indx, indx + nnodes);
  m->graph->edges.assign(edges, edges + (nnodes != 0 ? indx[nnodes - 1] : 0));
  *comm_graph = handle(m);
  return MPI_SUCCESS;
}
#define GRAPH(name, handle)                 \
  Comm* name = comm_of(handle);             \
  if (name == nullptr) return MPI_ERR_COMM; \
  if (name->graph == nullptr) return MPI_ERR_TOPOLOGY
int Graphdims_get(MPI_Comm comm, int* nnodes, int* nedges) {
  GRAPH(c, comm);
  *nnodes = static_cast<int>(c->graph->index.size());
  *nedges = static_cast<int>(c->graph->edges.size());
  return MPI_SUCCESS;
}
int Graph_get(MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[]) {
  GRAPH(c, comm);
  std::copy_n(c->graph->index.begin(),
              std::min<size_t>(static_cast<size_t>(maxindex), c->graph->index.size()), indx);
  std::copy_n(c->graph->edges.begin(),
              std::min<size_t>(static_cast<size_t>(maxedges), c->graph->edges.size()), edges);
  return MPI_SUCCESS;
}
int Graph_neighbors_count(MPI_Comm comm, int rank, int* nneighbors) {
  GRAPH(c, comm);
  if (rank < 0 || rank >= c->size()) return MPI_ERR_RANK;
  const auto& index = c->graph->index;
  *nneighbors = index[static_cast<size_t>(rank)] - (rank != 0 ? index[static_cast<size_t>(rank) - 1] : 0);
  return MPI_SUCCESS;
}
int Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]) {
  GRAPH(c, comm);
  if (rank < 0 || rank >= c->size()) return MPI_ERR_RANK;
  const auto& index = c->graph->index;
  const int begin = rank != 0 ? index[static_cast<size_t>(rank) - 1] : 0;
  for (int i = 0; i < maxneighbors && begin + i < index[static_cast<size_t>(rank)]; i++)
    neighbors[i] = c->graph->edges[static_cast<size_t>(begin + i)];
  return MPI_SUCCESS;
}
#undef GRAPH
int Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                               const int sourceweights[], int outdegree, const int destinations[],
                               const int destweights[], MPI_Info, int, MPI_Comm* comm_dist_graph) {
  COMM(c, comm_old);
  settle();
  barrier(c);
  Comm* m = new_comm(c->local, c->child_context(11), c);
  m->neighbors = std::make_unique<NeighborTopology>();
  NeighborTopology& t = *m->neighbors;
  t.sources.assign(sources, sources + indegree);
  t.destinations.assign(destinations, destinations + outdegree);
  t.weighted = sourceweights != MPI_UNWEIGHTED;
  if (t.weighted) {
    if (indegree != 0) t.source_weights.assign(sourceweights, sourceweights + indegree);
    if (outdegree != 0) t.destination_weights.assign(destweights, destweights + outdegree);
  }
  *comm_dist_graph = handle(m);
  return MPI_SUCCESS;
}
int Dist_graph_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted) {
  COMM(c, comm);
  if (c->neighbors == nullptr) return MPI_ERR_TOPOLOGY;
  *indegree = static_cast<int>(c->neighbors->sources.size());
  *outdegree = static_cast<int>(c->neighbors->destinations.size());
  *weighted = c->neighbors->weighted;
  return MPI_SUCCESS;
}
int Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree,
                         int destinations[], int destweights[]) {
  COMM(c, comm);
  if (c->neighbors == nullptr) return MPI_ERR_TOPOLOGY;
  const NeighborTopology& t = *c->neighbors;
  const auto put = [](const std::vector<int>& from, int most, int* to) {
    std::copy_n(from.begin(), std::min<size_t>(static_cast<size_t>(most), from.size()), to);
  };
  put(t.sources, maxindegree, sources);
  put(t.destinations, maxoutdegree, destinations);
  if (t.weighted && sourceweights != MPI_UNWEIGHTED) put(t.source_weights, maxindegree, sourceweights);
  if (t.weighted && destweights != MPI_UNWEIGHTED) put(t.destination_weights, maxoutdegree, destweights);
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace tasuki::simmpi
