#include "message/engine.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "base/cpu.h"
#include "message/shared/queues.h"
#include "message/shared/ring.h"
#include "message/transfers/pipeline.h"
#include "message/transfers/staged.h"
#include "message/transfers/trials.h"
#include "os/clock.h"
#include "os/memory/keys.h"
#include "os/process/process.h"
#include "os/process/self.h"

namespace tasuki::message {
namespace {

// Polls that a buffered-mode candidate waits for its receive before it is packed: in proportion to what
// packing costs, so that the sum is at most about twice the better of both (three times if it has been packed
// ahead).
uint32_t patience(const Request* r) {
  constexpr uint32_t kLong = 1 << 15;  // some milliseconds
  return static_cast<uint32_t>(64 + std::min<uint64_t>(layout::bytes(r->region) / 256, kLong));
}

void set_result(Request* r, int32_t source_rank, int32_t tag, uint64_t bytes) {
  r->status_source = source_rank;
  r->status_tag = tag;
  r->status_bytes = std::min(bytes, r->room);
  r->truncated = bytes > r->room;
  if (r->truncated != 0) r->envelope.bytes = bytes;
}

void deliver_packed(Request* r, const char* data, int32_t source_rank, int32_t tag, uint64_t bytes) {
  set_result(r, source_rank, tag, bytes);
  const os::WritesAllowed allowed;  // a sender may do this for the receiver
  if (r->status_bytes != 0) layout::unpack(r->region, 0, r->status_bytes, data);
  complete(r);
}

StagedHead staged_head(const RingHead& head) {
  StagedHead staged;
  memcpy(&staged, head.data, sizeof staged);
  return staged;
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

// Out of the queue of unexpected messages, for a receive.
void take_unexpected(Endpoint* e, Envelope* m) {
  remove_unexpected(e, m);
  if (m->sender != nullptr) m->sender->queued = 0;
  if (m->staging == nullptr) return;
  m->staging->unexpected_at.store(nullptr, std::memory_order_relaxed);
  m->staging->received.store(1, std::memory_order_relaxed);
}

// A staged message to its receive, which another thread may be waiting for.
void give_to(Request* r, Staging& s, const StagedHead& head, uint64_t bytes) {
  Endpoint* owner = r->owner;
  give_staged(r, s, head, bytes);
  wake(owner);
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

// Its owner's look.
void unpack_cell(Request* r) {
  Transfer& t = r->transfer;
  // Several threads may look at one request (MPI_Request_get_status).
  if (t.destination_here.exchange(1, std::memory_order_acquire) != 0) return;
  layout::unpack(r->region, 0, r->status_bytes, t.cell->data());
  return_cell(t.cell);
  complete(r);
}

void begin_receive(Request* r, Endpoint* self) {
  r->kind = RequestKind::receive;
  r->queue = self;
  r->room = layout::bytes(r->region);
  r->state.store(RequestState::pending, std::memory_order_relaxed);
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

namespace {

// Zeros, by a store for each 16 bytes: of a memset of some hundred bytes gcc makes `rep stos`, which takes 10
// ns to begin, an eighth of a non-blocking message.
template <size_t... I>
void clear(char* memory, std::index_sequence<I...>) {
  using Store [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = char;
  ((*reinterpret_cast<Store*>(memory + I * sizeof(Store)) = Store{}), ...);
}
template <typename T>
void clear(T* what) {
  constexpr size_t kStores = sizeof(T) / 16, kRest = sizeof(T) % 16;
  static_assert(std::is_trivially_destructible_v<T>);
  char* memory = reinterpret_cast<char*>(what);
  clear(memory, std::make_index_sequence<kStores>());
  memset(memory + kStores * 16, 0, kRest);
}

}  // namespace

void Request::reset() {
  clear(static_cast<Operation*>(this));
  clear(&owners);
  part[0] = part[1] = nullptr;
}

class Engine::PoolGuard {
 public:
  explicit PoolGuard(Engine& e) : lock_(e.options_.threads ? &e.pool_lock_ : nullptr) {
    if (lock_ != nullptr) lock_->lock();
  }
  ~PoolGuard() {
    if (lock_ != nullptr) lock_->unlock();
  }
  PoolGuard(const PoolGuard&) = delete;
  PoolGuard& operator=(const PoolGuard&) = delete;

 private:
  SpinLock* lock_;
};

Endpoint* Engine::make_endpoint(Board* board, int32_t slot) {
  const size_t size = sizeof(Endpoint) + board->task_count * sizeof(Peer);
  void* memory = map_forever(size + board->task_count * sizeof(uint16_t));
  Staging* staging = static_cast<Staging*>(map_forever(sizeof(Staging)));
  Streams* streams = static_cast<Streams*>(map_forever(sizeof(Streams)));
  if (memory == nullptr || staging == nullptr || streams == nullptr) return nullptr;
  board_ = board;
  // Fresh zeros are the initial state of everything in it, and untouched pages of unused peers cost no
  // memory.
  self_ = static_cast<Endpoint*>(memory);
  self_->slot = slot;
  self_->process = os::pid_of_self();
  self_->staging = staging;
  staging->owner = self_;
  self_->streams = streams;
  relays_.open(self_);
  self_->senders = reinterpret_cast<uint16_t*>(static_cast<char*>(memory) + size);
  return self_;
}

void Engine::set_options(const Options& options) {
  options_ = options;
  options_.wait.apart = options.apart;
  if (!options.apart) return;
  TransferPolicy& policy = options_.transfer;
  if (policy.protocol != Protocol::eager) policy.protocol = Protocol::pipelined;
  policy.learns = false;
  policy.from.announce_from = UINT64_MAX;  // nobody else can copy
}

bool Engine::set_costs(const CostTable& table) {
  if (!table.several() || options_.apart) return true;
  Distance* distances = static_cast<Distance*>(map_forever(board_->task_count * sizeof(Distance)));
  if (distances == nullptr) return false;
  for (uint32_t i = 0; i < board_->task_count; i++) {
    const Endpoint* e = endpoint(static_cast<int32_t>(i));
    distances[i] = e == nullptr ? Distance::machine : distance(self_->place, e->place);
  }
  for (size_t d = 0; d < kDistances; d++) {
    policies_[d] = options_.transfer;
    policies_[d].costs = table.at[d];
    policies_[d].from = thresholds(table.at[d]);
  }
  distances_ = distances;
  return true;
}

// ---- pools

Request* Engine::take_request() {
  Request* r;
  {
    PoolGuard guard(*this);
    r = requests_.take();
  }
  if (r != nullptr) r->owner = self_;
  return r;
}

void Engine::give_request(Request* r) {
  r->reset();
  PoolGuard guard(*this);
  requests_.give(r);
}

Cell* Engine::take_cell(uint64_t bytes, Ring* debtor) {
  PoolGuard guard(*this);
  return cells_.take(bytes, self_, debtor);
}

// Takes back cells that have come home, so that their memory can leave after a burst.
void Engine::tidy() {
  if (self_->returned.load(std::memory_order_relaxed) == nullptr) return;
  PoolGuard guard(*this);
  cells_.collect(self_);
}

uint64_t Engine::take_released() {
  PoolGuard guard(*this);
  cells_.collect(self_);
  return cells_.take_released();
}

uint32_t Engine::next_attachment() {
  PoolGuard guard(*this);
  return cells_.next_attachment();
}

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

// ---- rings

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
  PoolGuard guard(*this);
  return has_credit(ring_to(destination));
}

// May a message of this size be kept for its receiver although there is no credit? To be asked again and
// again while the message is held.
bool Engine::may_exceed(const Endpoint* destination, uint32_t context, uint64_t bytes, Held* held) const {
  constexpr int64_t kUnseenCall = 1'000'000;  // ns
  if (bytes > options_.library_eager_bytes || is_of_pieces(context)) return false;
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
  PoolGuard guard(*this);
  note_head(*ring, head.seen);
}

// Puts one message of `slots` slots into the ring to `destination`; `fill` writes it, given the ring and the
// position. False, with nothing done, if it may not: `may`, given the ring.
template <typename May, typename Fill>
bool Engine::push(Endpoint* destination, uint32_t slots, May may, Fill fill) {
  Ring* ring = ring_to(destination);
  if (__builtin_expect(ring->announced.load(std::memory_order_acquire) == 0, 0)) announce(destination, ring);
  for (;;) {
    {
      PoolGuard guard(*this);
      if (!may(ring)) return false;
      const uint32_t tail = ring->tail;
      if (tail + slots - ring->seen_head > kRingSlots) look_at_head(*ring);
      if (tail + slots - ring->seen_head <= kRingSlots) {
        fill(*ring, tail);
        ring->slots[tail % kRingSlots].sequence.store(lap_of(tail), std::memory_order_release);
        ring->tail = tail + slots;
        break;
      }
    }
    // The receiver does not keep up: move its messages on for it.
    count(stats_.ring_full);
    Locked locked(destination->lock);
    drain(destination, self_->slot);
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
bool Engine::find_parcel(Ring* ring, uint32_t bytes, uint32_t* begin) {
  constexpr uint32_t kBetweenLooks = 32;  // parcels: each look fetches a line of the receiver's
  if (!find_place(*ring, bytes, begin)) {
    look_at_head(*ring);
    if (!find_place(*ring, bytes, begin)) return false;
  }
  if (!has_credit(ring)) return false;
  return ring->parcels_sent % kBetweenLooks != 0 || ring->kept.load(std::memory_order_relaxed) <= kCredit;
}

// False, with nothing done: there is no room for it, or the receiver has too much to receive already.
bool Engine::push_parcel(const Request* r) {
  const uint32_t n = static_cast<uint32_t>(layout::bytes(r->region));
  uint32_t begin = 0;
  const auto may = [&](Ring* ring) { return find_parcel(ring, n, &begin); };
  const bool sent = push(r->queue, 1, may, [&](Ring& ring, uint32_t at) {
    char* const parcel = add_parcel(ring, at, begin, n);
    write_head(ring, at, r->queue, r->context, r->tag, r->envelope.source_rank, kInParcel | n);
    layout::pack(parcel, r->region, 0, n);
  });
  if (!sent) return false;
  count(stats_.sent);
  count(stats_.sent_bytes, n);
  count(stats_.buffered);
  return true;
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
      copy_staged(cell->data(), s, s.head, m.bytes);
      cell->envelope = m;
      cell->envelope.staging = nullptr;
      cell->envelope.cell = cell;
      replace_unexpected(e, &s.envelope, &cell->envelope);
      s.unexpected_at.store(nullptr, std::memory_order_relaxed);
      moved = true;
    }
  }
  if (moved) return close_staged(s);
  PoolGuard guard(*this);
  cells_.give(cell);
}

bool Engine::try_send_inline(int32_t slot, uint32_t context, int32_t tag, int32_t source_rank,
                             const char* data, uint32_t bytes) {
  count_call();
  return push_inline(endpoint(slot), context, tag, source_rank, data, bytes, Beyond::no);
}

void Engine::send_inline(int32_t slot, uint32_t context, int32_t tag, int32_t source_rank, const char* data,
                         uint32_t bytes) {
  if (__builtin_expect(try_send_inline(slot, context, tag, source_rank, data, bytes), 1)) return;
  Endpoint* e = endpoint(slot);
  count(stats_.without_credit);
  Held held{};
  wait_for([&] {
    const Beyond beyond = may_exceed(e, context, bytes, &held) ? Beyond::yes : Beyond::no;
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
    PoolGuard guard(*this);
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
// one: true, and what follows it stays in the ring.
bool Engine::drain(Endpoint* e, int32_t sender, Request* late) {
  Ring& ring = e->peer(sender).ring;
  uint32_t at = ring.head.load(std::memory_order_relaxed);
  while (ring.slots[at % kRingSlots].sequence.load(std::memory_order_acquire) == lap_of(at)) {
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

// ---- sends

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
      sent = may_exceed(r->queue, r->context, n, &r->held) && pushed(Beyond::yes);
    }
    if (sent) {
      r->state.store(RequestState::done, std::memory_order_relaxed);
      return true;
    }
    held = true;
  } else if (may_buffer && n <= kParcelBytes && r->charged == 0 && (always || !is_better_straight(r)) &&
             push_parcel(r)) {
    r->state.store(RequestState::done, std::memory_order_relaxed);
    return true;
  }
  const bool ahead = goes_ahead(policy(r->peer), r);  // may use the staging buffer
  if (ahead) empty_staging();
  if (ahead && may_buffer && n > kParcelBytes && n <= kMostStaged && r->charged == 0 &&
      r->queue->waiting.load(std::memory_order_relaxed) != 0 && push_staged(r)) {
    r->state.store(RequestState::done, std::memory_order_relaxed);
    return true;
  }
  if (mode == SendMode::buffered ||
      (may_buffer && !held &&
       (always || options_.apart || (n <= policy(r->peer).from.buffer_up_to && buffer_at_once(r))))) {
    if (mode != SendMode::buffered && !credit_left(r->queue)) {
      count(stats_.without_credit);
      held = !may_exceed(r->queue, r->context, n, &r->held);
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
  match_or_queue(r, mode, ahead);
  return true;
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
bool Engine::is_better_straight(const Request* r) const {
  constexpr uint64_t kDense = 4096;
  char* start = nullptr;
  return layout::bytes(r->region) > kDense && !options_.wait.oversubscribed && !options_.apart &&
         r->queue->waiting.load(std::memory_order_relaxed) != 0 && layout::is_dense(r->region, &start);
}

// A send whose receive is reserved does not depend on the receive's owner, who may be in a call of the MPI
// library that depends on the sender: it is buffered, whatever its size. A synchronous send may complete,
// too, for its receive is posted; but that receive may yet get another message, so it waits as long as nobody
// can be held up.
void Engine::match_or_queue(Request* r, SendMode mode, bool ahead) {
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
  Request* receive;
  {
    Locked locked(e->lock);
    if (e->peer(self_->slot).ring.announced.load(std::memory_order_acquire) != 0)
      drain(e, self_->slot);  // earlier messages of ours match first
    receive = take_posted(e, r->context, self_->slot, r->tag);
    if (receive == nullptr) {
      if (find_posted(e, r->context, self_->slot, r->tag) != nullptr)
        r->bufferable = buffering_for_reserved(r);
      if (ahead && !options_.apart) begin_ahead(r);
      append_unexpected(e, &m);
      r->queued = 1;
    }
  }
  count(stats_.rendezvous);
  if (receive == nullptr) {
    wake(e);
    return;
  }
  count(stats_.found_receive);
  set_result(receive, m.source_rank, m.tag, n);
  move(receive, r, receive->status_bytes);
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
  while (cell == nullptr) {  // those that are under way have it
    relays_.serve();
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
  if (r->bufferable == Buffering::within_credit && !credit_left(r->queue) &&
      !may_exceed(r->queue, r->context, layout::bytes(r->region), &r->held))
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
    PoolGuard guard(*this);
    cells_.give(cell);
    return false;
  }
  if (r->ahead != 0) end_ahead(r);
  r->bufferable = Buffering::never;
  count(stats_.buffered);
  r->state.store(RequestState::done, std::memory_order_release);
  return true;
}

// ---- receives

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

// ---- completion

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

void Engine::end(Request* r) {
  if (r->kind == RequestKind::receive && cancel(r)) return;
  if (r->kind == RequestKind::send) {
    r->synchronous = 0;
    r->bufferable = Buffering::soon;
  }
  WaitPolicy policy = options_.wait;
  policy.idle = nullptr;
  wait_for([this, r] { return poll(r, true); }, policy);
}

void Engine::copy(const layout::Region& destination, const layout::Region& source, uint64_t bytes,
                  const Part& part) {
  // A request brings memory for a job that outlives every late helper.
  Request* r = options_.apart ? nullptr : take_request();
  if (r == nullptr) return copy_part(destination, source, bytes, part);
  copy_shared(board_->jobs, destination, source, bytes, options_.transfer.claim_bytes, r->transfer, part);
  give_request(r);
}

// ---- probes and cancel

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
