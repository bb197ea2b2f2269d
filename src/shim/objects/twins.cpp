#include "shim/objects/twins.h"

#include <algorithm>

#include "generated/pmpi.h"
#include "shim/objects/blocks.h"
#include "shim/objects/handle_map.h"
#include "shim/objects/requests.h"
#include "shim/objects/status.h"

namespace tasuki::shim {
namespace {

using message::RequestKind;
using message::RequestState;

// A look at the library costs a microsecond where it has a network to ask; one at the space, some ten
// nanoseconds. So a call that waits looks at the library every so many times.
constexpr uint32_t kLibraryEvery = 8;

}  // namespace

void Twins::add(Request* r, MPI_Request twin) {
  const LockIf guard(threads_, lock_);
  mine(r).library = key_of(twin);
  mine(r).twin = Twin::posted;
  pending_.push_back(r);
}

void Twins::add_only(Request* r, MPI_Request twin) {
  mine(r).library = key_of(twin);
  mine(r).twin = Twin::only;
  r->state.store(RequestState::pending, std::memory_order_relaxed);
}

// The library has answered: it has a message, with this result, or has forgotten the request.
void Twins::settle(Request* r, const MPI_Status& status, int code) {
  const Twin was = mine(r).twin;
  mine(r).twin = Twin::none;
  mine(r).library = 0;
  if (code == MPI_SUCCESS) code = carrier_->unpack(r, status);
  if (mine(r).packed != nullptr) give_block(mine(r).packed);
  mine(r).packed = nullptr;
  if (was != Twin::only) pending_.erase(std::find(pending_.begin(), pending_.end(), r));
  int cancelled = 0;
  if (code == MPI_SUCCESS && was != Twin::posted && r->kind == RequestKind::receive)
    pmpi().Test_cancelled(&status, &cancelled);
  if (cancelled != 0) {  // any of these may end the request, which its owner's thread frees then
    if (was == Twin::only)
      Engine::end_cancelled(r);
    else if (was == Twin::given_up)
      engine_.cancel(r);
    else
      engine_.unreserve(r);
    return;
  }
  if (was != Twin::only) engine_.withdraw(r);
  r->status_source = status.MPI_SOURCE;
  r->status_tag = status.MPI_TAG;
  r->status_bytes = count_in(status);
  mine(r).by_library = 1;
  mine(r).code = code;
  r->state.store(RequestState::done, std::memory_order_release);
}

// Under the lock. `stay`: this look will be followed by others.
void Twins::look(Request* r, bool stay) {
  MPI_Request twin = handle_of<MPI_Request>(mine(r).library);
  if (mine(r).twin == Twin::posted && r->wanted.load(std::memory_order_relaxed) != 0) {
    pmpi().Cancel(&twin);
    mine(r).twin = Twin::cancelled;
  } else if (stay && mine(r).twin == Twin::posted && ++r->polls % kLibraryEvery != 0) {
    return;
  }
  MPI_Status status;
  int done = 0;
  const int code = pmpi().Test(&twin, &done, &status);
  if (done != 0 || code != MPI_SUCCESS) settle(r, status, code);
}

bool Twins::poll(Request* r, bool stay) {
  if (r->state.load(std::memory_order_acquire) == RequestState::done) return true;
  if (mine(r).twin == Twin::parts) {
    bool done = true;
    for (Request* part : r->part)
      done = (mine(part).twin == Twin::none ? engine_.poll(part, stay) : poll(part, stay)) && done;
    if (done) r->state.store(RequestState::done, std::memory_order_relaxed);
    return done;
  }
  const LockIf guard(threads_, lock_);
  if (mine(r).twin == Twin::operation) return poll_operation(r);
  // Messages of this space first: these are cheap to look for, and mark the receive as wanted.
  if (mine(r).twin != Twin::only && engine_.poll(r, stay)) return true;
  if (mine(r).twin != Twin::none) look(r, stay);
  return r->state.load(std::memory_order_acquire) == RequestState::done;
}

bool Twins::poll_operation(Request* r) {
  int code = MPI_SUCCESS;
  if (!mine(r).held->look(&code)) return false;
  mine(r).code = code;
  r->truncated = code != MPI_SUCCESS ? 1 : 0;
  r->state.store(RequestState::done, std::memory_order_release);
  return true;
}

void Twins::serve_wanted() {
  const LockIf guard(threads_, lock_);
  for (size_t i = 0; i < pending_.size();) {
    Request* r = pending_[i];
    if (r->wanted.load(std::memory_order_relaxed) != 0) look(r, false);
    if (i < pending_.size() && pending_[i] == r) i++;
  }
}

void Twins::cancel(Request* r) {
  const LockIf guard(threads_, lock_);
  switch (mine(r).twin) {
    case Twin::none:
      engine_.cancel(r);
      break;
    case Twin::posted:
    case Twin::cancelled: {
      MPI_Request twin = handle_of<MPI_Request>(mine(r).library);
      if (mine(r).twin == Twin::posted) pmpi().Cancel(&twin);
      mine(r).twin = Twin::given_up;
      look(r, false);
      break;
    }
    case Twin::only: {
      MPI_Request twin = handle_of<MPI_Request>(mine(r).library);
      pmpi().Cancel(&twin);
      break;
    }
    case Twin::given_up:
    case Twin::parts:
    case Twin::operation:
      break;
  }
}

}  // namespace tasuki::shim
