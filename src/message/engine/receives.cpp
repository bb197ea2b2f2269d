// The engine's receives: posted, reserved, or looking for a message that has come.
#include "base/cpu.h"
#include "message/engine/inside.h"
#include "message/shared/queues.h"
#include "message/shared/ring.h"

namespace tasuki::message {
namespace {

// Out of the queue of unexpected messages, for a receive.
void take_unexpected(Endpoint* e, Envelope* m) {
  remove_unexpected(e, m);
  if (m->sender != nullptr) m->sender->queued = 0;
  if (m->staging == nullptr) return;
  m->staging->unexpected_at.store(nullptr, std::memory_order_relaxed);
  m->staging->received.store(1, std::memory_order_relaxed);
}

void begin_receive(Request* r, Endpoint* self) {
  r->kind = RequestKind::receive;
  r->queue = self;
  r->room = layout::bytes(r->region);
  r->state.store(RequestState::pending, std::memory_order_relaxed);
}

}  // namespace

// `m` is out of its queue and belongs to `r`.
void Engine::consume(Request* r, Envelope* m) {
  if (m->cell != nullptr) {
    Cell* cell = m->cell;
    if (auto* kept = kept_of(cell); kept != nullptr) kept->fetch_sub(m->bytes, std::memory_order_relaxed);
    deliver_packed(r, cell->data(), m->source_rank, m->tag, m->bytes);
    return_cell(cell);
    return;
  }
  if (m->staging != nullptr) {
    Staging& s = *m->staging;
    set_result(r, m->source_rank, m->tag, m->bytes);
    give_to(r, s, s.head, m->bytes);
    return;
  }
  set_result(r, m->source_rank, m->tag, m->bytes);
  move(m->sender, r, r->status_bytes);
}

void Engine::start_receive(Request* r) {
  start_receive(r, false);
}

bool Engine::start_reserved_receive(Request* r) {
  return start_receive(r, true);
}

// Looks for a message that has come already, under the endpoint's lock. True: the receive has got it, from a
// ring. Else *m: an unexpected one that it may consume, out of its queue; nullptr: none has come.
bool Engine::look_for_message(Request* r, Envelope** m) {
  *m = nullptr;
  if (r->peer == kAnySource) {
    drain_for(kAnySource);  // all, or one that sends much would be the only one
  } else {
    *m = find_unexpected(self_, r->context, r->peer, r->tag);
    if (*m == nullptr && drain(self_, r->peer, r)) return true;
  }
  if (*m == nullptr) *m = find_unexpected(self_, r->context, r->peer, r->tag);
  if (*m == nullptr) return false;
  take_unexpected(self_, *m);
  return false;
}

// True if the receive is posted.
bool Engine::start_receive(Request* r, bool reserved) {
  count_call();
  streams_to_.store(kNobody, std::memory_order_relaxed);
  begin_receive(r, self_);
  Envelope* m;
  {
    Locked locked(self_->lock);
    if (look_for_message(r, &m)) return false;
    if (m == nullptr) {
      r->reserved = reserved ? 1 : 0;
      post(self_, r);
      return true;
    }
  }
  consume(r, m);
  return false;
}

void Engine::unreserve(Request* r) {
  {
    Locked locked(self_->lock);
    r->reserved = 0;
    r->wanted.store(0, std::memory_order_relaxed);
  }
  settle();
}

bool Engine::withdraw(Request* r) {
  {
    Locked locked(self_->lock);
    if (r->queued == 0) return false;
    unpost(self_, r);
    r->reserved = 0;
    r->wanted.store(0, std::memory_order_relaxed);
  }
  settle();
  return true;
}

// Gives the messages that have waited for reserved receives to those that get them now.
void Engine::settle() {
  for (;;) {
    Request* r = nullptr;
    Envelope* m;
    {
      Locked locked(self_->lock);
      if (self_->contested.load(std::memory_order_relaxed) == 0) return;
      self_->contested.store(0, std::memory_order_relaxed);  // take_posted says so again
      for (m = self_->unexpected.oldest; m != nullptr; m = m->newer)
        if ((r = take_posted(self_, m->context, m->source_slot, m->tag, m)) != nullptr) break;
      if (r == nullptr) return;
      self_->contested.store(1, std::memory_order_relaxed);  // those behind it have not been looked at
      take_unexpected(self_, m);
    }
    consume(r, m);
  }
}

// As start_receive, but leaves no trace if there is no message.
bool Engine::try_receive(Request* r) {
  Envelope* m;
  {
    Locked locked(self_->lock);
    if (look_for_message(r, &m)) return true;
    if (m == nullptr) return false;
  }
  consume(r, m);
  return true;
}

void Engine::receive(Request* r) {
  if (r->peer != kAnySource) {
    count_call();
    streams_to_.store(kNobody, std::memory_order_relaxed);
    begin_receive(r, self_);
    const Ring& ring = self_->peer(r->peer).ring;
    const uint32_t spins = options_.wait.oversubscribed ? 1 : options_.wait.spins;
    uint32_t seen = self_->arrivals.load(std::memory_order_acquire);
    bool taken = try_receive(r);
    const Waiting waiting(*this, !taken);
    for (uint32_t i = 1; !taken && i < spins; i++) {
      const uint32_t arrivals = self_->arrivals.load(std::memory_order_acquire);
      if (arrivals != seen || slot_is_full(ring)) {
        seen = arrivals;
        taken = try_receive(r);
        continue;
      }
      cpu_relax();
      if (i % 32 == 0) help_others();
      if (i % 256 == 0 && options_.wait.idle != nullptr) options_.wait.idle();
    }
    if (!taken) start_receive(r);
  } else {
    start_receive(r);
  }
  wait(r);
}

void Engine::receive_message(Request* r, Envelope* message) {
  begin_receive(r, self_);
  consume(r, message);
}

bool Engine::probe(uint32_t context, int32_t source, int32_t tag, Found* found) {
  count_call();
  Locked locked(self_->lock);
  drain_for(source);
  const Envelope* m = find_unexpected(self_, context, source, tag);
  if (m == nullptr) return false;
  *found = {m->source_rank, m->tag, m->bytes};
  return true;
}

Envelope* Engine::take_message(uint32_t context, int32_t source, int32_t tag, Found* found) {
  Locked locked(self_->lock);
  drain_for(source);
  Envelope* m = find_unexpected(self_, context, source, tag);
  if (m == nullptr) return nullptr;
  take_unexpected(self_, m);
  *found = {m->source_rank, m->tag, m->bytes};
  return m;
}

}  // namespace tasuki::message
