// MPI_Wait, MPI_Test and their kin. A list of requests may mix Tasuki's and the library's: ours are polled
// here, the others are handed to the library's own test functions. So are those of ours that the library
// carries (remote.h), as the requests that it knows.
#include <vector>

#include "generated/pmpi.h"
#include "shim/calls/request_list.h"
#include "shim/habits.h"
#include "shim/objects/status.h"

namespace tasuki::shim {
namespace {

// Completes a request that is done: status, handle. Returns its error code, which the caller raises.
int retire(Request* r, MPI_Request* handle, MPI_Status* status, const Blame& blame) {
  if (is_inactive(r)) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  const bool stays = mine(r).persistent != 0;
  const int rc = g_process.requests.finish(r, status, by_default(blame) ? MPI_COMM_WORLD : blame.comm);
  if (!stays) *handle = MPI_REQUEST_NULL;
  return rc;
}

// Of a request that is ready.
bool has_failed(Request* r) {
  if (is_inactive(r)) return false;
  if (r->kind == RequestKind::pair) r = r->part[0];
  if (mine(r).by_library != 0) return mine(r).code != MPI_SUCCESS;
  g_process.requests.check_end(r, mine(r).type);
  return r->truncated != 0;
}

// A list of requests, split. Where there is none of ours the call passes, so that the common case of a
// program that uses the library's requests costs one look-up each.
struct Split {
  std::vector<Request*> ours;  // by position, nullptr: the library's
  int our_count = 0;
  bool twins = false;               // some of ours may be completed by the library
  std::vector<MPI_Request> theirs;  // without MPI_REQUEST_NULL
  std::vector<int> their_position;
  std::vector<Request*> carried;  // beside `theirs`: nullptr for the user's own
  std::vector<MPI_Status> their_status;
  size_t their_complete = 0;  // so many of the first are known to be

  Split(int count, const MPI_Request requests[]) : ours(static_cast<size_t>(count)) {
    for (int i = 0; i < count; i++) {
      Request* r = own(requests[i]);
      if (r != nullptr && !is_carried(r)) {
        ours[static_cast<size_t>(i)] = r;
        our_count++;
        twins = twins || has_twin(r);
      } else if (requests[i] != MPI_REQUEST_NULL) {
        theirs.push_back(r != nullptr ? handle_of<MPI_Request>(mine(r).library) : requests[i]);
        their_position.push_back(i);
        carried.push_back(r);
      }
    }
    their_status.resize(theirs.size() + 1);
  }
  // Waits until done() says so; it looks at all of them.
  template <typename Done>
  void wait_for(Done done) const {
    if (twins || !theirs.empty())
      g_process.engine.wait_for_both(done);
    else
      g_process.engine.wait_for(done);
  }
  int their_count() const { return static_cast<int>(theirs.size()); }
  // The user's handle of the library's k-th request, which may have completed with this status and code.
  // Returns the code, or that of an error in what was received, raised.
  int give_back(size_t k, MPI_Request requests[], const MPI_Status& status, int code) {
    MPI_Request& handle = requests[their_position[k]];
    Request* r = carried[k];
    if (r == nullptr) {
      handle = theirs[k];
    } else if (theirs[k] == MPI_REQUEST_NULL || (mine(r).persistent != 0 && code != MPI_ERR_PENDING)) {
      if (mine(r).persistent == 0) handle = MPI_REQUEST_NULL;
      return g_process.remote.arrive(r, status, code);
    }
    return code;
  }
};

bool all_ours_or_null(int count, const MPI_Request requests[]) {
  for (int i = 0; i < count; i++)
    if (const Request* r = own(requests[i]);
        requests[i] != MPI_REQUEST_NULL && (r == nullptr || is_carried(r)))
      return false;
  return true;
}

// Result of a call that completes several requests: MPI_ERR_IN_STATUS if any failed, the codes in the
// statuses. The error handler is told so, or, in Open MPI, what the first that failed is told.
class Outcome {
 public:
  Outcome() = default;
  explicit Outcome(const MPI_Status waitall_statuses[])
      : bare_(g_habits.bare_waitall_goes_on && waitall_statuses == MPI_STATUSES_IGNORE) {}
  static Outcome of_some() {
    Outcome outcome;
    outcome.silent_ = g_habits.some_tell_nobody;
    return outcome;
  }
  // Whether errors leave only persistent requests as they are.
  bool bare() const { return bare_; }
  void ours(const Blame& blame, int code, MPI_Status* status) {
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
    if (code == MPI_SUCCESS || failed_) return;
    failed_ = true;
    blame_ = blame;
    first_code_ = code;
  }
  bool failed() const { return failed_; }
  void theirs(int code) { library_failed_ = library_failed_ || code != MPI_SUCCESS; }
  // The library has raised its own errors already.
  int code() const {
#if defined(OPEN_MPI)
    const int told = first_code_;
#else
    const int told = MPI_ERR_IN_STATUS;
#endif
    if (failed_ && !silent_) raise(blame_, told);
    return failed_ || library_failed_ ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
  }

