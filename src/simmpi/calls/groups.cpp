// Groups.
#include "simmpi/calls/communicator_calls.h"
#include "simmpi/run/rank.h"
#include "simmpi_generated/calls.h"

namespace tasuki::simmpi {

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

namespace {

MPI_Group group_from(std::vector<uint32_t> members) {
  return new_group(std::make_shared<Members>(std::move(members)));
}

}  // namespace

namespace calls {

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

}  // namespace calls
}  // namespace tasuki::simmpi
