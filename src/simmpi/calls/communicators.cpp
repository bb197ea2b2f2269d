// Groups, communicators, attributes.
#include <algorithm>
#include <cstring>
#include <map>

#include "simmpi/calls/call_scope.h"
#include "simmpi/calls/collective_operations.h"
#include "simmpi/objects/comm.h"
#include "simmpi/objects/datatype.h"
#include "simmpi/run/handles.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"
#include "simmpi_generated/calls.h"

namespace tasuki::simmpi {
namespace {

void copy_name(const std::string& name, char* to, int* length) {
  const size_t n = std::min<size_t>(name.size(), MPI_MAX_OBJECT_NAME - 1);
  memcpy(to, name.data(), n);
  to[n] = 0;
  *length = static_cast<int>(n);
}

int compare(const Members& a, const Members& b) {
  if (a.size() != b.size()) return MPI_UNEQUAL;
  bool same = true;
  for (int i = 0; i < a.size(); i++) {
    if (a.world(i) == b.world(i)) continue;
    same = false;
    if (b.find(a.world(i)) == MPI_UNDEFINED) return MPI_UNEQUAL;
  }
  return same ? MPI_IDENT : MPI_SIMILAR;
}

MPI_Group group_from(std::vector<uint32_t> members) {
  return new_group(std::make_shared<Members>(std::move(members)));
}

// Copies what the user's functions say is to be copied.
int copy_attributes(MPI_Comm from_handle, const Comm* from, Comm* to) {
  for (const auto& [key, value] : from->attributes) {
    const auto k = mpi_state().keyvals.find(key);
    if (k == mpi_state().keyvals.end()) continue;
    MPI_Comm_copy_attr_function* f = k->second.comm_copy;
    if (f == MPI_COMM_NULL_COPY_FN) continue;
    void* copied = value;
    int flag = 1;
    if (f != MPI_COMM_DUP_FN)
      if (const int error = f(from_handle, key, k->second.extra, value, &copied, &flag); error != MPI_SUCCESS)
        return error;
    if (flag != 0) to->attributes[key] = copied;
  }
  return MPI_SUCCESS;
}

int duplicate(Comm* c, MPI_Comm comm, MPI_Comm* newcomm) {
  Comm* n = new_comm(c->local, c->child_context(), c);
  n->remote = c->remote;
  if (c->cart) n->cart = std::make_unique<CartTopology>(*c->cart);
  if (c->graph) n->graph = std::make_unique<GraphTopology>(*c->graph);
  if (c->neighbors) n->neighbors = std::make_unique<NeighborTopology>(*c->neighbors);
  n->info = c->info;
  *newcomm = handle(n);
  return copy_attributes(comm, c, n);
}

struct SplitEntry {
  int color, key;
};

// What MPI_Comm_split does; null: this rank is in none of the new ones.
Comm* split(Comm* c, int color, int key) {
  std::vector<SplitEntry> all(static_cast<size_t>(c->size()));
  all[static_cast<size_t>(c->self)] = {color, key};
  allgather_bytes(c, all.data(), sizeof(SplitEntry));
  const uint64_t context = c->child_context(static_cast<uint64_t>(static_cast<uint32_t>(color)) + 1);
  if (color == MPI_UNDEFINED) return nullptr;
  std::vector<std::pair<int, int>> mine;  // key, rank
  for (int i = 0; i < c->size(); i++)
    if (all[static_cast<size_t>(i)].color == color) mine.emplace_back(all[static_cast<size_t>(i)].key, i);
  std::stable_sort(mine.begin(), mine.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<uint32_t> members;
  for (const auto& [k, i] : mine) members.push_back(c->local->world(i));
  return new_comm(std::make_shared<Members>(std::move(members)), context, c);
}

}  // namespace

void delete_attributes(Comm* comm) {
  while (!comm->attributes.empty()) {
    const auto last = std::prev(comm->attributes.end());
    const auto [key, value] = *last;
    comm->attributes.erase(last);
    const auto k = mpi_state().keyvals.find(key);
    if (k != mpi_state().keyvals.end() && k->second.comm_delete != MPI_COMM_NULL_DELETE_FN)
      k->second.comm_delete(handle(comm), key, value, k->second.extra);
  }
}

namespace calls {

// ---- groups
#define GROUP(name, handle)             \
  const Group* name = group_of(handle); \
  if (name == nullptr) return MPI_ERR_GROUP
int Group_size(MPI_Group group, int* size) {
  GROUP(g, group);
  *size = g->members->size();
  return MPI_SUCCESS;
}
int Group_rank(MPI_Group group, int* rank) {
  GROUP(g, group);
  *rank = g->members->find(running_rank()->number);
  return MPI_SUCCESS;
}
int Group_free(MPI_Group* group) {
  GROUP(g, *group);
  if (*group != MPI_GROUP_EMPTY) {
    const_cast<Group*>(g)->magic = 0;
    delete g;
  }
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
int Group_compare(MPI_Group group1, MPI_Group group2, int* result) {
  GROUP(a, group1);
  GROUP(b, group2);
  *result = compare(*a->members, *b->members);
  return MPI_SUCCESS;
}
int Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]) {
  GROUP(a, group1);
  GROUP(b, group2);
  for (int i = 0; i < n; i++) {
    if (ranks1[i] == MPI_PROC_NULL) {
      ranks2[i] = MPI_PROC_NULL;
      continue;
    }
    if (ranks1[i] < 0 || ranks1[i] >= a->members->size()) return MPI_ERR_RANK;
    ranks2[i] = b->members->find(a->members->world(ranks1[i]));
  }
  return MPI_SUCCESS;
}
int Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  GROUP(g, group);
  std::vector<uint32_t> members;
  for (int i = 0; i < n; i++) {
    if (ranks[i] < 0 || ranks[i] >= g->members->size()) return MPI_ERR_RANK;
    members.push_back(g->members->world(ranks[i]));
  }
  *newgroup = group_from(std::move(members));
  return MPI_SUCCESS;
}
int Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  GROUP(g, group);
  std::vector<bool> out(static_cast<size_t>(g->members->size()));
  for (int i = 0; i < n; i++) {
    if (ranks[i] < 0 || ranks[i] >= g->members->size()) return MPI_ERR_RANK;
    out[static_cast<size_t>(ranks[i])] = true;
  }
  std::vector<uint32_t> members;
  for (int i = 0; i < g->members->size(); i++)
    if (!out[static_cast<size_t>(i)]) members.push_back(g->members->world(i));
  *newgroup = group_from(std::move(members));
  return MPI_SUCCESS;
}