 private:
  bool bare_ = false, silent_ = false, failed_ = false, library_failed_ = false;
  Blame blame_{MPI_COMM_NULL};
  int first_code_ = MPI_SUCCESS;
};

// ---- MPI_Waitall and MPI_Testall where one has failed
//
// Open MPI returns as soon as it knows, and those that are not complete are pending. MPICH waits for all and
// looks at them in their order: those after the first that failed are pending, complete or not.

// MPI_Testall of MPICH completes what it can as soon as one has failed; that of Open MPI waits for all.
#if defined(OPEN_MPI)
constexpr bool kWaitallEndsWithFirstError = true, kTestallTellsOfFirstError = false;
#else
constexpr bool kWaitallEndsWithFirstError = false, kTestallTellsOfFirstError = true;
#endif

// To look at all requests of a list each time would cost more than their messages.
constexpr uint32_t kLookAtAllEvery = 64;

bool any_has_failed(int count, const MPI_Request requests[]) {
  for (int i = 0; i < count; i++)
    if (Request* r = own(requests[i]); r != nullptr && ready(r, false) && has_failed(r)) return true;
  return false;
}

// Waits for one of a list (nullptr: for nothing). True if there is nothing more to wait for because one has
// failed.
bool wait_or_fail(Request* r, int count, const MPI_Request requests[]) {
  if (r == nullptr || is_inactive(r)) return false;
  if (!kWaitallEndsWithFirstError) {
    g_process.requests.wait(r);
    return false;
  }
  uint32_t looks = 0;
  bool failed = false;
  const auto done = [&] {
    if (g_process.requests.poll(r, true)) return true;
    failed = ++looks % kLookAtAllEvery == 0 && any_has_failed(count, requests);
    return failed;
  };
  if (has_twin(r))
    g_process.engine.wait_for_both(done);
  else
    g_process.engine.wait_for(done);
  return failed || has_failed(r);
}

// Whether MPI_Waitall leaves this request as it is.
bool is_left(Request* r, const Outcome& so_far) {
  if (kWaitallEndsWithFirstError) return !ready(r, false);
  return so_far.failed() && (mine(r).persistent != 0 || !so_far.bare());
}

void set_pending(MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_ERR_PENDING;
}

void retire_into(Request* r, MPI_Request* handle, MPI_Status* status, Outcome* outcome) {
  const Blame blame = blamed_for(r);
  outcome->ours(blame, retire(r, handle, status, blame), status);
}

void set_null_entry(MPI_Status* status) {
  set_empty_status(status);
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
}

// Completes the requests of a list but those that are left as they are: ours that `left` says, and the
// library's if not `theirs_done`.
template <typename Left>
int retire_some(int count, MPI_Request requests[], MPI_Status statuses[], Split& s, Outcome* outcome,
                Left left, bool theirs_done) {
  size_t next = 0;
  for (int i = 0; i < count; i++) {
    MPI_Status* status = at(statuses, i);
    if (Request* r = s.ours[static_cast<size_t>(i)]) {
      if (left(r))
        set_pending(status);
      else
        retire_into(r, &requests[i], status, outcome);
    } else if (!theirs_done && requests[i] != MPI_REQUEST_NULL) {
      set_pending(status);
    } else if (next < s.theirs.size() && s.their_position[next] == i) {
      MPI_Status& theirs = s.their_status[next];
      const int code = s.give_back(next, requests, theirs, theirs.MPI_ERROR);
      if (code != theirs.MPI_ERROR) outcome->theirs(theirs.MPI_ERROR = code);
      if (status != MPI_STATUS_IGNORE) *status = s.their_status[next];
      next++;
    } else {
      set_null_entry(status);
    }
  }
  return outcome->code();
}

// Completes those in front that are ours and have gone well, up to the first that has not. Returns how many.
// A list of small messages needs nothing else: each request is looked up once.
int retire_front(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (requests == nullptr || count <= 0) return 0;
  for (int i = 0; i < count; i++) {
    Request* r = own(requests[i]);
    MPI_Status* status = at(statuses, i);
    if (r == nullptr) return i;
    if (g_process.requests.is_of_sent(r)) {
      requests[i] = MPI_REQUEST_NULL;
      set_status_of_sent(status);
    } else {
      if (is_carried(r) || !ready(r, true)) return i;
      if (g_process.requests.finish_plain(r, status)) {
        requests[i] = MPI_REQUEST_NULL;
      } else {
        if (has_failed(r)) return i;
        retire(r, &requests[i], status, blamed_for(r));
      }
    }
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
  }
  return count;
}

// Waits for those in front, all of which are ours or none, up to the first that fails, and completes them.
// Returns how many; where MPI_Waitall waits for all, the others are done, too.
int retire_in_turn(int count, MPI_Request requests[], MPI_Status statuses[]) {
  for (int i = 0; i < count;) {
    Request* r = own(requests[i]);
    if (r == nullptr) {
      set_null_entry(at(statuses, i++));
      continue;
    }
    if (wait_or_fail(r, count - i, requests + i)) return i;
    const int well = retire_front(count - i, requests + i, from(statuses, i));
    if (well == 0) {
      for (int k = i + 1; k < count; k++) wait_or_fail(own(requests[k]), count, requests);
      return i;
    }
    i += well;
  }
  return count;
}

// Completes every request of a list, all of which are done; the library's results are in `s` already.
int retire_all(int count, MPI_Request requests[], MPI_Status statuses[], Split& s, Outcome* outcome) {
  return retire_some(
      count, requests, statuses, s, outcome, [](Request*) { return false; }, true);
}

// As MPI_Waitall does when one may have failed; `theirs_done`: the library's results are in `s`.
int retire_waited(int count, MPI_Request requests[], MPI_Status statuses[], Split& s, Outcome* outcome,
                  bool theirs_done) {
  return retire_some(
      count, requests, statuses, s, outcome, [&](Request* r) { return is_left(r, *outcome); }, theirs_done);
}

// Each of the library's requests is complete or inactive.
bool are_complete(Split& s) {
  int flag = 1;
  for (; s.their_complete < s.theirs.size(); s.their_complete++) {
    pmpi().Request_get_status(s.theirs[s.their_complete], &flag, MPI_STATUS_IGNORE);
    if (flag == 0) return false;
  }
  return true;
}

// The library's part of MPI_Testall; true when there is nothing more to wait for. MPI_Testall of MPICH 4.0
// calls every partitioned request that is complete an error, and every persistent collective one.
bool their_testall(Split& s, Outcome* outcome) {
  if (s.theirs.empty()) return true;
  const bool one_by_one = g_process.library_testall_fails.load(std::memory_order_relaxed);
  if (one_by_one && !are_complete(s)) return false;
  for (MPI_Status& status : s.their_status) status.MPI_ERROR = MPI_SUCCESS;
  int flag = one_by_one ? 1 : 0;
  const int rc = one_by_one ? pmpi().Waitall(s.their_count(), s.theirs.data(), s.their_status.data())
                            : pmpi().Testall(s.their_count(), s.theirs.data(), &flag, s.their_status.data());
  outcome->theirs(rc);
  return flag != 0 || rc != MPI_SUCCESS;
}

// Looks once for a request that is complete. Returns its index, MPI_UNDEFINED if no request is active, or
// kNone.
constexpr int kNone = -2;
static_assert(MPI_UNDEFINED != kNone);

int test_any(int count, MPI_Request requests[], MPI_Status* status, Split& s, bool stay, int* code) {
  bool active = false;
  for (int i = 0; i < count; i++) {
    Request* r = s.ours[static_cast<size_t>(i)];
    if (r == nullptr || is_inactive(r)) continue;
    active = true;
    if (!g_process.requests.poll(r, stay)) continue;
    const Blame blame = blamed_for(r);
    const int rc = retire(r, &requests[i], status, blame);
    *code = rc == MPI_SUCCESS ? rc : raise(blame, rc);
    return i;
  }
  if (!s.theirs.empty()) {
    int index = MPI_UNDEFINED, flag = 0;
    MPI_Status own_status;
    if (status == MPI_STATUS_IGNORE) status = &own_status;
    *code = pmpi().Testany(s.their_count(), s.theirs.data(), &index, &flag, status);
    if (index != MPI_UNDEFINED && (flag != 0 || *code != MPI_SUCCESS)) {
      *code = s.give_back(static_cast<size_t>(index), requests, *status, *code);
      return s.their_position[static_cast<size_t>(index)];
    }
    if (flag == 0) active = true;
  }
  if (active) return kNone;
  set_empty_status(status);
  return MPI_UNDEFINED;
}

// Looks once for complete requests and completes them. *outcount is MPI_UNDEFINED if no request is active.
// `wait`: lets the library wait for one of its own; only if there is none of the engine's.
void test_some(int count, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[],
               Split& s, bool stay, bool wait, Outcome* outcome) {
  int n = 0;
  bool active = false;
  for (int i = 0; i < count; i++) {
    Request* r = s.ours[static_cast<size_t>(i)];
    if (r == nullptr || is_inactive(r)) continue;
    active = true;
    if (!g_process.requests.poll(r, stay)) continue;
    retire_into(r, &requests[i], at(statuses, n), outcome);
    indices[n++] = i;
  }
  if (!s.theirs.empty()) {
    std::vector<int> found(s.theirs.size());
    for (MPI_Status& status : s.their_status) status.MPI_ERROR = MPI_SUCCESS;
    int done = 0;
    const auto some = wait ? pmpi().Waitsome : pmpi().Testsome;
    outcome->theirs(some(s.their_count(), s.theirs.data(), &done, found.data(), s.their_status.data()));
    if (done != MPI_UNDEFINED) {
      active = true;
      for (int k = 0; k < done; k++) {
        const size_t which = static_cast<size_t>(found[static_cast<size_t>(k)]);
        MPI_Status& theirs = s.their_status[static_cast<size_t>(k)];
        const int code = s.give_back(which, requests, theirs, theirs.MPI_ERROR);
        if (code != theirs.MPI_ERROR) outcome->theirs(theirs.MPI_ERROR = code);
        if (MPI_Status* status = at(statuses, n); status != MPI_STATUS_IGNORE) *status = theirs;
        indices[n++] = s.their_position[which];
      }
    }
  }
  *outcount = active ? n : MPI_UNDEFINED;
}

// A list without any request of the engine's: the library waits for it in its own way.
int wait_any_of_theirs(MPI_Request requests[], int* index, MPI_Status* status, Split& s) {
  MPI_Status own_status;
  if (status == MPI_STATUS_IGNORE) status = &own_status;
  int which = MPI_UNDEFINED;
  int code = pmpi().Waitany(s.their_count(), s.theirs.data(), &which, status);
  *index = which;
  if (which == MPI_UNDEFINED) return code;
  code = s.give_back(static_cast<size_t>(which), requests, *status, code);
  *index = s.their_position[static_cast<size_t>(which)];
  return code;
}

}  // namespace

namespace delegate {

int wait(MPI_Request* request, MPI_Status* status, Pass pass) {
  Request* r = request != nullptr ? own(*request) : nullptr;
  if (r == nullptr) return pass();
  if (is_carried(r)) {
    if (mine(r).persistent == 0) *request = MPI_REQUEST_NULL;
    return g_process.remote.wait(r, status);
  }
  if (!is_inactive(r)) g_process.requests.wait(r);
  const Blame blame = blamed_alone(r);
  const int rc = retire(r, request, status, blame);
  return rc == MPI_SUCCESS ? rc : raise(blame, rc);
}

int test(MPI_Request* request, int* flag, MPI_Status* status, Pass pass) {
  Request* r = request != nullptr ? own(*request) : nullptr;
  if (r == nullptr || flag == nullptr) return pass();
  if (is_carried(r)) {
    const bool stays = mine(r).persistent != 0;
    const int rc = g_process.remote.test(r, flag, status);
    if (*flag != 0 && !stays) *request = MPI_REQUEST_NULL;
    return rc;
  }
  *flag = ready(r, false) ? 1 : 0;
  if (*flag == 0) {
    nothing_found();
    return MPI_SUCCESS;
  }
  const Blame blame = blamed_alone(r);
  const int rc = retire(r, request, status, blame);
  return rc == MPI_SUCCESS ? rc : raise(blame, rc);
}

int waitall(int count, MPI_Request requests[], MPI_Status statuses[], Pass pass) {
  int first = retire_front(count, requests, statuses);
  if (first == 0 && !any_of_ours(count, requests)) return pass();
  const bool all_ours = all_ours_or_null(count - first, requests + first);
  if (all_ours) first += retire_in_turn(count - first, requests + first, from(statuses, first));
  count -= first;
  requests += first;
  statuses = from(statuses, first);
  Outcome outcome(statuses);
  if (all_ours) {
    for (int i = 0; i < count; i++) {
      Request* r = own(requests[i]);
      MPI_Status* status = at(statuses, i);
      if (r == nullptr)
        set_null_entry(status);
      else if (is_left(r, outcome))
        set_pending(status);
      else
        retire_into(r, &requests[i], status, &outcome);
    }
    return outcome.code();
  }
  Split s(count, requests);
  if (s.our_count == 0) {
    for (MPI_Status& status : s.their_status) status.MPI_ERROR = MPI_SUCCESS;
    outcome.theirs(pmpi().Waitall(s.their_count(), s.theirs.data(), s.their_status.data()));
    return retire_all(count, requests, statuses, s, &outcome);
  }
  bool library_done = false;
  s.wait_for([&] {
    bool done = true;
    bool failed = false;
    for (Request* r : s.ours) {
      if (r == nullptr) continue;
      if (!ready(r, true))
        done = false;
      else if (has_failed(r))
        failed = true;
    }
    if (!library_done) library_done = their_testall(s, &outcome);
    return (done && library_done) || (failed && kWaitallEndsWithFirstError);
  });
  return retire_waited(count, requests, statuses, s, &outcome, library_done);
}

int testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[], Pass pass) {
  if (!any_of_ours(count, requests) || flag == nullptr) return pass();
  Split s(count, requests);
  Outcome outcome;
  bool done = true, failed = false;
  for (Request* r : s.ours) {
    if (r == nullptr) continue;
    if (!ready(r, false))
      done = false;
    else
      failed = failed || has_failed(r);
  }
  // The library's are asked last: it completes them at once when all are done, and then all of ours must be.
  if (done) done = their_testall(s, &outcome);
  *flag = done ? 1 : 0;
  if (done) return retire_all(count, requests, statuses, s, &outcome);
  if (failed && kTestallTellsOfFirstError)
    return retire_some(
        count, requests, statuses, s, &outcome, [](Request* r) { return !ready(r, false); }, false);
  nothing_found();
  return MPI_SUCCESS;
}

int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status, Pass pass) {
  if (!any_of_ours(count, requests) || index == nullptr) return pass();
  Split s(count, requests);
  if (s.our_count == 0) return wait_any_of_theirs(requests, index, status, s);
  int code = MPI_SUCCESS;
  s.wait_for([&] {
    *index = test_any(count, requests, status, s, true, &code);
    return *index != kNone;
  });
  return code;
}

int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status, Pass pass) {
  if (!any_of_ours(count, requests) || index == nullptr || flag == nullptr) return pass();
  Split s(count, requests);
  int code = MPI_SUCCESS;
  *index = test_any(count, requests, status, s, false, &code);
  *flag = *index != kNone ? 1 : 0;
  if (*flag == 0) {
    *index = MPI_UNDEFINED;
    nothing_found();
  }
  return code;
}

int waitsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[],
             Pass pass) {
  if (!any_of_ours(incount, requests) || outcount == nullptr || indices == nullptr) return pass();
  Split s(incount, requests);
  Outcome outcome = Outcome::of_some();
  s.wait_for([&] {
    test_some(incount, requests, outcount, indices, statuses, s, true, s.our_count == 0, &outcome);
    return *outcount != 0;
  });
  return outcome.code();
}

int testsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[],
             Pass pass) {
  if (!any_of_ours(incount, requests) || outcount == nullptr || indices == nullptr) return pass();
  Split s(incount, requests);
  Outcome outcome = Outcome::of_some();
  test_some(incount, requests, outcount, indices, statuses, s, false, false, &outcome);
  if (*outcount == 0) nothing_found();
  return outcome.code();
}

}  // namespace delegate
}  // namespace tasuki::shim
