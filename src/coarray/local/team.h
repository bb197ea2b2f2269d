// team: a set of images that execute together. Images are numbered within it. Which teams there are,
// sync/teams.h knows.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tasuki::coarray {

struct Team {
  MPI_Comm comm = MPI_COMM_NULL;     // the runtime's own
  MPI_Comm users = MPI_COMM_NULL;    // see users_comm
  std::vector<int> ranks;            // in MPI_COMM_WORLD, by index
  std::vector<int> index;            // by rank in MPI_COMM_WORLD; -1: not a member
  int me = 0;                        // index of this image
  uint64_t id = 0;                   // the same in all its images, and no other team's
  mutable uint64_t collectives = 0;  // of the MPI library, begun by this image on this team (collectives.h)
  int size() const { return static_cast<int>(ranks.size()); }
  int own_rank() const { return ranks[static_cast<size_t>(me)]; }  // in MPI_COMM_WORLD
};

// Have all images of the team the same value? Collective.
bool alike(const Team& team, uint64_t value);

// For collective operations of programs, and of the directives that are such; made at the first call, which
// is collective.
MPI_Comm users_comm(const Team& team);

}  // namespace tasuki::coarray
