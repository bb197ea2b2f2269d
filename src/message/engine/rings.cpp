// The engine's messages in rings: what a sender writes there, within its credit, and how they come out again.
#include <cstring>

#include "message/engine/inside.h"
#include "message/shared/queues.h"
#include "message/shared/ring.h"
#include "message/transfers/staged.h"
#include "os/clock.h"
#include "os/process/process.h"

namespace tasuki::message {
namespace {

StagedHead staged_head(const RingHead& head) {
  StagedHead staged;
  memcpy(&staged, head.data, sizeof staged);
  return staged;
}

bool keeps_much(const Ring& ring) {
  return ring.kept.load(std::memory_order_relaxed) > Engine::kCredit;
}

void describe(Envelope* m, int32_t sender, const RingHead& head) {
  m->context = head.context;
  m->tag = head.tag;
  m->source_slot = sender;
  m->source_rank = head.source_rank;
  m->bytes = message_bytes(head);
  m->sender = nullptr;
  m->cell = nullptr;
  m->staging = nullptr;
}

// The message in this cell to the receive of another process, which unpacks it at its next look.
void hand_over(Request* r, Cell* cell) {
  const Envelope& m = cell->envelope;
  set_result(r, m.source_rank, m.tag, m.bytes);
  Transfer& t = r->transfer;
  t.mode = TransferMode::packed;
  t.cell = cell;
  t.destination_here.store(0, std::memory_order_relaxed);
  Endpoint* owner = r->owner;
  r->state.store(RequestState::active, std::memory_order_release);
  wake(owner);
}

bool matches(const RingHead& head, const Request* r) {
  return head.context == r->context && (r->tag == kAnyTag || head.tag == r->tag);
}

// Receives the inline message at the head of a ring.
void deliver_inline(Request* r, const Ring& ring, uint32_t at) {
  const auto& head = ring.slots[at % kRingSlots].head;
  char* start = nullptr;
  if (layout::is_dense(r->region, &start) && layout::bytes(r->region) >= head.bytes) {
    set_result(r, head.source_rank, head.tag, head.bytes);
    const os::WritesAllowed allowed;
    read_inline(ring, at, start, head.bytes);
    complete(r);
    return;
  }
  char packed[kInlineBytes];
  read_inline(ring, at, packed, head.bytes);
  deliver_packed(r, packed, head.source_rank, head.tag, head.bytes);
}

}  // namespace

void Engine::announce(Endpoint* destination, Ring* ring) {
  Locked locked(destination->lock);
  if (ring->announced.load(std::memory_order_relaxed) != 0) return;
  const uint32_t n = destination->sender_count.load(std::memory_order_relaxed);
  destination->senders[n] = static_cast<uint16_t>(self_->slot);
  destination->sender_count.store(n + 1, std::memory_order_release);
  ring->announced.store(1, std::memory_order_release);
}

// Under the pool lock.
bool Engine::has_credit(Ring* ring) {
  if (__builtin_expect(ring->outstanding <= kCredit, 1)) return true;
  cells_.collect(self_);
  return ring->outstanding <= kCredit;
}

bool Engine::credit_left(Endpoint* destination) {
  const LockIf guard(options_.threads, pool_lock_);
  return has_credit(ring_to(destination));
}

// May a message of this size be kept for its receiver although there is no credit? To be asked again and
// again while the message is held.
bool Engine::may_exceed(const Endpoint* destination, uint64_t bytes, Held* held) const {
  constexpr int64_t kUnseenCall = 1'000'000;  // ns
  if (bytes > options_.library_eager_bytes) return false;
  if (destination->waiting.load(std::memory_order_relaxed) != 0) return true;
  const uint32_t calls = destination->calls.load(std::memory_order_relaxed);
  const int64_t now = os::monotonic_ns();
  if (held->since == 0) {
    *held = {now, calls};
    return false;
  }
  if (calls != held->calls) return true;
  if (now - held->since < kUnseenCall) return false;
  held->since = now;
  return os::runs(destination->process);
}

// The same for a message that has a request, whose receive finds it without being sent: a piece of a
// collective operation may wait so.
bool Engine::may_exceed(const Request* r, Held* held) const {
  return !is_collective(r->context) && may_exceed(r->queue, layout::bytes(r->region), held);
}

void Engine::write_head(Ring& ring, uint32_t at, const Endpoint* destination, uint32_t context, int32_t tag,
                        int32_t source_rank, uint32_t bytes) const {
  RingHead& head = ring.slots[at % kRingSlots].head;
  head.context = context;
  head.tag = tag;
  head.source_rank = source_rank;
  head.bytes = bytes;
  head.seen = self_->peer(destination->slot).ring.head.load(std::memory_order_acquire);
}

// What `sender` says of this task's ring to it: so this task need not fetch that line from its cache.
void Engine::note_seen(Endpoint* e, int32_t sender, const RingHead& head) {
  if (e != self_) return;
  Ring* ring = ring_to(endpoint(sender));
  const LockIf guard(options_.threads, pool_lock_);
  note_head(*ring, head.seen);
}

// Waits until has_room(head), for a receiver that has been in some calls since this was in vain. It makes
// room soon, and to move its messages on for it would hold it up: of 64 messages a time, one after the other,
// 256 B took 0.40 us each, and take 0.21, 512 B 0.48 and 0.26.
template <typename HasRoom>
bool Engine::makes_room(const Endpoint* receiver, const Ring& ring, std::atomic<uint32_t>& vain,
                        uint32_t least_calls, HasRoom has_room) {
  constexpr int kLooks = 20, kBetween = 8;  // some us; each look takes a line from the receiver
  if (options_.wait.oversubscribed || receiver == self_) return false;
  const uint32_t calls = receiver->calls.load(std::memory_order_relaxed);
  if (calls - vain.load(std::memory_order_relaxed) < least_calls) return false;
  for (int i = 0; i < kLooks; i++) {
    for (int k = 0; k < kBetween; k++) cpu_relax();
    if (has_room(ring.head.load(std::memory_order_acquire))) return true;
  }
  vain.store(calls, std::memory_order_relaxed);
  return false;
}

// The ring that was filled up to `tail` has no room for `slots` more.
void Engine::clear_ring(Endpoint* receiver, Ring& ring, uint32_t tail, uint32_t slots) {
  constexpr uint32_t kAtOnce = kRingSlots / 4;  // for one message only, the next would have to wait, too
  count(stats_.ring_full);
  const uint32_t wanted = tail + slots + kAtOnce - kRingSlots;
  if (makes_room(receiver, ring, ring.full_at, 1,
                 [=](uint32_t head) { return static_cast<int32_t>(head - wanted) >= 0; }))
    return;
  bool gets_on = false;
  {
    const LockIf guard(options_.threads, pool_lock_);
    cells_.collect(self_);
    gets_on = ring.outstanding < ring.outstanding_before;
  }
  // The receiver does not keep up: move its messages on for it. It gets those first, and if it is at them, as
  // few as there must be: else it would never get back to the ring.
  {
    Locked locked(receiver->lock);
    drain(receiver, self_->slot, nullptr, gets_on ? slots : kRingSlots);
  }
  const LockIf guard(options_.threads, pool_lock_);
  ring.outstanding_before = ring.outstanding;
}

// Puts one message of `slots` slots into the ring to `destination`; `fill` writes it, given the ring and the
// position. False, with nothing done, if it may not: `may`, given the ring.
template <typename May, typename Fill>
bool Engine::push(Endpoint* destination, uint32_t slots, May may, Fill fill) {
  Ring* ring = ring_to(destination);
  if (__builtin_expect(ring->announced.load(std::memory_order_acquire) == 0, 0)) announce(destination, ring);
  for (uint32_t tail;;) {
    {
      const LockIf guard(options_.threads, pool_lock_);
      if (!may(ring)) return false;
      tail = ring->tail;
      if (tail + slots - ring->seen_head > kRingSlots) look_at_head(*ring);
      if (tail + slots - ring->seen_head <= kRingSlots) {
        fill(*ring, tail);
        ring->slots[tail % kRingSlots].sequence.store(lap_of(tail), std::memory_order_release);
        ring->tail = tail + slots;
        break;
      }
    }
    clear_ring(destination, *ring, tail, slots);
  }
  wake(destination);
  return true;
}

bool Engine::push_inline(Endpoint* destination, uint32_t context, int32_t tag, int32_t source_rank,
                         const char* data, uint32_t bytes, Beyond beyond) {
  const auto may = [&](Ring* ring) { return beyond == Beyond::yes || has_credit(ring); };
  const bool sent = push(destination, slots_for(bytes), may, [&](Ring& ring, uint32_t at) {
    write_head(ring, at, destination, context, tag, source_rank, bytes);
    write_inline(ring, at, data, bytes);
  });
  if (!sent) return false;
  count(stats_.sent);
  count(stats_.sent_bytes, bytes);
  count(stats_.inlined);
  return true;
}

// Under the pool lock: where a parcel of so many bytes may lie. A receiver that has much of this task's to
// receive gets no more that the credit does not count: it would grow without end.
bool Engine::find_parcel(Ring* ring, uint32_t bytes, uint32_t room, uint32_t* begin) {
  constexpr uint32_t kBetweenLooks = 32;  // parcels: each look fetches a line of the receiver's
  if (!find_place(*ring, bytes, room, begin)) {
    look_at_head(*ring);
    if (!find_place(*ring, bytes, room, begin)) return false;
  }
  if (!has_credit(ring)) return false;
  return ring->parcels_sent % kBetweenLooks != 0 || !keeps_much(*ring);
}

// By a sender that finds no place for one: waits for a quarter of those that are on their way. Not at each
// message: in vain, it goes another way.
bool Engine::takes_parcels(Endpoint* receiver) {
  constexpr uint32_t kLeastCalls = 64;
  Ring& ring = *ring_to(receiver);
  uint32_t at;
  {
    const LockIf guard(options_.threads, pool_lock_);
    look_at_head(ring);
    if (ring.parcel_count == 0 || !has_credit(&ring) || keeps_much(ring)) return false;
    at = ring.parcels[(ring.oldest_parcel + ring.parcel_count / 4) % kParcels].at;
  }
  return makes_room(receiver, ring, ring.no_place_at, kLeastCalls,
                    [=](uint32_t head) { return static_cast<int32_t>(head - at) > 0; });
}

// pack(to) packs it. False, with nothing done: there is no room for it, or the receiver has too much to
// receive already.
template <typename Pack>
bool Engine::push_parcel(Endpoint* destination, uint32_t context, int32_t tag, int32_t source_rank,
                         uint32_t bytes, uint32_t room, Pack pack) {
  uint32_t begin = 0;
  const auto may = [&](Ring* ring) { return find_parcel(ring, bytes, room, &begin); };
  const auto fill = [&](Ring& ring, uint32_t at) {
    char* const parcel = add_parcel(ring, at, begin, bytes);
    write_head(ring, at, destination, context, tag, source_rank, kInParcel | bytes);
    pack(parcel);
  };
  while (!push(destination, 1, may, fill))
    if (room != kParcelRoom || !takes_parcels(destination)) return false;
  count(stats_.sent);
  count(stats_.sent_bytes, bytes);
  count(stats_.buffered);
  return true;
}

bool Engine::push_parcel(const Request* r) {
  const uint32_t n = static_cast<uint32_t>(layout::bytes(r->region));
  // Of what does not wait the receives may be there before it is copied twice: 8 KiB 0.66 us and 0.92.
  const uint32_t room = r->waits != 0 || n <= kSmallBytes ? kParcelRoom : 2 * kParcelBytes;
  return push_parcel(r->queue, r->context, r->tag, r->envelope.source_rank, n, room,
                     [&](char* parcel) { layout::pack(parcel, r->region, 0, n); });
}

// False, with nothing done: the buffer is in use.
bool Engine::push_staged(const Request* r) {
  StagedHead staged;
  if (!open_staged(r, &staged)) return false;
  const uint32_t n = static_cast<uint32_t>(layout::bytes(r->region));
  const auto always = [](Ring*) { return true; };
  push(r->queue, 1, always, [&](Ring& ring, uint32_t at) {
    write_head(ring, at, r->queue, r->context, r->tag, r->envelope.source_rank, kStaged | n);
    memcpy(ring.slots[at % kRingSlots].head.data, &staged, sizeof staged);
  });
  pack_staged(r, staged);
  count(stats_.sent);
  count(stats_.sent_bytes, n);
  count(stats_.buffered);
  count(stats_.transfer.pipelined_bytes, n);
  return true;
}

// Moves a staged message that no receive has got yet from the buffer into a cell, within the credit.
void Engine::empty_staging() {
  Staging& s = *self_->staging;
  Endpoint* e = s.destination.load(std::memory_order_relaxed);
  if (e == nullptr || s.received.load(std::memory_order_relaxed) != 0 || !credit_left(e)) return;
  Cell* cell = take_cell(s.envelope.bytes, ring_to(e));
  if (cell == nullptr) return;
  bool moved = false;
  {
    Locked locked(e->lock);
    drain(e, self_->slot);
    const Envelope& m = s.envelope;
    // Another thread may have sent the next one meanwhile, and may still pack it.
    if (s.unexpected_at.load(std::memory_order_relaxed) == e && m.bytes <= cell->capacity &&
        is_packed(s, s.head, m.bytes)) {
      copy_staged(cell->data(), s, m.bytes);
      cell->envelope = m;
      cell->envelope.staging = nullptr;
      cell->envelope.cell = cell;
      replace_unexpected(e, &s.envelope, &cell->envelope);
      s.unexpected_at.store(nullptr, std::memory_order_relaxed);
      moved = true;
    }
  }
  if (moved) return close_staged(s);
  const LockIf guard(options_.threads, pool_lock_);
  cells_.give(cell);
}

bool Engine::try_send_small(int32_t slot, uint32_t context, int32_t tag, int32_t source_rank,
                            const char* data, uint32_t bytes) {
  count_call();
  Endpoint* e = endpoint(slot);
  if (bytes <= kLeastParcel) return push_inline(e, context, tag, source_rank, data, bytes, Beyond::no);
  return push_parcel(e, context, tag, source_rank, bytes, kParcelRoom,
                     [&](char* parcel) { memcpy(parcel, data, bytes); });
}

void Engine::send_inline(int32_t slot, uint32_t context, int32_t tag, int32_t source_rank, const char* data,
                         uint32_t bytes) {
  count_call();
  Endpoint* e = endpoint(slot);
  if (__builtin_expect(push_inline(e, context, tag, source_rank, data, bytes, Beyond::no), 1)) return;
  count(stats_.without_credit);
  Held held{};
  wait_for([&] {
    const Beyond beyond = may_exceed(e, bytes, &held) ? Beyond::yes : Beyond::no;
    return push_inline(e, context, tag, source_rank, data, bytes, beyond);
  });
}

void Engine::send_cell(const Request* r, Cell* cell) {
  const uint64_t bytes = cell->envelope.bytes;  // the cell is the receiver's once it is pushed
  const auto always = [](Ring*) { return true; };
  push(r->queue, 1, always, [&](Ring& ring, uint32_t at) {
    write_head(ring, at, r->queue, r->context, r->tag, r->envelope.source_rank, kInCell);
    memcpy(ring.slots[at % kRingSlots].head.data, &cell, sizeof cell);
  });
  count(stats_.sent);
  count(stats_.sent_bytes, bytes);
  count(stats_.buffered);
}

// Where a cell is counted that this task keeps a message of another one in; nullptr: it is no such cell.
std::atomic<uint64_t>* Engine::kept_of(const Cell* cell) const {
  const int32_t sender = cell->envelope.source_slot;
  return cell->owner == self_ && sender != self_->slot ? &self_->peer(sender).ring.kept : nullptr;
}

// A cell of this task's with the message that lies in the ring, in its slots or as a parcel; nullptr: no
// memory.
Cell* Engine::to_cell(Endpoint* e, int32_t sender, uint32_t at) {
  const Ring& ring = e->peer(sender).ring;
  const RingHead& head = ring.slots[at % kRingSlots].head;
  const uint32_t bytes = message_bytes(head);
  Cell* cell = take_cell(bytes, e == self_ ? nullptr : &e->peer(sender).ring);
  if (cell == nullptr) return nullptr;
  if (is_in_parcel(head))
    memcpy(cell->data(), parcel_at(ring, at, bytes), bytes);
  else
    read_inline(ring, at, cell->data(), bytes);
  describe(&cell->envelope, sender, head);
  cell->envelope.cell = cell;
  return cell;
}

// Keeps a message that lies in the ring for a later receive. Returns false, leaving it there, if there is no
// memory.
bool Engine::keep(Endpoint* e, int32_t sender, uint32_t at) {
  const Ring& ring = e->peer(sender).ring;
  const RingHead& head = ring.slots[at % kRingSlots].head;
  const uint32_t bytes = message_bytes(head);
  if (is_staged(head)) {
    Staging* s = endpoint(sender)->staging;
    describe(&s->envelope, sender, head);
    s->envelope.staging = s;
    s->head = staged_head(head);
    s->unexpected_at.store(e, std::memory_order_relaxed);
    append_unexpected(e, &s->envelope);
    return true;
  }
  Cell* cell = to_cell(e, sender, at);
  if (cell == nullptr) return false;
  if (auto* kept = kept_of(cell); kept != nullptr) kept->fetch_add(bytes, std::memory_order_relaxed);
  append_unexpected(e, &cell->envelope);
  return true;
}

// Gives the message at the head of a ring to its receive, and the slots back.
void Engine::deliver(Request* r, int32_t sender, Ring& ring, uint32_t at) {
  const RingHead& head = ring.slots[at % kRingSlots].head;
  const uint32_t after = at + slots_of(head);
  if (head.bytes == kInCell) {
    Cell* cell = cell_at(ring, at);
    deliver_packed(r, cell->data(), head.source_rank, head.tag, cell->envelope.bytes);
    return_cell(cell);
  } else if (is_in_parcel(head)) {
    const uint32_t bytes = message_bytes(head);
    deliver_packed(r, parcel_at(ring, at, bytes), head.source_rank, head.tag, bytes);
  } else if (is_staged(head)) {
    const uint32_t bytes = message_bytes(head);
    set_result(r, head.source_rank, head.tag, bytes);
    give_to(r, *endpoint(sender)->staging, staged_head(head), bytes);
  } else {
    deliver_inline(r, ring, at);
  }
  ring.head.store(after, std::memory_order_release);
}

// A cell of this task's to a receive that is posted: that was the receiver's wish, and counts against no
// credit.
void Engine::give_away(Request* r, Cell* cell) {
  {
    const LockIf guard(options_.threads, pool_lock_);
    CellPool::forgive(cell);
  }
  hand_over(r, cell);
}

// Moves the message at the head of a ring of another process on, whose receives get it in a cell: it unpacks
// that itself. Returns false, leaving it there, if there is no memory.
bool Engine::pass_on(Endpoint* e, int32_t sender, Ring& ring, uint32_t at) {
  const RingHead& head = ring.slots[at % kRingSlots].head;
  const uint32_t after = at + slots_of(head);
  Cell* cell = nullptr;
  if (!is_staged(head)) {
    cell = head.bytes == kInCell ? cell_at(ring, at) : to_cell(e, sender, at);
    if (cell == nullptr) return false;
  }
  Request* r = take_posted(e, head.context, sender, head.tag);
  if (cell == nullptr && r != nullptr) {
    deliver(r, sender, ring, at);
    return true;
  }
  if (cell == nullptr)
    keep(e, sender, at);
  else if (r != nullptr)
    give_away(r, cell);
  else
    append_unexpected(e, &cell->envelope);
  ring.head.store(after, std::memory_order_release);
  return true;
}

// Moves everything in one ring to its receive or to the unexpected queue. Under the endpoint's lock. A
// receive that comes late, which no unexpected message matches, gets the first message that is for no posted
// one: true, and what follows it stays in the ring. So does what begins `slots` behind the head.
bool Engine::drain(Endpoint* e, int32_t sender, Request* late, uint32_t slots) {
  Ring& ring = e->peer(sender).ring;
  uint32_t at = ring.head.load(std::memory_order_relaxed);
  const uint32_t begin = at;
  while (at - begin < slots &&
         ring.slots[at % kRingSlots].sequence.load(std::memory_order_acquire) == lap_of(at)) {
    const RingHead& head = ring.slots[at % kRingSlots].head;
    const uint32_t after = at + slots_of(head);
    // A stream's next ones come meanwhile: 5 % of it.
    __builtin_prefetch(&ring.slots[after % kRingSlots]);
    __builtin_prefetch(&ring.slots[(after + 3) % kRingSlots]);
    note_seen(e, sender, head);
    if (__builtin_expect(options_.apart && e != self_, 0)) {
      if (!pass_on(e, sender, ring, at)) break;
    } else if (Request* r = take_posted(e, head.context, sender, head.tag); r != nullptr) {
      deliver(r, sender, ring, at);
    } else if (late != nullptr && matches(head, late) && e->contested.load(std::memory_order_relaxed) == 0) {
      deliver(late, sender, ring, at);
      return true;
    } else {
      if (head.bytes == kInCell)
        append_unexpected(e, &cell_at(ring, at)->envelope);
      else if (!keep(e, sender, at))
        break;
      ring.head.store(after, std::memory_order_release);
    }
    at = after;
  }
  return false;
}

uint32_t Engine::ring_tail(Endpoint* receiver) {
  const LockIf guard(options_.threads, pool_lock_);
  return ring_to(receiver)->tail;
}

// False: what this task put into its ring to `receiver` before `tail` has not all left it, for want of
// memory.
bool Engine::drain_up_to(Endpoint* receiver, uint32_t tail) {
  Ring& ring = *ring_to(receiver);
  if (ring.announced.load(std::memory_order_acquire) == 0) return true;
  drain(receiver, self_->slot);
  return static_cast<int32_t>(ring.head.load(std::memory_order_relaxed) - tail) >= 0;
}

void Engine::drain_for(int32_t source) {
  if (source != kAnySource) {
    drain(self_, source);
    return;
  }
  const uint32_t n = self_->sender_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < n; i++) drain(self_, self_->senders[i]);
}

void Engine::look_into_rings(int32_t source) {
  if (source != kAnySource) {
    if (!slot_is_full(self_->peer(source).ring)) return;
    Locked locked(self_->lock);
    drain(self_, source);
    return;
  }
  const uint32_t n = self_->sender_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < n; i++) look_into_rings(self_->senders[i]);
}

void Engine::progress() {
  look_into_rings(kAnySource);
}

}  // namespace tasuki::message
