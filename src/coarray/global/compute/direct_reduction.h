// direct_reduction: a reduction of memory that has an address here on every node of a team.
//
// Each node computes its share of the elements from the memory of all and stores the result into the memory
// of all (the exchange of Rabenseifner 2004: reduce-scatter, then allgather), without any copy between;
// MPI_Allreduce copies into and out of buffers that it shares. On all nodes the result has the same bits.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "coarray/local/fail.h"
#include "coarray/local/team.h"
#include "coarray/sync/sync.h"

namespace tasuki::coarray {

// Two ranks on two cores, us: 4096 bytes 0.26 (Open MPI) and 0.45 (MPICH), where MPI_Allreduce takes 2.4 and
// 1.4 for 4088, and 0.7 and 1.0 for 1024. Less has not been tried.
constexpr size_t kLeastDirect = 4096;  // bytes

// Collective over the team. `memory`: of its nodes, by index; `count` elements of `element` bytes each.
void reduce_directly(Sync* sync, const std::vector<char*>& memory, size_t count, size_t element,
                     MPI_Datatype type, MPI_Op op, const Team& team, Where where);

}  // namespace tasuki::coarray
