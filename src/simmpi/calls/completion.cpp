// Requests in the user's hands: completion, persistent and generalized ones, cancelling.
#include <algorithm>

#include "simmpi/calls/call_scope.h"
#include "simmpi/calls/user_requests.h"
#include "simmpi/run/handles.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"
#include "simmpi_generated/calls.h"

namespace tasuki::simmpi {
namespace {

// A test that finds nothing takes at least this long (10 ns): a program that polls lets time pass on a
// machine whose calls cost nothing, too.
constexpr Time kLeastPoll = 10'000;

}  // namespace

void poll() {
  if (running_rank()->simulation.machine.call_overhead < kLeastPoll) spend(kLeastPoll);
  settle();
}

// Of a request that is complete, null or inactive.
int finish_user(MPI_Request* request, MPI_Status* status, bool in_array) {
  Request* r = request_of(*request);
  if (r == nullptr || !r->active) {
    set_status(status, Outcome());
    return MPI_SUCCESS;
  }
  if (r->kind == Request::Kind::generalized) {
    MPI_Status own{};
    int code = r->query != nullptr ? r->query(r->extra, &own) : MPI_SUCCESS;
    if (status != MPI_STATUS_IGNORE) *status = own;
    if (r->free_function != nullptr) r->free_function(r->extra);
    free_request(r);
    *request = MPI_REQUEST_NULL;
    return code;
  }
  const int error = r->outcome.error;
  if (status != MPI_STATUS_IGNORE) {
    // MPI_ERROR is not touched by functions that return one status.
    const int before = status->MPI_ERROR;
    set_status(status, r->outcome);
    if (!in_array) status->MPI_ERROR = before;
  }
  if (r->persistent) {
    r->active = false;
    r->complete = false;
  } else {
    free_request(r);
    *request = MPI_REQUEST_NULL;
  }
  return error;
}

namespace calls {

int Wait(MPI_Request* request, MPI_Status* status) {
  Request* r = request_of(*request);
  if (r == nullptr && *request != MPI_REQUEST_NULL) return MPI_ERR_REQUEST;
  if (r != nullptr && r->active) {
    if (r->comm != nullptr)
      note_call(r->comm, r->peer, r->tag, r->bytes,
                r->kind == Request::Kind::send      ? "to"
                : r->kind == Request::Kind::receive ? "from"
                                                    : nullptr);
    wait_all(&r, 1);
  }
  return finish_user(request, status);
}
int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  settle();
  const Request* r = request_of(*request);
  if (r == nullptr && *request != MPI_REQUEST_NULL) return MPI_ERR_REQUEST;
  *flag = r == nullptr || !r->active || r->complete;
  if (*flag != 0) return finish_user(request, status);
  poll();
  return MPI_SUCCESS;
}

namespace {

// Active requests of an array, for waiting. Notes the first one that is not complete.
std::vector<Request*> active_of(int n, const MPI_Request* requests) {
  std::vector<Request*> active;
  bool noted = false;
  for (int i = 0; i < n; i++) {
    Request* r = request_of(requests[i]);
    if (r == nullptr || !r->active) continue;
    active.push_back(r);
    if (noted || r->complete || r->comm == nullptr) continue;
    noted = true;
    note_call(r->comm, r->peer, r->tag, r->bytes,
              r->kind == Request::Kind::send      ? "to"
              : r->kind == Request::Kind::receive ? "from"
                                                  : nullptr);
  }
  return active;
}

int finish_all(int n, MPI_Request* requests, MPI_Status* statuses) {
  int code = MPI_SUCCESS;
  for (int i = 0; i < n; i++)
    if (finish_user(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i], true) !=
        MPI_SUCCESS)
      code = MPI_ERR_IN_STATUS;
  return code;
}

bool finished(const MPI_Request& request) {
  const Request* r = request_of(request);
  return r != nullptr && r->active && r->complete;
}

int finish_first(int n, MPI_Request* requests, int* index, MPI_Status* status) {
  for (int i = 0; i < n; i++)
    if (finished(requests[i])) {
      *index = i;
      return finish_user(&requests[i], status);
    }
  *index = MPI_UNDEFINED;
  set_status(status, Outcome());
  return MPI_SUCCESS;
}

int finish_some(int n, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  int code = MPI_SUCCESS;
  *outcount = 0;
  for (int i = 0; i < n; i++) {
    if (!finished(requests[i])) continue;
    MPI_Status* s = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*outcount];
    if (finish_user(&requests[i], s, true) != MPI_SUCCESS) code = MPI_ERR_IN_STATUS;
    indices[(*outcount)++] = i;
  }
  return code;
}

}  // namespace

int Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  const auto active = active_of(count, array_of_requests);
  wait_all(active.data(), active.size());
  return finish_all(count, array_of_requests, array_of_statuses);
}
int Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  const auto active = active_of(count, array_of_requests);
  wait_any(active.data(), active.size());
  return finish_first(count, array_of_requests, indx, status);
}
int Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  const auto active = active_of(incount, array_of_requests);
  if (active.empty()) {
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  wait_any(active.data(), active.size());
  return finish_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}
int Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  settle();
  const auto active = active_of(count, array_of_requests);
  *flag = std::all_of(active.begin(), active.end(), [](const Request* r) { return r->complete; });
  if (*flag != 0) return finish_all(count, array_of_requests, array_of_statuses);
  poll();
  return MPI_SUCCESS;
}
int Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) {
  settle();
  const auto active = active_of(count, array_of_requests);
  *flag = active.empty() ||
          std::any_of(active.begin(), active.end(), [](const Request* r) { return r->complete; });
  *indx = MPI_UNDEFINED;
  if (*flag != 0) return finish_first(count, array_of_requests, indx, status);
  poll();
  return MPI_SUCCESS;
}
int Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
             MPI_Status array_of_statuses[]) {
  settle();
  if (active_of(incount, array_of_requests).empty()) {
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  const int code = finish_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
  if (*outcount == 0) poll();
  return code;
}
int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  settle();
  const Request* r = request_of(request);
  *flag = r == nullptr || !r->active || r->complete;
  if (*flag == 0)
    poll();
  else
    set_status(status, r == nullptr || !r->active ? Outcome() : r->outcome);
  return MPI_SUCCESS;
}
int Request_free(MPI_Request* request) {
  Request* r = request_of(*request);
  if (r == nullptr) return MPI_ERR_REQUEST;
  if (r->complete || !r->active) {
    free_request(r);
  } else {
    r->freed = true;
    r->persistent = false;
  }
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
int Start(MPI_Request* request) {
  Request* r = request_of(*request);
  if (r == nullptr || !r->persistent || r->active) return MPI_ERR_REQUEST;
  r->active = true;
  r->complete = false;
  r->outcome = Outcome();
  if (r->comm != nullptr)
    note_call(r->comm, r->peer, r->tag, r->bytes, r->kind == Request::Kind::send ? "to" : "from");
  return begin(r);
}
int Startall(int count, MPI_Request array_of_requests[]) {
  for (int i = 0; i < count; i++)
    if (const int code = Start(&array_of_requests[i]); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}
// Receives only; a send that has begun goes its way.
int Cancel(MPI_Request* request) {
  Request* r = request_of(*request);
  if (r == nullptr) return MPI_ERR_REQUEST;
  settle();
  if (r->kind == Request::Kind::receive) r->rank->cancel_receive(r);
  if (r->kind == Request::Kind::generalized && r->cancel_function != nullptr)
    return r->cancel_function(r->extra, r->complete);
  return MPI_SUCCESS;
}
int Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request) {
  Request* r = new_request(Request::Kind::generalized);
  r->query = query_fn;
  r->free_function = free_fn;
  r->cancel_function = cancel_fn;
  r->extra = extra_state;
  *request = handle(r);
  return MPI_SUCCESS;
}
int Grequest_complete(MPI_Request request) {
  Request* r = request_of(request);
  if (r == nullptr || r->kind != Request::Kind::generalized) return MPI_ERR_REQUEST;
  r->rank->complete(r);
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace tasuki::simmpi