namespace {

bool expand(int n, int ranges[][3], int size, std::vector<int>* ranks) {
  for (int i = 0; i < n; i++) {
    const auto [first, last, step] = std::tuple(ranges[i][0], ranges[i][1], ranges[i][2]);
    if (step == 0) return false;
    for (int r = first; step > 0 ? r <= last : r >= last; r += step) {
      if (r < 0 || r >= size) return false;
      ranks->push_back(r);
    }
  }
  return true;
}

}  // namespace

int Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  GROUP(g, group);
  std::vector<int> ranks;
  if (!expand(n, ranges, g->members->size(), &ranks)) return MPI_ERR_ARG;
  return Group_incl(group, static_cast<int>(ranks.size()), ranks.data(), newgroup);
}
int Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  GROUP(g, group);
  std::vector<int> ranks;
  if (!expand(n, ranges, g->members->size(), &ranks)) return MPI_ERR_ARG;
  return Group_excl(group, static_cast<int>(ranks.size()), ranks.data(), newgroup);
}
int Group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  GROUP(a, group1);
  GROUP(b, group2);
  std::vector<uint32_t> members;
  for (int i = 0; i < a->members->size(); i++) members.push_back(a->members->world(i));
  for (int i = 0; i < b->members->size(); i++)
    if (a->members->find(b->members->world(i)) == MPI_UNDEFINED) members.push_back(b->members->world(i));
  *newgroup = group_from(std::move(members));
  return MPI_SUCCESS;
}

namespace {

int filter(MPI_Group group1, MPI_Group group2, bool common, MPI_Group* newgroup) {
  GROUP(a, group1);
  GROUP(b, group2);
  std::vector<uint32_t> members;
  for (int i = 0; i < a->members->size(); i++)
    if ((b->members->find(a->members->world(i)) != MPI_UNDEFINED) == common)
      members.push_back(a->members->world(i));
  *newgroup = group_from(std::move(members));
  return MPI_SUCCESS;
}

}  // namespace

int Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  return filter(group1, group2, true, newgroup);
}
int Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  return filter(group1, group2, false, newgroup);
}
#undef GROUP

// ---- communicators
#define COMM(name, handle)      \
  Comm* name = comm_of(handle); \
  if (name == nullptr) return MPI_ERR_COMM
int Comm_size(MPI_Comm comm, int* size) {
  COMM(c, comm);
  *size = c->size();
  return MPI_SUCCESS;
}
int Comm_rank(MPI_Comm comm, int* rank) {
  COMM(c, comm);
  *rank = c->self;
  return MPI_SUCCESS;
}
int Comm_remote_size(MPI_Comm comm, int* size) {
  COMM(c, comm);
  if (!c->inter()) return MPI_ERR_COMM;
  *size = c->remote->size();
  return MPI_SUCCESS;
}
int Comm_test_inter(MPI_Comm comm, int* flag) {
  COMM(c, comm);
  *flag = c->inter();
  return MPI_SUCCESS;
}
int Comm_group(MPI_Comm comm, MPI_Group* group) {
  COMM(c, comm);
  *group = new_group(c->local);
  return MPI_SUCCESS;
}
int Comm_remote_group(MPI_Comm comm, MPI_Group* group) {
  COMM(c, comm);
  if (!c->inter()) return MPI_ERR_COMM;
  *group = new_group(c->remote);
  return MPI_SUCCESS;
}
int Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) {
  COMM(a, comm1);
  COMM(b, comm2);
  if (a == b) {
    *result = MPI_IDENT;
    return MPI_SUCCESS;
  }
  if (a->inter() != b->inter()) {
    *result = MPI_UNEQUAL;
    return MPI_SUCCESS;
  }
  int r = compare(*a->local, *b->local);
  if (a->inter()) r = std::max(r, compare(*a->remote, *b->remote));
  *result = r == MPI_IDENT ? MPI_CONGRUENT : r;
  return MPI_SUCCESS;
}
int Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  COMM(c, comm);
  note_call(c, -1, 0, 0, nullptr);
  settle();
  if (!c->inter()) barrier(c);
  return duplicate(c, comm, newcomm);
}
int Comm_dup_with_info(MPI_Comm comm, MPI_Info, MPI_Comm* newcomm) {
  return Comm_dup(comm, newcomm);
}
int Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  COMM(c, comm);
  if (const int error = duplicate(c, comm, newcomm); error != MPI_SUCCESS) return error;
  return Ibarrier(comm, request);
}
int Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  COMM(c, comm);
  const Group* g = group_of(group);
  if (g == nullptr) return MPI_ERR_GROUP;
  note_call(c, -1, 0, 0, nullptr);
  settle();
  barrier(c);
  // Groups that several disjoint parts give are told apart by their first member.
  const uint64_t salt = g->members->size() != 0 ? uint64_t{g->members->world(0)} + 1 : 0;
  const uint64_t context = c->child_context(salt);
  *newcomm = g->members->find(c->rank->number) == MPI_UNDEFINED ? MPI_COMM_NULL
                                                                : handle(new_comm(g->members, context, c));
  return MPI_SUCCESS;
}
int Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  COMM(c, comm);
  const Group* g = group_of(group);
  if (g == nullptr) return MPI_ERR_GROUP;
  *newcomm = MPI_COMM_NULL;
  if (g->members->find(c->rank->number) == MPI_UNDEFINED) return MPI_SUCCESS;
  settle();
  // Only the members take part: the context comes from them and the tag, and from how often they did so
  // before.
  uint64_t salt = static_cast<uint64_t>(tag) + 0x6372656174ull;
  for (int i = 0; i < g->members->size(); i++) salt = salt * 0x100000001b3 + g->members->world(i) + 1;
  const uint32_t before = c->children;
  c->children = 0x40000000u + c->rank->mpi->group_creations[salt]++;
  const uint64_t context = c->child_context(salt);
  c->children = before;
  Comm* n = new_comm(g->members, context, c);
  barrier(n);
  *newcomm = handle(n);
  return MPI_SUCCESS;
}
int Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  COMM(c, comm);
  if (color < 0 && color != MPI_UNDEFINED) return MPI_ERR_ARG;
  if (c->inter()) fail_rank(1, "MPI_Comm_split of an intercommunicator is not in the simulator");
  note_call(c, -1, 0, 0, nullptr);
  settle();
  Comm* n = split(c, color, key);
  *newcomm = n != nullptr ? handle(n) : MPI_COMM_NULL;
  return MPI_SUCCESS;
}
// Ranks of a node share its memory.
int Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info, MPI_Comm* newcomm) {
  COMM(c, comm);
  const int color = split_type == MPI_COMM_TYPE_SHARED ? static_cast<int>(c->rank->node.id) : MPI_UNDEFINED;
  return Comm_split(comm, color, key, newcomm);
}
int Comm_free(MPI_Comm* comm) {
  COMM(c, *comm);
  if (c->predefined) return MPI_ERR_COMM;
  delete_attributes(c);
  release(c);
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
int Comm_disconnect(MPI_Comm* comm) {
  return Comm_free(comm);
}
int Comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
int Comm_set_name(MPI_Comm comm, const char* comm_name) {
  COMM(c, comm);
  c->name = comm_name;
  return MPI_SUCCESS;
}
int Comm_get_name(MPI_Comm comm, char* comm_name, int* resultlen) {
  COMM(c, comm);
  copy_name(c->name, comm_name, resultlen);
  return MPI_SUCCESS;
}
int Comm_set_info(MPI_Comm comm, MPI_Info) {
  COMM(c, comm);
  (void)c;
  return MPI_SUCCESS;
}
int Comm_get_info(MPI_Comm comm, MPI_Info* info_used) {
  COMM(c, comm);
  (void)c;
  return Info_create(info_used);
}

// ---- intercommunicators: point-to-point and merging
int Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                     MPI_Comm* newintercomm) {
  COMM(c, local_comm);
  settle();
  struct Head {
    uint64_t context, size;
  } mine{c->child_context(static_cast<uint64_t>(tag)), static_cast<uint64_t>(c->size())}, theirs{};
  std::vector<uint32_t> own, other;
  for (int i = 0; i < c->size(); i++) own.push_back(c->local->world(i));
  if (c->self == local_leader) {
    COMM(peer, peer_comm);
    const uint64_t context = peer->context ^ 0x1e7e2c0;
    std::vector<Request*> both{
        begin_receive(peer, context, remote_leader, tag, bytes_at(&theirs, sizeof theirs), true),
        begin_send(peer, context, remote_leader, tag, bytes_at(&mine, sizeof mine), true)};
    finish(&both);
    other.resize(theirs.size);
    both = {begin_receive(peer, context, remote_leader, tag, bytes_at(other.data(), other.size() * 4), true),
            begin_send(peer, context, remote_leader, tag, bytes_at(own.data(), own.size() * 4), true)};
    finish(&both);
  }
  const auto tell = [&](void* p, uint64_t n) {
    Collective all = next_collective(c);
    all.control = true;
    broadcast(all, {p, n, byte_type()}, local_leader);
  };
  tell(&theirs, sizeof theirs);
  other.resize(theirs.size);
  tell(other.data(), other.size() * 4);
  Comm* n = new_comm(c->local, mine.context ^ theirs.context, c);
  n->remote = std::make_shared<Members>(std::move(other));
  *newintercomm = handle(n);
  return MPI_SUCCESS;
}
int Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
  COMM(c, intercomm);
  if (!c->inter()) return MPI_ERR_COMM;
  settle();
  // The leaders tell each other who wants to be behind; ties go by the first ranks of the world.
  int theirs = 0;
  const uint64_t context = c->context ^ 0x3e26e;
  std::vector<Request*> both{begin_receive(c, context, 0, 0, bytes_at(&theirs, sizeof theirs), true)};
  if (c->self == 0)
    for (int i = 0; i < c->remote->size(); i++)
      both.push_back(begin_send(c, context, i, 0, bytes_at(&high, sizeof high), true));
  finish(&both);
  const bool first = (high != 0) != (theirs != 0) ? high == 0 : c->local->world(0) < c->remote->world(0);
  std::vector<uint32_t> members;
  for (const Members* m :
       {first ? c->local.get() : c->remote.get(), first ? c->remote.get() : c->local.get()})
    for (int i = 0; i < m->size(); i++) members.push_back(m->world(i));
  *newintracomm = handle(new_comm(std::make_shared<Members>(std::move(members)), c->child_context(7), c));
  return MPI_SUCCESS;
}

