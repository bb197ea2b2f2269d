#include "message/transfers/relay.h"

#include <algorithm>
#include <new>

#include "base/cpu.h"
#include "message/shared/lines.h"
#include "message/shared/pool.h"
#include "message/shared/wait.h"
#include "message/transfers/transfer.h"
#include "os/clock.h"
#include "os/process/futex.h"
#include "os/process/signals.h"

namespace tasuki::message {
namespace {

// Single producer, single consumer.
struct Relay {
  alignas(kLine) std::atomic<uint32_t> packed;    // units put in
  alignas(kLine) std::atomic<uint32_t> unpacked;  // units taken out
  alignas(kLine) char data[1];  // units, of the message's size, as many as there are or kRelayUnits
};

static_assert(sizeof(Cell) % alignof(Relay) == 0);  // behind which it lies

Relay& relay_of(const Transfer& t) {
  return *reinterpret_cast<Relay*>(t.cell->data());
}

// Short messages are cut finer, so that unpacking begins early.
uint64_t unit_bytes_for(uint64_t bytes) {
  constexpr uint64_t kUnits = 8, kSmallest = 2 << 10;
  return std::clamp(bytes / kUnits / kLine * kLine, kSmallest, kRelayUnitBytes);
}

uint32_t units_of(uint64_t bytes) {
  return static_cast<uint32_t>((bytes - 1) / unit_bytes_for(bytes) + 1);
}

char* slot_of(Relay& relay, const Transfer& t, uint32_t unit) {
  return relay.data + unit % kRelayUnits * t.unit_bytes;
}

uint64_t bytes_of(const Transfer& t, uint32_t unit) {
  return std::min(t.unit_bytes, t.bytes - unit * t.unit_bytes);
}

void push(Request* r) {
  std::atomic<Request*>& stack = r->owner->matched;
  Request* top = stack.load(std::memory_order_relaxed);
  do r->transfer.next_relayed = top;
  while (!stack.compare_exchange_weak(top, r, std::memory_order_release, std::memory_order_relaxed));
}

// The other side does not get on: if its program waits nowhere here, its thread is told.
void ring(Endpoint* other) {
  if (other->waiting.load(std::memory_order_relaxed) != 0) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (other->bell_sleepers.load(std::memory_order_relaxed) == 0) return;
  other->bell.fetch_add(1, std::memory_order_release);
  os::futex_wake(&other->bell, 1, os::FutexScope::machine);
}

// ns in vain after which the other side's thread is told: longer than its program takes from one call to the
// next.
constexpr int64_t kStarved = 20'000;

enum class Progress { none, some, all };

// After the last unit the buffer is the receiver's.
Progress pack(Request* send) {
  Transfer& t = send->transfer;
  Relay& relay = relay_of(t);
  const uint32_t before = t.unpacked;
  uint32_t taken = relay.unpacked.load(std::memory_order_acquire);
  uint32_t packed = before;
  const uint32_t end = std::min(t.units, before + kRelayUnits);  // then others get their turn
  while (packed != end) {
    if (packed - taken == kRelayUnits) taken = relay.unpacked.load(std::memory_order_acquire);
    if (packed - taken == kRelayUnits) break;
    char* const slot = slot_of(relay, t, packed);
    const uint64_t n = bytes_of(t, packed);
    fetch_lines<true>(slot, n);
    layout::pack(slot, send->region, packed * t.unit_bytes, n);
    relay.packed.store(++packed, std::memory_order_release);
  }
  t.unpacked = packed;
  return packed == t.units ? Progress::all : packed != before ? Progress::some : Progress::none;
}

Progress unpack(Request* receive) {
  Transfer& t = receive->transfer;
  Relay& relay = relay_of(t);
  const uint32_t before = t.unpacked;
  uint32_t unpacked = before;
  for (uint32_t packed = relay.packed.load(std::memory_order_acquire);
       unpacked != packed && unpacked - before < kRelayUnits;) {
    const uint32_t next = unpacked + 1;
    if (next != packed) fetch_lines<false>(slot_of(relay, t, next), t.unit_bytes);
    layout::unpack(receive->region, unpacked * t.unit_bytes, bytes_of(t, unpacked),
                   slot_of(relay, t, unpacked));
    relay.unpacked.store(unpacked = next, std::memory_order_release);
    if (unpacked == packed) packed = relay.packed.load(std::memory_order_acquire);
  }
  t.unpacked = unpacked;
  if (unpacked == t.units) {
    return_cell(t.cell);
    return Progress::all;
  }
  return unpacked != before ? Progress::some : Progress::none;
}

}  // namespace

uint64_t relay_room(uint64_t bytes) {
  return sizeof(Relay) + std::min(units_of(bytes), kRelayUnits) * unit_bytes_for(bytes);
}

void Relays::meet(Request* first, Request* second, uint64_t bytes, Cell* cell) {
  const uint64_t unit_bytes = unit_bytes_for(bytes);
  for (Request* r : {first, second}) {
    Transfer& t = r->transfer;
    t.mode = TransferMode::relayed;
    t.cell = cell;
    t.bytes = bytes;
    t.unit_bytes = unit_bytes;
    t.units = units_of(bytes);
    t.unpacked = 0;
    t.starved_since = 0;
    t.other = r == first ? second->owner : first->owner;
  }
  Relay& relay = relay_of(first->transfer);
  relay.packed.store(0, std::memory_order_relaxed);
  relay.unpacked.store(0, std::memory_order_relaxed);
  Endpoint* other = first->owner;
  second->state.store(RequestState::active, std::memory_order_release);
  first->state.store(RequestState::active, std::memory_order_release);
  push(first);  // from here on it is its owner's
  push(second);
  wake(other);
  serve_all();
}

// One thread at a time: requests end here only, so nobody else looks at one that has ended.
bool Relays::serve_all() {
  if (busy_.exchange(1, std::memory_order_acquire) != 0) return false;
  for (Request* r = self_->matched.exchange(nullptr, std::memory_order_acquire); r != nullptr;) {
    Request* const next = r->transfer.next_relayed;
    r->transfer.next_relayed = list_;
    list_ = r;
    open_.fetch_add(1, std::memory_order_relaxed);
    r = next;
  }
  bool any = false;
  for (Request** at = &list_; *at != nullptr;) {
    Request* const r = *at;
    Endpoint* const other = r->transfer.other;
    const Progress progress = r->kind == RequestKind::send ? pack(r) : unpack(r);
    int64_t& since = r->transfer.starved_since;
    if (progress != Progress::none) {
      any = true;
      since = 0;
      wake(other);
    } else if (const int64_t now = os::monotonic_ns(); since == 0) {
      since = now;
    } else if (now - since > kStarved) {
      since = now;
      ring(other);
    }
    if (progress == Progress::all) {
      *at = r->transfer.next_relayed;
      open_.fetch_sub(1, std::memory_order_relaxed);
      complete(r);
    } else {
      at = &r->transfer.next_relayed;
    }
  }
  busy_.store(0, std::memory_order_release);
  return any;
}

bool Relays::start_thread() {
  const os::SignalsBlocked blocked;
  has_thread_ = pthread_create(&thread_, nullptr, &Relays::body, this) == 0;
  return has_thread_;
}

void Relays::stop_thread() {
  if (!has_thread_) return;
  ending_.store(true, std::memory_order_seq_cst);
  self_->bell.fetch_add(1, std::memory_order_seq_cst);
  os::futex_wake(&self_->bell, 1, os::FutexScope::machine);
  pthread_join(thread_, nullptr);
  has_thread_ = false;
}

void* Relays::body(void* self) {
  static_cast<Relays*>(self)->run();
  return nullptr;
}

void Relays::run() {
  constexpr uint32_t kPolls = 500;          // before it sleeps
  constexpr int64_t kUnderWay = 1'000'000;  // ns: the program may leave its wait
  uint32_t polls = 0;
  while (!ending_.load(std::memory_order_relaxed)) {
    // A program that waits serves, too, and better.
    const bool waits = self_->waiting.load(std::memory_order_relaxed) != 0;
    if (!waits && serve()) polls = 0;
    if (!waits && !idle() && ++polls < kPolls) {
      cpu_relax();
      continue;
    }
    polls = 0;
    const uint32_t seen = self_->bell.load(std::memory_order_seq_cst);
    self_->bell_sleepers.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const bool more = !waits && self_->matched.load(std::memory_order_relaxed) != nullptr;
    if (!more && !ending_.load(std::memory_order_relaxed))
      os::futex_wait(&self_->bell, seen, idle() ? -1 : kUnderWay, os::FutexScope::machine);
    self_->bell_sleepers.store(0, std::memory_order_relaxed);
  }
}

}  // namespace tasuki::message
