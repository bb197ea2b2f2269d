#include "coarray/local/team.h"

namespace tasuki::coarray {

bool alike(const Team& team, uint64_t value) {
  uint64_t mine[2] = {value, ~value}, least[2];
  PMPI_Allreduce(mine, least, 2, MPI_UINT64_T, MPI_MIN, team.comm);
  return least[0] == ~least[1];
}

MPI_Comm users_comm(const Team& team) {
  // By the name that programs use: what stands before the MPI library is to know it.
  if (team.users == MPI_COMM_NULL) MPI_Comm_dup(team.comm, &const_cast<Team&>(team).users);
  return team.users;
}

}  // namespace tasuki::coarray
