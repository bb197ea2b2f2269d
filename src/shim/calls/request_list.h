// What all functions do that are given requests to complete or to look at.
#pragma once

#include "shim/calls/task_state.h"
#include "shim/habits.h"

namespace tasuki::shim {

inline MPI_Status* at(MPI_Status statuses[], int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

inline MPI_Status* from(MPI_Status statuses[], int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : &statuses[i];
}

inline bool ready(Request* r, bool stay) {
  return is_inactive(r) || g_process.requests.poll(r, stay);
}

inline bool is_carried(const Request* r) {
  return r->kind == RequestKind::carried;
}

// The communicator whose error handler hears of the request's error.
inline Blame blamed_for(const Request* r) {
  const Request* part = r->kind == RequestKind::pair ? r->part[0] : r;
  return {mine(r).comm != nullptr ? mine(r).comm->comm : MPI_COMM_WORLD, mine(part).by_library != 0, true};
}

// The same of a call that is about this one request: MPICH knows the communicator of a persistent one.
inline Blame blamed_alone(const Request* r) {
  Blame blame = blamed_for(r);
  const Habits& habits = g_habits;
  if (mine(r).persistent != 0 || habits.requests_have_communicator ||
      (mine(r).of_matched != 0 && habits.matched_have_communicator))
    blame.as_request = false;
  return blame;
}

inline bool any_of_ours(int count, const MPI_Request requests[]) {
  if (requests == nullptr) return false;
  for (int i = 0; i < count; i++)
    if (own(requests[i]) != nullptr) return true;
  return false;
}

}  // namespace tasuki::shim
