// From a tree to an MPI datatype.
#pragma once

#include <mpi.h>

#include "type_tree.h"

namespace types {

MPI_Datatype basic_type(size_t index);
MPI_Datatype pair_type(size_t index);

// Not committed. The caller frees it (free_type); types of inner levels are freed as soon as they were used.
MPI_Datatype realise(const Tree& tree);

// Predefined types are left alone.
void free_type(MPI_Datatype& type, const Tree& tree);

}  // namespace types
