// Communicators of all origins: messages and collectives on them, messages that are still under way when they are freed, groups and
// ranks as they must be; inter-communicators; topologies with their neighbours.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "completion.h"

namespace stress {
namespace {

int color_of(uint64_t seed, int rank) {
  return static_cast<int>(word_of(seed, static_cast<uint64_t>(rank)) % 3);
}

// The members of a colour, ordered by key and old rank.
std::vector<int> members(uint64_t seed, int ranks, int color) {
  std::vector<int> list;
  for (int r = 0; r < ranks; r++)
    if (color_of(seed, r) == color) list.push_back(r);
  std::stable_sort(list.begin(), list.end(), [&](int a, int b) {
    return word_of(seed + 1, static_cast<uint64_t>(a)) % 5 < word_of(seed + 1, static_cast<uint64_t>(b)) % 5;
  });
  return list;
}

// A communicator made of `comm`, or MPI_COMM_NULL; `who`: its members by their ranks in `comm`, as they must be; `passed`: set if
// Tasuki leaves the ones that are made in this way to the library (docs/status/mpi.md).
MPI_Comm make(Random& random, MPI_Comm comm, std::vector<int>* who, bool* passed) {
  const int ranks = size_of(comm), me = rank_in(comm);
  const uint64_t seed = random.next();
  MPI_Comm made = MPI_COMM_NULL;
  who->resize(static_cast<size_t>(ranks));
  std::iota(who->begin(), who->end(), 0);
  switch (draw(random, 0, 6)) {
    case 0:
      step("MPI_Comm_dup");
      MPI_Comm_dup(comm, &made);
      break;
    case 1: {
      step("MPI_Comm_idup");
      *passed = true;
      MPI_Request r;
      MPI_Comm_idup(comm, &made, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      break;
    }
    case 2: {
      step("MPI_Comm_dup_with_info");
      MPI_Info info;
      MPI_Info_create(&info);
      MPI_Comm_dup_with_info(comm, info, &made);
      MPI_Info_free(&info);
      break;
    }
    case 3: {
      step("MPI_Comm_split");
      const int color = color_of(seed, me);
      MPI_Comm_split(comm, color == 2 ? MPI_UNDEFINED : color,
                     static_cast<int>(word_of(seed + 1, static_cast<uint64_t>(me)) % 5), &made);
      *who = color == 2 ? std::vector<int>() : members(seed, ranks, color);
      break;
    }
    case 4:
      step("MPI_Comm_split_type");
      MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
      break;
    default: {
      // All call MPI_Comm_create, the members only MPI_Comm_create_group.
      const bool by_members = random.chance(50);
      std::vector<int> list = members(seed, ranks, 0);
      MPI_Group all, some;
      MPI_Comm_group(comm, &all);
      MPI_Group_incl(all, static_cast<int>(list.size()), list.data(), &some);
      const bool in = std::find(list.begin(), list.end(), me) != list.end();
      *passed = *passed || by_members;
      step(by_members ? "MPI_Comm_create_group" : "MPI_Comm_create");
      if (!by_members) MPI_Comm_create(comm, some, &made);
      if (by_members && in) MPI_Comm_create_group(comm, some, 7, &made);
      MPI_Group_free(&all);
      MPI_Group_free(&some);
      *who = in ? list : std::vector<int>();
    }
  }
  figures.communicators++;
  CHECK_EQ(made == MPI_COMM_NULL, who->empty());
  return made;
}

void check_members(MPI_Comm made, MPI_Comm comm, const std::vector<int>& who) {
  CHECK_EQ(size_of(made), who.size());
  CHECK_EQ(who[static_cast<size_t>(rank_in(made))], rank_in(comm));
  MPI_Group a, b;
  MPI_Comm_group(made, &a);
  MPI_Comm_group(comm, &b);
  std::vector<int> mine(who.size()), theirs(who.size());
  std::iota(mine.begin(), mine.end(), 0);
  MPI_Group_translate_ranks(a, static_cast<int>(who.size()), mine.data(), b, theirs.data());
  for (size_t i = 0; i < who.size(); i++) CHECK_EQ(theirs[i], who[i]);
  MPI_Group_free(&a);
  MPI_Group_free(&b);
}

void some_part(Random random, MPI_Comm comm) {
  static constexpr Part parts[] = {
      point_to_point, streams, exchanges, collectives, reductions, persistent, nonblocking_collectives};
  parts[random.between(0, 6)](random, comm);
}

// Frees the communicator between the start and the end of its last messages.
void free_under_way(Random& random, MPI_Comm made) {
  const int ranks = size_of(made), me = rank_in(made), next = (me + 1) % ranks,
            last = (me + ranks - 1) % ranks;
  const size_t ints = static_cast<size_t>(draw_size(random, 300000) / 4);
  std::vector<int> out(ints, me), in(ints + 1, -1);
  std::vector<MPI_Request> requests(2);
  const bool receive_first = random.chance(50);
  Random mine = own(random, made);
  if (receive_first) MPI_Irecv(in.data(), static_cast<int>(ints), MPI_INT, last, 1, made, &requests[0]);
  if (random.chance(50)) {
    MPI_Isend(out.data(), static_cast<int>(ints), MPI_INT, next, 1, made, &requests[1]);
  } else {
    MPI_Issend(out.data(), static_cast<int>(ints), MPI_INT, next, 1, made, &requests[1]);
  }
  if (!receive_first) MPI_Irecv(in.data(), static_cast<int>(ints), MPI_INT, last, 1, made, &requests[0]);
  step("MPI_Comm_free while messages are under way");
  MPI_Comm_free(&made);
  CHECK(made == MPI_COMM_NULL);
  complete_all(mine, requests, [](size_t, const MPI_Status&) {});
  for (size_t i = 0; i < ints; i++) CHECK_EQ(in[i], last);
  CHECK_EQ(in[ints], -1);
  figures.messages++;
}

}  // namespace

void communicators(Random& random, MPI_Comm comm) {
  for (int n = draw(random, 1, 4); n > 0; n--) {
    std::vector<int> who, inner;
    bool passed = false;
    MPI_Comm made = make(random, comm, &who, &passed);
    Random theirs(random.next());
    if (made == MPI_COMM_NULL) continue;
    // What follows needs the same numbers on the members only; colours differ, but their members do not meet.
    check_members(made, comm, who);
    int result;
    MPI_Comm_compare(comm, made, &result);
    if (who.size() == static_cast<size_t>(size_of(comm)) && std::is_sorted(who.begin(), who.end()))
      CHECK_EQ(result, MPI_CONGRUENT);
    passed_on = passed;
    if (theirs.chance(70)) some_part(theirs, made);
    passed_on = false;
    if (theirs.chance(40)) {
      MPI_Comm second = make(theirs, made, &inner, &passed);
      if (second != MPI_COMM_NULL) {
        check_members(second, made, inner);
        Random last(theirs.next() + 99);
        free_under_way(last, second);
      }
    }
    Random last(word_of(static_cast<uint64_t>(n), 5));
    free_under_way(last, made);
  }
  step("communicators: barrier");
  MPI_Barrier(comm);
}

// Two halves that talk to each other: messages, collectives, and the communicator that both become.
void intercommunicators(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm);
  if (ranks < 2) return point_to_point(random, comm);
  const int first = draw(random, 1, ranks - 1);  // ranks of the lower half
  const bool low = me < first;
  MPI_Comm half, inter, merged;
  step("MPI_Comm_split into halves");
  MPI_Comm_split(comm, low, me, &half);
  step("MPI_Intercomm_create");
  MPI_Intercomm_create(half, 0, comm, low ? first : 0, 3, &inter);
  figures.communicators++;
  const int here = low ? first : ranks - first, there = ranks - here, mine = rank_in(inter),
            base = low ? first : 0;
  int size;
  MPI_Comm_remote_size(inter, &size);
  CHECK_EQ(size, there);
  CHECK_EQ(size_of(inter), here);
  const uint64_t seed = random.next();
  const int n = draw(random, 0, 3000);
  auto value = [&](int world, int i) {
    return static_cast<int>(word_of(seed + static_cast<uint64_t>(world), static_cast<uint64_t>(i)) % 100000);
  };

