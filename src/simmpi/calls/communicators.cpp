// Communicators and their attributes.
#include <algorithm>
#include <cstring>

#include "simmpi/calls/call_scope.h"
#include "simmpi/calls/collective_operations.h"
#include "simmpi/calls/communicator_calls.h"
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

}  // namespace

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

}  // namespace calls
}  // namespace tasuki::simmpi
