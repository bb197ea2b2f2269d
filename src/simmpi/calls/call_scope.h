// What every MPI call has in common: its overhead, its record, and what happens with an error.
#pragma once

#include <cstdint>
#include <string>

#include "simmpi/mpi.h"

namespace tasuki::simmpi {

struct Task;

// On main()'s task: adds machine.call_overhead to the clock, and writes the log. A call within a call (by an
// operator or a callback of the user, or within a collective) counts as part of the outer one.
class CallScope {
 public:
  explicit CallScope(const char* name);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  // Hands an error to the communicator's error handler; returns the code.
  int done(int code, MPI_Comm comm);

 private:
  Task* task_;
  const char* name_;
  bool outer_;
};

// For the log and the report of a deadlock: what the running call is about. peer: in `comm`.
void note_call(const struct Comm* comm, int peer, int tag, uint64_t bytes, const char* relation);

std::string error_text(int code);

}  // namespace tasuki::simmpi