// ---- attributes
int Comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                       MPI_Comm_delete_attr_function* comm_delete_attr_fn, int* comm_keyval,
                       void* extra_state) {
  MpiState& s = mpi_state();
  *comm_keyval = s.next_keyval++;
  s.keyvals[*comm_keyval] = {comm_copy_attr_fn, comm_delete_attr_fn, nullptr, nullptr, extra_state};
  return MPI_SUCCESS;
}
int Comm_free_keyval(int* comm_keyval) {
  *comm_keyval = MPI_KEYVAL_INVALID;  // attributes that exist keep their functions
  return MPI_SUCCESS;
}
int Comm_set_attr(MPI_Comm comm, int comm_keyval, void* attribute_val) {
  COMM(c, comm);
  const auto k = mpi_state().keyvals.find(comm_keyval);
  if (k == mpi_state().keyvals.end()) return MPI_ERR_KEYVAL;
  const auto old = c->attributes.find(comm_keyval);
  if (old != c->attributes.end() && k->second.comm_delete != MPI_COMM_NULL_DELETE_FN)
    if (const int error = k->second.comm_delete(comm, comm_keyval, old->second, k->second.extra);
        error != MPI_SUCCESS)
      return error;
  c->attributes[comm_keyval] = attribute_val;
  return MPI_SUCCESS;
}
int Comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag) {
  COMM(c, comm);
  static const int tag_ub = INT32_MAX, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, global = 1, appnum = 0,
                   last = MPI_ERR_LASTCODE;
  const int* constant = nullptr;
  switch (comm_keyval) {
    case MPI_TAG_UB:
      constant = &tag_ub;
      break;
    case MPI_HOST:
      constant = &host;
      break;
    case MPI_IO:
      constant = &io;
      break;
    case MPI_WTIME_IS_GLOBAL:
      constant = &global;
      break;
    case MPI_APPNUM:
      constant = &appnum;
      break;
    case MPI_LASTUSEDCODE:
      constant = &last;
      break;
    case MPI_UNIVERSE_SIZE:
      constant = &mpi_state().universe;
      break;
    default:
      break;
  }
  const void* value = constant;
  *flag = constant != nullptr;
  if (constant == nullptr) {
    if (mpi_state().keyvals.count(comm_keyval) == 0) return MPI_ERR_KEYVAL;
    const auto i = c->attributes.find(comm_keyval);
    if (i == c->attributes.end()) return MPI_SUCCESS;
    *flag = 1;
    value = i->second;
  }
  memcpy(attribute_val, &value, sizeof value);
  return MPI_SUCCESS;
}
int Comm_delete_attr(MPI_Comm comm, int comm_keyval) {
  COMM(c, comm);
  const auto i = c->attributes.find(comm_keyval);
  if (i == c->attributes.end()) return MPI_ERR_KEYVAL;
  void* value = i->second;
  c->attributes.erase(i);
  const Keyval& k = mpi_state().keyvals[comm_keyval];
  return k.comm_delete == MPI_COMM_NULL_DELETE_FN ? MPI_SUCCESS
                                                  : k.comm_delete(comm, comm_keyval, value, k.extra);
}
int Keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int* keyval,
                  void* extra_state) {
  return Comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}
int Keyval_free(int* keyval) {
  return Comm_free_keyval(keyval);
}
int Attr_put(MPI_Comm comm, int keyval, void* attribute_val) {
  return Comm_set_attr(comm, keyval, attribute_val);
}
int Attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return Comm_get_attr(comm, keyval, attribute_val, flag);
}
int Attr_delete(MPI_Comm comm, int keyval) {
  return Comm_delete_attr(comm, keyval);
}

// ---- topologies
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
#undef COMM

}  // namespace calls
}  // namespace tasuki::simmpi
