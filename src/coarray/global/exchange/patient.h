// patient: collective operations of the MPI library that give way to other processes while they wait. Open
// MPI's do where its launcher sees more ranks than cores. MPICH's never do: four ranks on two cores, 3000
// reductions by windows take 15 s, and begun without waiting for them and waited for with wait_for() 2 s.
// With Open MPI this way takes longer: 0.38 and 0.75 s.
#pragma once

#include <mpi.h>

#include "coarray/local/team.h"
#include "coarray/sync/sync.h"

namespace tasuki::coarray {

// patiently(sync, [&] { MPI_Exscan(..); }, [&](MPI_Request* r) { PMPI_Iexscan(.., r); })
template <typename Whole, typename Begin>
void patiently([[maybe_unused]] Sync* sync, const Whole& whole, const Begin& begin) {
#if !defined(OPEN_MPI)
  if (!sync->has_cores_for_all()) {
    MPI_Request request;
    begin(&request);
    return sync->wait_for(&request);
  }
#else
  (void)begin;
#endif
  whole();
}

inline void allreduce(Sync* sync, void* data, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  patiently(
      sync, [&] { MPI_Allreduce(MPI_IN_PLACE, data, count, type, op, comm); },
      [&](MPI_Request* r) { PMPI_Iallreduce(MPI_IN_PLACE, data, count, type, op, comm, r); });
}

// The sum of what the nodes before this one give; 0 in the first.
inline int64_t sum_before(Sync* sync, int64_t mine, const Team& team) {
  int64_t before = 0;
  MPI_Comm comm = users_comm(team);
  patiently(
      sync, [&] { MPI_Exscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, comm); },
      [&](MPI_Request* r) { PMPI_Iexscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, comm, r); });
  return team.me == 0 ? 0 : before;
}

}  // namespace tasuki::coarray
