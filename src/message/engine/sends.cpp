// The engine's sends: which of the ways a message takes, and what becomes of one that waits for its receive.
#include "message/engine/inside.h"
#include "message/shared/queues.h"
#include "message/transfers/pipeline.h"
#include "os/clock.h"
#include "os/process/cpu.h"

namespace tasuki::message {

Cell* Engine::packed_cell(const Request* r) {
  const uint64_t n = layout::bytes(r->region);
  Cell* cell = take_cell(n, r->charged == 0 ? ring_to(r->queue) : nullptr);
  if (cell == nullptr) return nullptr;
  layout::pack(cell->data(), r->region, 0, n);
  Envelope& m = cell->envelope;
  m.context = r->context;
  m.tag = r->tag;
  m.source_slot = self_->slot;
  m.source_rank = r->envelope.source_rank;
  m.bytes = n;
  m.sender = nullptr;
  m.cell = cell;
  m.staging = nullptr;
  cell->charged = r->charged;
  cell->attachment = r->attachment;
  return cell;
}

bool Engine::start_send(Request* r, SendMode mode) {
  count_call();
  const uint64_t n = layout::bytes(r->region);
  r->kind = RequestKind::send;
  r->queue = endpoint(r->peer);
  r->held = {};
  r->state.store(RequestState::pending, std::memory_order_relaxed);
  char* start = nullptr;
  const bool always = options_.transfer.protocol == Protocol::eager;
  const bool may_buffer = mode != SendMode::synchronous && (options_.eager_bytes >= n || always);
  bool held = false;
  if (may_buffer && n > kLeastParcel && n <= kParcelBytes && r->charged == 0 &&
      (always || !is_better_straight(r)) && push_parcel(r)) {
    r->state.store(RequestState::done, std::memory_order_relaxed);
    return true;
  }
  if (may_buffer && n <= kInlineBytes && r->charged == 0) {
    char packed[kInlineBytes];
    if (!layout::is_dense(r->region, &start)) layout::pack(start = packed, r->region, 0, n);
    const auto pushed = [&](Beyond beyond) {
      return push_inline(r->queue, r->context, r->tag, r->envelope.source_rank, start,
                         static_cast<uint32_t>(n), beyond);
    };
    bool sent = pushed(Beyond::no);
    if (!sent) {
      count(stats_.without_credit);
      sent = may_exceed(r, &r->held) && pushed(Beyond::yes);
    }
    if (sent) {
      r->state.store(RequestState::done, std::memory_order_relaxed);
      return true;
    }
    held = true;
  }
  const bool ahead = goes_ahead(policy(r->peer), r);  // may use the staging buffer
  if (ahead) empty_staging();
  // The buffer is there for it, however long, but for who sets 0 to find sends that count on one.
  const bool stages = may_buffer || (mode == SendMode::standard && options_.eager_bytes != 0);
  if (ahead && stages && n > kParcelBytes && n <= kMostStaged && r->charged == 0 &&
      r->queue->waiting.load(std::memory_order_relaxed) != 0 && push_staged(r)) {
    r->state.store(RequestState::done, std::memory_order_relaxed);
    return true;
  }
  if (mode == SendMode::buffered ||
      (may_buffer && !held &&
       (always || options_.apart || (n <= policy(r->peer).from.buffer_up_to && buffer_at_once(r))))) {
    if (mode != SendMode::buffered && !credit_left(r->queue)) {
      count(stats_.without_credit);
      held = !may_exceed(r, &r->held);
    }
    Cell* cell = held ? nullptr : packed_cell(r);
    if (cell != nullptr) {
      send_cell(r, cell);
      r->state.store(RequestState::done, std::memory_order_relaxed);
      return true;
    }
    if (mode == SendMode::buffered) return false;
  }
  count(stats_.sent);
  count(stats_.sent_bytes, n);
  r->bufferable = may_buffer && mode == SendMode::standard ? Buffering::within_credit : Buffering::never;
  return match_or_queue(r, mode, ahead);
}

// A receiver that waits in a call of MPI copies straight from the sender's memory: 2 KiB back and forth 0.68
// us against 1.65 us through a cell, 1000 B 0.68 us against 1.2 us in ring slots (Open MPI and MPICH alike;
// on a slower pair of cores; on a faster pair 0.3 against 0.65 and 0.42). One that is elsewhere gets a small
// message in a cell: packing it costs less than waiting for it.
// Where ranks outnumber cores, waiting gives the core away, for a time slice to one that does not hand it on
// (test/p2p/flood took more than 150 s where plain MPICH takes 3 to 12). All small ones are packed there.
bool Engine::buffer_at_once(const Request* r) const {
  if (options_.wait.oversubscribed) return true;
  if (r->queue->waiting.load(std::memory_order_relaxed) == 0) return true;
  return layout::run_count(r->region.layout) > 1 &&
         pack_at_source(policy(r->peer).costs, layout::footprint(r->region));
}

// A dense message of some size to a receiver that waits in a call of MPI: a second copy costs more than the
// way to the receiver and back. 8000 B: 0.4 us straight, 1.2 through the parcel; 4 KiB, touched: 0.65, 0.58.
// One after the other, 8 KiB each, take 1.6 us straight and 0.9 through parcels.
bool Engine::is_better_straight(const Request* r) {
  char* start = nullptr;
  if (layout::bytes(r->region) <= kSmallBytes || options_.wait.oversubscribed || options_.apart) return false;
  return !follows_another(r) && r->queue->waiting.load(std::memory_order_relaxed) != 0 &&
         layout::is_dense(r->region, &start);
}

// A blocking send to a task to which the one before went, with no receive in between: nobody waits for the
// way back.
bool Engine::follows_another(const Request* r) {
  if (r->waits == 0) return false;
  const bool again = streams_to_.load(std::memory_order_relaxed) == r->peer;
  streams_to_.store(r->peer, std::memory_order_relaxed);
  return again;
}

// False: a send that does not block has waited long for a receiver that is in calls of MPI itself, and may be
// waiting for this task, or is this task.
template <typename Done>
bool Engine::wait_for_memory(const Request* r, Done done) {
  constexpr int64_t kPatience = 5'000'000'000;  // ns
  const bool to_itself = r->queue == self_;
  int64_t since = os::monotonic_ns();
  bool good = false;
  wait_for_tasks([&] {
    good = done();
    if (good || (r->waits != 0 && !to_itself)) return good;
    const int64_t now = os::monotonic_ns();
    if (!to_itself && r->queue->waiting.load(std::memory_order_relaxed) == 0) since = now;
    return now - since > kPatience;
  });
  return good;
}

// A send whose receive is reserved does not depend on the receive's owner, who may be in a call of the MPI
// library that depends on the sender: it is buffered, whatever its size. A synchronous send may complete,
// too, for its receive is posted; but that receive may yet get another message, so it waits as long as nobody
// can be held up.
// False: earlier messages have to match first, and there is no memory to keep them in.
bool Engine::match_or_queue(Request* r, SendMode mode, bool ahead) {
  Endpoint* e = r->queue;
  const uint64_t n = layout::bytes(r->region);
  Envelope& m = r->envelope;
  m.context = r->context;
  m.tag = r->tag;
  m.source_slot = self_->slot;
  m.bytes = n;
  m.sender = r;
  m.cell = nullptr;
  m.staging = nullptr;
  r->synchronous = mode == SendMode::synchronous ? 1 : 0;
  Request* receive = nullptr;
  const uint32_t tail = ring_tail(e);
  const auto match = [&] {
    Locked locked(e->lock);
    if (!drain_up_to(e, tail)) return false;  // earlier messages of ours match first
    receive = take_posted(e, r->context, self_->slot, r->tag);
    if (receive != nullptr) return true;
    if (find_posted(e, r->context, self_->slot, r->tag) != nullptr) r->bufferable = buffering_for_reserved(r);
    if (ahead && !options_.apart) begin_ahead(r);
    append_unexpected(e, &m);
    r->queued = 1;
    return true;
  };
  // They leave with their receives.
  if (!match() && !wait_for_memory(r, match)) return false;
  count(stats_.rendezvous);
  if (receive == nullptr) {
    wake(e);
    return true;
  }
  count(stats_.found_receive);
  set_result(receive, m.source_rank, m.tag, n);
  move(receive, r, receive->status_bytes);
  return true;
}

// A send and a receive have met: `first`, out of its queue, and `second`, this task's.
void Engine::move(Request* first, Request* second, uint64_t bytes) {
  Endpoint* other = first->owner;
  if (!options_.apart || other == self_)
    return move_message(policy(other->slot), board_->jobs, first, second, bytes, &stats_.transfer);
  if (bytes == 0) {
    complete(first);
    complete(second);
    return;
  }
  Cell* cell = take_cell(relay_room(bytes), nullptr);
  while (cell == nullptr) {  // others have all memory, and give it back when they get on
    relays_.serve();
    progress();
    os::cpu_yield();
    cell = take_cell(relay_room(bytes), nullptr);
  }
  count(stats_.transfer.pipelined_bytes, bytes);
  relays_.meet(first, second, bytes, cell);
}

// The receive that a queued send depends on may be posted after it, and reserved: it takes no message as
// long as an earlier one waits for an earlier reserved receive.
void Engine::look_for_reserved(Request* r) {
  constexpr uint32_t kLooks = 64;   // each takes the receiver's lock
  if (r->queue == nullptr) return;  // partitioned, or the library's
  if (r->bufferable > Buffering::within_credit || r->queue->contested.load(std::memory_order_relaxed) == 0)
    return;
  if (++r->looks % kLooks != 0) return;
  Locked locked(r->queue->lock);
  if (r->queued == 0 || find_posted(r->queue, r->context, r->envelope.source_slot, r->tag) == nullptr) return;
  r->bufferable = buffering_for_reserved(r);
  r->polls = 0;
}

// Of a send that has the buffer: packs some of it, which is true. If its receive does not come, others may
// have the buffer.
bool Engine::look_ahead(Request* r) {
  constexpr uint32_t kLooks = 1024;  // about 0.1 ms
  if (const uint64_t packed = pack_ahead(r); packed != 0) {
    count(stats_.transfer.pipelined_bytes, packed);
    return true;
  }
  if (++r->looks_ahead < kLooks) return false;
  Locked locked(r->queue->lock);
  if (r->queued != 0) end_ahead(r);
  return false;
}

// Is there a receive for a queued send, if nothing comes from elsewhere? It may be another message's.
bool Engine::is_expected(const Request* r) {
  Locked locked(r->queue->lock);
  return r->queued != 0 && expected_by(r->queue, &r->envelope) != nullptr;
}

// Completes an unmatched standard send by packing it, so that a late receiver does not hold the sender up.
// The message keeps its place in the order. Returns false if it has been matched meanwhile, or there is no
// memory.
bool Engine::buffer_queued_send(Request* r) {
  if (r->bufferable == Buffering::within_credit && !credit_left(r->queue) && !may_exceed(r, &r->held))
    return false;
  if (r->bufferable == Buffering::late && !is_expected(r)) {
    r->polls = 0;
    return false;
  }
  Cell* cell = packed_cell(r);
  if (cell == nullptr) return false;
  bool moved = false;
  {
    Locked locked(r->queue->lock);
    // A late one's receive may be gone by now.
    const bool may = r->queued != 0 &&
                     (r->bufferable != Buffering::late || expected_by(r->queue, &r->envelope) != nullptr);
    if (may) {
      replace_unexpected(r->queue, &r->envelope, &cell->envelope);
      r->queued = 0;
      moved = true;
    }
  }
  r->polls = 0;
  if (!moved) {
    if (r->bufferable != Buffering::late) r->bufferable = Buffering::never;
    const LockIf guard(options_.threads, pool_lock_);
    cells_.give(cell);
    return false;
  }
  if (r->ahead != 0) end_ahead(r);
  r->bufferable = Buffering::never;
  count(stats_.buffered);
  r->state.store(RequestState::done, std::memory_order_release);
  return true;
}

}  // namespace tasuki::message
