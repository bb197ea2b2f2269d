#include <algorithm>

#include "mixed.h"

namespace mixed {
namespace {

std::vector<int> of_all(int mine, MPI_Comm parent) {
  std::vector<int> all(static_cast<size_t>(job.ranks));
  MUST(MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, parent));
  return all;
}

Comm make(const char* name, MPI_Comm handle, int side, MPI_Comm parent, bool inter = false) {
  Comm c;
  c.name = name;
  c.handle = handle;
  c.inter = inter;
  int number = -1;
  if (handle != MPI_COMM_NULL) {
    MPI_Comm_rank(handle, &number);
    return_errors(handle);
  }
  c.number = of_all(number, parent);
  c.side = of_all(side, parent);
  return c;
}

// Everybody's part, 0 or 1, each with at least one member.
std::vector<int> random_parts(Random& random) {
  std::vector<int> part(static_cast<size_t>(job.ranks));
  for (int& p : part) p = draw(random, 0, 1);
  const size_t a = static_cast<size_t>(draw(random, 0, job.ranks - 1));
  part[a] = 0;
  if (job.ranks > 1) part[(a + static_cast<size_t>(draw(random, 1, job.ranks - 1))) % part.size()] = 1;
  return part;
}

}  // namespace

void return_errors(MPI_Comm comm) {
  MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
}

std::vector<Comm> make_comms(Random& random, MPI_Comm parent, bool with_world) {
  std::vector<Comm> comms;
  const size_t me = static_cast<size_t>(job.rank);
  MPI_Comm handle = MPI_COMM_WORLD;
  if (!with_world) MUST(MPI_Comm_dup(parent, &handle));
  comms.push_back(make(with_world ? "world" : "own", handle, 0, parent));

  MUST(MPI_Comm_dup(parent, &handle));
  comms.push_back(make("dup", handle, 0, parent));

  std::vector<int> keys(static_cast<size_t>(job.ranks));
  for (size_t i = 0; i < keys.size(); i++) keys[i] = static_cast<int>(i);
  random.shuffle(keys);
  MUST(MPI_Comm_split(parent, 0, keys[me], &handle));
  comms.push_back(make("permuted", handle, 0, parent));

  const std::vector<int> halves = random_parts(random);
  random.shuffle(keys);
  MUST(MPI_Comm_split(parent, halves[me], keys[me], &handle));
  comms.push_back(make("parts", handle, halves[me], parent));

  int dims[2] = {0, 0}, periods[2] = {1, 0};
  MPI_Dims_create(job.ranks, draw(random, 1, 2), dims);
  MUST(MPI_Cart_create(parent, dims[1] > 0 ? 2 : 1, dims, periods, 1, &handle));
  comms.push_back(make("cart", handle, 0, parent));

  if (job.ranks > 1) {
    const std::vector<int> sides = random_parts(random);
    random.shuffle(keys);
    MPI_Comm local;
    MUST(MPI_Comm_split(parent, sides[me], keys[me], &local));
    int leader = -1;  // the other side's
    for (size_t i = 0; i < keys.size(); i++)
      if (sides[i] != sides[me] && (leader < 0 || keys[i] < keys[static_cast<size_t>(leader)]))
        leader = static_cast<int>(i);
    MUST(MPI_Intercomm_create(local, 0, parent, leader, 7, &handle));
    MUST(MPI_Comm_free(&local));
    comms.push_back(make("inter", handle, sides[me], parent, true));
  }
  return comms;
}

void free_comms(std::vector<Comm>& comms) {
  for (Comm& c : comms)
    if (c.handle != MPI_COMM_NULL && c.handle != MPI_COMM_WORLD) MUST(MPI_Comm_free(&c.handle));
  comms.clear();
}

}  // namespace mixed
