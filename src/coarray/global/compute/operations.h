// operations: what reductions compute (XcalableMP 1.4, sections 4.6.5 and 4.5.3), as operations of MPI.
#pragma once

#include <mpi.h>

#include "coarray/local/fail.h"

namespace tasuki::coarray {

// Fails if C has no such operation on the type.
MPI_Op operation_of(int operation, int type, Where where);
MPI_Datatype datatype_of(int type, Where where);
// FIRST_MAX and LAST_MAX are MAX, and so on.
int without_location(int operation);
bool has_location(int operation);
bool wants_first(int operation);
bool equal_values(int type, const void* a, const void* b);

void free_operations();

}  // namespace tasuki::coarray
