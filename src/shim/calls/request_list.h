// What all functions do that are given requests to complete or to look at.
#pragma once

#include "shim/calls/task_state.h"

namespace tasuki::shim {

inline MPI_Status* at(MPI_Status statuses[], int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

inline bool ready(Request* r, bool stay) {
  return is_inactive(r) || g_process.requests.poll(r, stay);
}

inline bool is_carried(const Request* r) {
  return r->kind == RequestKind::carried;
}

inline bool any_of_ours(int count, const MPI_Request requests[]) {
  if (requests == nullptr) return false;
  for (int i = 0; i < count; i++)
    if (own(requests[i]) != nullptr) return true;
  return false;
}

}  // namespace tasuki::shim
