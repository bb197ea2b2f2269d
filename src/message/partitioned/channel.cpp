#include "message/partitioned/channel.h"

#include <algorithm>
#include <new>

#include "message/shared/queues.h"
#include "os/memory/keys.h"

namespace tasuki::message {
namespace {

enum class PartState : uint32_t {
  ready = 1,  // the sender has filled it in
  claimed,    // one side copies it
  done,
};

uint32_t word_of(uint32_t epoch, PartState state) {
  return 4 * epoch + static_cast<uint32_t>(state);
}

// Whether a word has come to this one, or beyond. Epochs may begin again at 0.
bool has_reached(uint32_t word, uint32_t other) {
  return static_cast<int32_t>(word - other) >= 0;
}

// The region without its first `packed` bytes, if these are whole elements.
bool skip(const layout::Region& r, uint64_t packed, layout::Region* rest) {
  const uint64_t size = layout::size(r.layout);
  if (packed % size != 0) return false;
  const uint64_t n = packed / size;
  *rest = {r.base + static_cast<int64_t>(n) * layout::extent(r.layout), r.count - n, r.layout};
  return true;
}

// From here on idle tasks help; below, one task is through before another has noticed.
constexpr uint64_t kShareFrom = 64 << 10;

void copy_range(Engine& engine, const layout::Region& to, const layout::Region& from, uint64_t at,
                uint64_t n) {
  layout::Region target, source;
  if (n >= kShareFrom && skip(to, at, &target) && skip(from, at, &source))
    return engine.copy(target, source, n);
  const os::WritesAllowed allowed;
  layout::copy(to, from, at, n);
}

// Under the lock of the receiver's endpoint, so that the receiver does not start meanwhile.
void meet(Channel& c, Request* receive) {
  c.receiver = receive;
  c.sink = receive->region;
  const uint64_t space = layout::bytes(receive->region);
  c.room = std::min(c.bytes, space);
  c.started.store(receive->epoch, std::memory_order_release);
  receive->status_source = c.cell->envelope.source_rank;
  receive->status_tag = c.cell->envelope.tag;
  receive->status_bytes = c.room;
  receive->truncated = c.bytes > space;
  receive->envelope.bytes = c.bytes;
  receive->channel.store(&c, std::memory_order_release);
}

// The channel must not be touched afterwards.
void give_back(Channel& c, uint32_t shares) {
  if (c.pending.fetch_sub(shares, std::memory_order_acq_rel) != shares) return;
  c.pending.store(2 * c.parts, std::memory_order_relaxed);
  Request *sender = c.sender, *receiver = c.receiver;
  complete(receiver);
  complete(sender);
}

Channel* make_channel(Cell* cell, Request* r, uint32_t partitions) {
  Channel* c = new (cell->data()) Channel{};
  c->cell = cell;
  c->sender = r;
  c->source = r->region;
  c->bytes = layout::bytes(r->region);
  c->part_bytes = c->bytes / partitions;
  c->parts = partitions;
  c->users.store(2, std::memory_order_relaxed);
  c->pending.store(2 * partitions, std::memory_order_relaxed);
  for (uint32_t i = 0; i < partitions; i++) new (&c->word(i)) std::atomic<uint32_t>(0);
  return c;
}

}  // namespace

bool Channels::open_send(Request* r, uint32_t partitions) {
  Cell* cell = engine_.take_cell(sizeof(Channel) + uint64_t{partitions} * sizeof(std::atomic<uint32_t>));
  if (cell == nullptr) return false;
  r->kind = RequestKind::send;
  r->partitions = partitions;
  Channel* c = make_channel(cell, r, partitions);
  r->channel.store(c, std::memory_order_relaxed);
  cell->charged = 0;
  Envelope& m = cell->envelope;
  m.context = r->context;
  m.tag = r->tag;
  m.source_slot = engine_.self()->slot;
  m.source_rank = r->envelope.source_rank;
  m.bytes = c->bytes;
  m.sender = nullptr;
  m.cell = cell;
  m.staging = nullptr;
  Endpoint* e = engine_.endpoint(r->peer);
  const Locked locked(e->lock);
  if (Request* receive = take_posted(e, m.context, m.source_slot, m.tag))
    meet(*c, receive);
  else
    append_unexpected(e, &m);
  return true;
}

void Channels::open_receive(Request* r, uint32_t partitions) {
  r->kind = RequestKind::receive;
  r->partitions = partitions;
  Endpoint* self = engine_.self();
  const Locked locked(self->lock);
  Envelope* m = find_unexpected(self, r->context, r->peer, r->tag);
  if (m == nullptr) return post(self, r);
  remove_unexpected(self, m);
  meet(*reinterpret_cast<Channel*>(m->cell->data()), r);
}

void Channels::start(Request* r) {
  engine_.count_call();
  r->state.store(RequestState::pending, std::memory_order_relaxed);
  if (r->kind == RequestKind::send) {
    r->epoch++;
    Stats& s = engine_.stats();
    engine_.count(s.sent);
    engine_.count(s.sent_bytes, layout::bytes(r->region));
    engine_.count(s.rendezvous);
    return;
  }
  if (!has_met(r)) {
    const Locked locked(engine_.self()->lock);
    if (!has_met(r)) {
      r->epoch++;  // meet() tells the sender
      return;
    }
  }
  pull(*r->channel.load(std::memory_order_relaxed), ++r->epoch);
}

// The receiver starts an epoch: it copies what is ready; what becomes ready later, the sender does. Each of
// them tells the other first and then looks (seq_cst), so that at least one of them sees the partition.
void Channels::pull(Channel& c, uint32_t epoch) {
  const uint32_t ready = word_of(epoch, PartState::ready);
  c.started.store(epoch, std::memory_order_seq_cst);
  for (uint32_t i = 0; i < c.parts; i++) {
    uint32_t expected = c.word(i).load(std::memory_order_seq_cst);
    if (expected == ready &&
        c.word(i).compare_exchange_strong(expected, word_of(epoch, PartState::claimed),
                                          std::memory_order_acq_rel, std::memory_order_relaxed))
      copy_part(c, i, epoch, 1);
  }
}

bool Channels::ready(Request* r, uint32_t partition) {
  engine_.count_call();
  Channel& c = *r->channel.load(std::memory_order_relaxed);
  std::atomic<uint32_t>& word = c.word(partition);
  const uint32_t epoch = r->epoch;
  uint32_t is_ready = word_of(epoch, PartState::ready);
  const uint32_t is_claimed = word_of(epoch, PartState::claimed);
  if (has_reached(word.load(std::memory_order_relaxed), is_ready)) return false;
  if (c.started.load(std::memory_order_acquire) == epoch) {
    word.store(is_claimed, std::memory_order_relaxed);
    copy_part(c, partition, epoch, 2);
    return true;
  }
  word.store(is_ready, std::memory_order_seq_cst);
  if (c.started.load(std::memory_order_seq_cst) == epoch &&
      word.compare_exchange_strong(is_ready, is_claimed, std::memory_order_acq_rel,
                                   std::memory_order_relaxed))
    copy_part(c, partition, epoch, 2);
  else
    give_back(c, 1);
  return true;
}

void Channels::copy_part(Channel& c, uint32_t part, uint32_t epoch, uint32_t shares) {
  const uint64_t from = part * c.part_bytes;
  if (from < c.room) copy_range(engine_, c.sink, c.source, from, std::min(c.part_bytes, c.room - from));
  c.word(part).store(word_of(epoch, PartState::done), std::memory_order_release);
  give_back(c, shares);
}

bool Channels::arrived(const Request* r, uint32_t partition) {
  if (r->state.load(std::memory_order_acquire) == RequestState::done) return true;
  Channel* c = r->channel.load(std::memory_order_acquire);
  if (c == nullptr) return false;
  const uint64_t mine = layout::bytes(r->region) / r->partitions;
  const uint64_t from = partition * mine, end = std::min(from + mine, c->room);
  if (from >= end) return false;  // nothing to look at: with all the others
  const uint32_t last = static_cast<uint32_t>((end - 1) / c->part_bytes);
  for (uint32_t i = static_cast<uint32_t>(from / c->part_bytes); i <= last; i++)
    if (!has_reached(c->word(i).load(std::memory_order_acquire), word_of(r->epoch, PartState::done)))
      return false;
  return true;
}

void Channels::close(Request* r) {
  Channel* c = r->channel.load(std::memory_order_acquire);
  if (c != nullptr && c->users.fetch_sub(1, std::memory_order_acq_rel) == 1) return_cell(c->cell);
}

}  // namespace tasuki::message