  // Everybody to everybody of the other side.
  Random own_random = own(random, comm);
  std::vector<std::vector<int>> in(static_cast<size_t>(there),
                                   std::vector<int>(static_cast<size_t>(n) + 1, -1));
  std::vector<int> out(static_cast<size_t>(n));
  for (int i = 0; i < n; i++) out[static_cast<size_t>(i)] = value(me, i);
  std::vector<MPI_Request> requests;
  for (int r = 0; r < there; r++) {
    requests.push_back(MPI_REQUEST_NULL);
    MPI_Irecv(in[static_cast<size_t>(r)].data(), n, MPI_INT, r, 4, inter, &requests.back());
  }
  for (int r = 0; r < there; r++) {
    requests.push_back(MPI_REQUEST_NULL);
    MPI_Isend(out.data(), n, MPI_INT, r, 4, inter, &requests.back());
    figures.messages++;
  }
  complete_all(own_random, requests, [](size_t, const MPI_Status&) {});
  for (int r = 0; r < there; r++)
    for (int i = 0; i < n; i++)
      CHECK_EQ(in[static_cast<size_t>(r)][static_cast<size_t>(i)], value(base + r, i));

  const int root = draw(random, 0, ranks - 1);
  const bool roots_side = low == (root < first);
  const int root_there = root < first ? root : root - first;
  std::vector<int> all(static_cast<size_t>(n));
  if (me == root) all = out;
  step("MPI_Bcast between groups");
  MPI_Bcast(all.data(), n, MPI_INT, me == root ? MPI_ROOT : roots_side ? MPI_PROC_NULL : root_there, inter);
  if (!roots_side)
    for (int i = 0; i < n; i++) CHECK_EQ(all[static_cast<size_t>(i)], value(root, i));
  step("MPI_Allreduce between groups");
  MPI_Allreduce(out.data(), all.data(), n, MPI_INT, MPI_SUM, inter);
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int r = 0; r < there; r++) sum += value(base + r, i);
    CHECK_EQ(all[static_cast<size_t>(i)], sum);
  }
  step("MPI_Allgather between groups");
  std::vector<int> blocks(static_cast<size_t>(there));
  MPI_Allgather(&me, 1, MPI_INT, blocks.data(), 1, MPI_INT, inter);
  for (int r = 0; r < there; r++) CHECK_EQ(blocks[static_cast<size_t>(r)], base + r);
  step("MPI_Barrier between groups");
  MPI_Barrier(inter);
  figures.collectives += 4;

  const bool high_first = random.chance(50);
  step("MPI_Intercomm_merge");
  MPI_Intercomm_merge(inter, low == high_first, &merged);
  CHECK_EQ(size_of(merged), ranks);
  CHECK_EQ(rank_in(merged), (low != high_first) ? mine : there + mine);
  some_part(Random(random.next()), merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

// Neighbours: of a grid, and of a graph that each rank knows a part of.
void topologies(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm), n = draw(random, 0, 500);
  const uint64_t seed = random.next();
  MPI_Comm topology;
  std::vector<int> from, to;
  const int kind = draw(random, 0, 2);
  if (kind == 0) {
    std::vector<int> dims(static_cast<size_t>(draw(random, 1, 3))), periods(dims.size());
    for (int& p : periods) p = draw(random, 0, 1);
    step("MPI_Cart_create");
    MPI_Dims_create(ranks, static_cast<int>(dims.size()), dims.data());
    MPI_Cart_create(comm, static_cast<int>(dims.size()), dims.data(), periods.data(), 0, &topology);
    for (size_t d = 0; d < dims.size(); d++) {
      int down, up, x = me, y = -1;
      MPI_Cart_shift(topology, static_cast<int>(d), 1, &down, &up);
      step("MPI_Sendrecv along a grid");
      MPI_Sendrecv(&x, 1, MPI_INT, up, 1, &y, 1, MPI_INT, down, 1, topology, MPI_STATUS_IGNORE);
      CHECK_EQ(y, down == MPI_PROC_NULL ? -1 : down);
      for (int r : {down, up}) {
        from.push_back(r);
        to.push_back(r);
      }
    }
    // In a ring of two or one the same rank is the neighbour on both sides, and which block is whose is asked about too often.
    for (size_t d = 0; d < dims.size(); d++)
      if (dims[d] <= 2) from.clear(), to.clear();
  } else {
    auto edge = [&](int a, int b) {
      return word_of(seed + static_cast<uint64_t>(a), static_cast<uint64_t>(b)) % 3 == 0;
    };
    for (int r = 0; r < ranks; r++) {
      if (edge(r, me)) from.push_back(r);
      if (edge(me, r)) to.push_back(r);
    }
    std::vector<int> weights(static_cast<size_t>(ranks) + 1, 1);
    from.reserve(1);  // Open MPI 4.1 takes a null pointer for an error, also where it points to nothing
    to.reserve(1);
    if (kind == 1) {
      step("MPI_Dist_graph_create_adjacent");
      MPI_Dist_graph_create_adjacent(comm, static_cast<int>(from.size()), from.data(), weights.data(),
                                     static_cast<int>(to.size()), to.data(), weights.data(), MPI_INFO_NULL, 0,
                                     &topology);
    } else {
      step("MPI_Dist_graph_create");
      const int degree = static_cast<int>(to.size());
      MPI_Dist_graph_create(comm, 1, &me, &degree, to.data(), weights.data(), MPI_INFO_NULL, 0, &topology);
      int in_degree, out_degree, weighted;
      MPI_Dist_graph_neighbors_count(topology, &in_degree, &out_degree, &weighted);
      CHECK_EQ(in_degree, from.size());
      CHECK_EQ(out_degree, to.size());
      // In an order of the library's choice.
      std::vector<int> u(from.size() + 1), v(to.size() + 1);
      MPI_Dist_graph_neighbors(topology, in_degree, from.data(), u.data(), out_degree, to.data(), v.data());
    }
  }
  figures.communicators++;
  auto value = [&](int r, int i) {
    return static_cast<int>(word_of(seed ^ static_cast<uint64_t>(r + 1), static_cast<uint64_t>(i)));
  };
  if (kind != 0 || !from.empty()) {
    std::vector<int> out(static_cast<size_t>(n) + 1), in((from.size() + 1) * static_cast<size_t>(n) + 1, -7);
    for (int i = 0; i < n; i++) out[static_cast<size_t>(i)] = value(me, i);
    step("MPI_Neighbor_allgather");
    if (random.chance(50)) {
      MPI_Neighbor_allgather(out.data(), n, MPI_INT, in.data(), n, MPI_INT, topology);
    } else {
      MPI_Request r;
      MPI_Ineighbor_allgather(out.data(), n, MPI_INT, in.data(), n, MPI_INT, topology, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    for (size_t k = 0; k < from.size(); k++)
      for (int i = 0; i < n; i++)
        CHECK_EQ(in[k * static_cast<size_t>(n) + static_cast<size_t>(i)],
                 from[k] == MPI_PROC_NULL ? -7 : value(from[k], i));
    figures.collectives++;
  }
  some_part(Random(random.next()), topology);
  MPI_Comm_free(&topology);
}

}  // namespace stress
