// Stands for src/coarray/sync/patience.h: of the looks of a wait the checker has those that find what they
// wait for.
#pragma once

#include <mpi.h>

extern "C" void __VERIFIER_assume(bool);

namespace tasuki::coarray {

class Patience {
 public:
  unsigned polls() const { return 1; }
};
class Waiter {
 public:
  explicit Waiter(Patience*) {}
  void turn() { __VERIFIER_assume(false); }
};
void wait_for(MPI_Request* request, Patience* patience, MPI_Status* status = MPI_STATUS_IGNORE);

}  // namespace tasuki::coarray
