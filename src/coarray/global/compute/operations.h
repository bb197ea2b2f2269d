// operations: what reductions compute (XcalableMP 1.4, sections 4.6.5 and 4.5.3), as operations of MPI.
#pragma once

#include <mpi.h>

#include <map>

#include "coarray/local/fail.h"

namespace tasuki::coarray {

class Operations {
 public:
  // Fails if C has no such operation on the type.
  MPI_Op of(int operation, int type, Where where);
  // Those that were made.
  void free();

 private:
  template <typename T, bool both>
  MPI_Op logical();
  template <typename T>
  MPI_Op for_numbers(int operation);

  std::map<MPI_User_function*, MPI_Op> made_;
};

MPI_Datatype datatype_of(int type, Where where);
// FIRST_MAX and LAST_MAX are MAX, and so on.
int without_location(int operation);
bool has_location(int operation);
bool wants_first(int operation);
bool equal_values(int type, const void* a, const void* b);

}  // namespace tasuki::coarray
