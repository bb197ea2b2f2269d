// The end of the engine's requests: looks at them, waiting for them, cancelling them.
#include "message/engine/inside.h"
#include "message/shared/queues.h"
#include "message/transfers/pipeline.h"
#include "os/clock.h"

namespace tasuki::message {
namespace {

// Polls that a buffered-mode candidate waits for its receive before it is packed: in proportion to what
// packing costs, so that the sum is at most about twice the better of both (three times if it has been packed
// ahead).
uint32_t patience(const Request* r) {
  constexpr uint32_t kLong = 1 << 15;  // some milliseconds
  return static_cast<uint32_t>(64 + std::min<uint64_t>(layout::bytes(r->region) / 256, kLong));
}

// Its owner's look.
void unpack_cell(Request* r) {
  Transfer& t = r->transfer;
  // Several threads may look at one request (MPI_Request_get_status).
  if (t.destination_here.exchange(1, std::memory_order_acquire) != 0) return;
  layout::unpack(r->region, 0, r->status_bytes, t.cell->data());
  return_cell(t.cell);
  complete(r);
}

}  // namespace

bool Engine::poll(Request* r, bool stay) {
  if (!stay) note_call();
  if (r->kind == RequestKind::pair) {
    bool done = true;
    for (Request* part : r->part) done = poll(part, stay) && done;
    if (done) r->state.store(RequestState::done, std::memory_order_relaxed);
    return done;
  }
  if (r->kind == RequestKind::group) return poll_group(r, stay);
  switch (r->state.load(std::memory_order_acquire)) {
    case RequestState::done:
      return true;
    case RequestState::inactive:
      return true;
    case RequestState::active:
      carry_on(r, stay);
      break;
    case RequestState::pending:
      if (r->kind == RequestKind::receive) {
        look_into_rings(r->peer);
        break;
      }
      if (r->ahead != 0 && stay && look_ahead(r)) break;
      look_for_reserved(r);
      if (r->bufferable != Buffering::never && (r->held.since != 0 || is_late(r))) buffer_queued_send(r);
      break;
  }
  return r->state.load(std::memory_order_acquire) == RequestState::done;
}

// A request that has met its other side.
void Engine::carry_on(Request* r, bool stay) {
  switch (r->transfer.mode) {
    case TransferMode::staged:
      return unpack_staged(policy(r->transfer.staging->owner->slot), r, stay);
    case TransferMode::packed:
      return unpack_cell(r);
    case TransferMode::relayed:
      relays_.serve();
      return;
    default:
      help(r, stay, &stats_.transfer);
  }
}

// Its messages end in any order; those that have are gone. Of several threads that look at one group (MPI
// allows that of MPI_Request_get_status) one does so.
bool Engine::poll_group(Request* group, bool stay) {
  if (group->state.load(std::memory_order_acquire) == RequestState::done) return true;
  const bool alone = !options_.threads;
  if (!alone && group->wanted.exchange(1, std::memory_order_acquire) != 0) return false;
  const bool done = poll_parts(group, stay);
  if (!alone) group->wanted.store(0, std::memory_order_release);
  return done;
}

// Returns whether it is truncated.
bool Engine::end_part(Request* part) {
  const bool truncated = part->truncated != 0;
  if (part->kind == RequestKind::receive) {
    count(stats_.received);
    count(stats_.received_bytes, part->status_bytes);
  }
  give_request(part);
  return truncated;
}

bool Engine::poll_parts(Request* group, bool stay) {
  for (Request** at = &group->part[0]; *at != nullptr;) {
    Request* const part = *at;
    if (!poll(part, stay)) {
      at = &part->next;
      continue;
    }
    *at = part->next;
    if (end_part(part)) group->truncated = 1;
  }
  if (group->part[0] != nullptr) return false;
  group->state.store(RequestState::done, std::memory_order_release);
  return true;
}

// Counts a look for the receive of a queued send. Where ranks outnumber cores a look comes with a yield,
// which takes anything from 0.3 us to a time slice, so that the time counts, too. A synchronous send whose
// receive is only reserved gets long: after 2 ms test/mixed found one in some runs that had ended before its
// receive began.
bool Engine::is_late(Request* r) const {
  constexpr int64_t kYield = 300, kReserved = 250'000'000;  // ns
  const bool reserved = r->bufferable == Buffering::late;
  const uint32_t limit = patience(r);
  if (++r->polls > limit && !reserved) return true;
  if (!options_.wait.oversubscribed && !reserved) return false;
  const int64_t now = os::monotonic_ns();
  if (r->polls == 1) r->first_poll = now;
  return now - r->first_poll > (reserved ? kReserved : limit * kYield);
}

void Engine::wait(Request* r) {
  if (r->state.load(std::memory_order_acquire) == RequestState::done) return;
  wait_for([this, r] { return poll(r, true); });
}

void Engine::end_send(Request* r) {
  r->synchronous = 0;
  r->bufferable = Buffering::soon;
  WaitPolicy policy = options_.wait;
  policy.idle = nullptr;
  wait_for([this, r] { return poll(r, true); }, policy);
}

// It is its owner's then: another thread may free it at once.
void Engine::end_cancelled(Request* r) {
  r->cancelled = 1;
  complete(r);
}

bool Engine::cancel(Request* r) {
  if (r->state.load(std::memory_order_acquire) != RequestState::pending || r->queue == nullptr) return false;
  bool reserved = false;
  {
    Locked locked(r->queue->lock);
    if (r->queued == 0) return false;
    if (r->kind == RequestKind::receive) {
      reserved = r->reserved != 0;
      unpost(r->queue, r);
      r->reserved = 0;
      r->wanted.store(0, std::memory_order_relaxed);
    } else if (find_posted(r->queue, r->context, self_->slot, r->tag) != nullptr) {
      return false;  // a reserved receive counts on it
    } else {
      remove_unexpected(r->queue, &r->envelope);
      r->queued = 0;
    }
  }
  if (r->ahead != 0) end_ahead(r);
  end_cancelled(r);
  if (reserved) settle();
  return true;
}

}  // namespace tasuki::message
