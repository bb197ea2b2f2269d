// MPI_Request_get_status and its kin, MPI_Request_free, MPI_Cancel: what is done with requests besides
// completing them (completion.cpp).
#include "generated/pmpi.h"
#include "shim/calls/request_list.h"
#include "shim/objects/status.h"

namespace tasuki::shim {
namespace {

// Looks at a request without completing it. Returns whether it is active; the status is set when it is
// complete, an inactive one's to the empty status. Only where the library has MPI_Request_get_status_any, the
// one function that tells its inactive requests from complete ones.
bool look_at(MPI_Request request, int* flag, MPI_Status* status) {
  Request* r = own(request);
  bool active;
  int code = MPI_SUCCESS;
  if (r == nullptr) {
    int index = MPI_UNDEFINED;
    code = pmpi().Request_get_status_any(1, &request, &index, flag, status);
    active = index != MPI_UNDEFINED || *flag == 0;
  } else {
    active = !is_inactive(r);
    *flag = ready(r, false) ? 1 : 0;
    if (*flag != 0 && active)
      code = g_process.requests.peek(r, status);
    else if (*flag != 0)
      set_empty_status(status);
  }
  if (*flag != 0 && status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
  return active;
}

}  // namespace

namespace delegate {

int request_free(MPI_Request* request, Pass pass) {
  Request* r = request != nullptr ? own(*request) : nullptr;
  if (r == nullptr) return pass();
  *request = MPI_REQUEST_NULL;
  if (is_inactive(r) && is_carried(r)) return g_process.remote.free(r);
  g_process.requests.free(r);
  return MPI_SUCCESS;
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status, Pass pass) {
  Request* r = own(request);
  if (r == nullptr || flag == nullptr) return pass();
  if (is_carried(r)) return g_process.remote.get_status(r, flag, status);
  *flag = ready(r, false) ? 1 : 0;
  int code = MPI_SUCCESS;
  if (*flag == 0) {
    nothing_found();
  } else if (is_inactive(r)) {
    set_empty_status(status);
    set_error(status, g_habits.sets_error.nothing_seen, MPI_SUCCESS);
  } else {
    code = g_process.requests.peek(r, status);
    set_error(status, g_habits.sets_error.received, code);
  }
#if defined(OPEN_MPI)
  return MPI_SUCCESS;  // the call that completes the request has its error
#else
  return code == MPI_SUCCESS ? code : raise(blamed_alone(r), code);
#endif
}

// The MPI-4.1 functions that look at several requests and leave them as they are.
int request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[],
                           Pass pass) {
  if (!any_of_ours(count, requests) || flag == nullptr || !pmpi().Request_get_status_all) return pass();
  *flag = 1;
  for (int i = 0; i < count && *flag != 0; i++) look_at(requests[i], flag, MPI_STATUS_IGNORE);
  if (*flag == 0) nothing_found();
  // What is complete stays so.
  for (int i = 0; i < count && *flag != 0; i++) look_at(requests[i], flag, at(statuses, i));
  return MPI_SUCCESS;
}

int request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status,
                           Pass pass) {
  if (!any_of_ours(count, requests) || index == nullptr || flag == nullptr || !pmpi().Request_get_status_any)
    return pass();
  bool active = false;
  for (int i = 0; i < count; i++) {
    if (!look_at(requests[i], flag, status)) continue;
    active = true;
    if (*flag == 0) continue;
    *index = i;
    return MPI_SUCCESS;
  }
  *index = MPI_UNDEFINED;
  *flag = active ? 0 : 1;
  if (active)
    nothing_found();
  else
    set_empty_status(status);
  return MPI_SUCCESS;
}

int request_get_status_some(int incount, const MPI_Request requests[], int* outcount, int indices[],
                            MPI_Status statuses[], Pass pass) {
  if (!any_of_ours(incount, requests) || outcount == nullptr || indices == nullptr ||
      !pmpi().Request_get_status_some)
    return pass();
  bool active = false;
  int n = 0;
  for (int i = 0; i < incount; i++) {
    int flag = 0;
    if (!look_at(requests[i], &flag, at(statuses, n))) continue;
    active = true;
    if (flag != 0) indices[n++] = i;
  }
  if (active && n == 0) nothing_found();
  *outcount = active ? n : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int cancel(MPI_Request* request, Pass pass) {
  Request* r = request != nullptr ? own(*request) : nullptr;
  if (r == nullptr) return pass();
  if (is_carried(r)) return g_process.remote.cancel(r);
  g_process.requests.cancel(r);
  return MPI_SUCCESS;
}

}  // namespace delegate
}  // namespace tasuki::shim
