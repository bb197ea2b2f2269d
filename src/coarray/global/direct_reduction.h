// direct_reduction: a reduction of memory that has an address here on every node of a team.
//
// Each node computes its share of the elements from the memory of all and stores the result into the memory of all (the exchange of
// Rabenseifner 2004: reduce-scatter, then allgather), without any copy between; MPI_Allreduce copies into and out of buffers that it
// shares. On all nodes the result has the same bits.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "coarray/fail.h"
#include "coarray/team.h"

namespace tasuki::coarray {

// Less takes MPI_Allreduce no longer: two ranks, two cores, see docs/performance.md.
constexpr size_t kLeastDirect = 4096;  // bytes

// Collective over the team. `memory`: of its nodes, by index; `count` elements of `element` bytes each.
void reduce_directly(const std::vector<char*>& memory, size_t count, size_t element, MPI_Datatype type,
                     MPI_Op op, const Team& team, Where where);

}  // namespace tasuki::coarray
