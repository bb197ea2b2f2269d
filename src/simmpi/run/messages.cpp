// Point-to-point messages: matching, the eager and the rendezvous protocol.
//
// A message of at most machine.eager_bytes (or any, if the machine file gives no limit) is sent at once. A
// longer or synchronous one first sends a packet without content; when the receive is there the receiver
// answers with another one, and the data follow. The NIC does this by itself: a rank need not be in an MPI
// call for it.
#include <algorithm>
#include <cstring>

#include "simmpi/objects/comm.h"
#include "simmpi/objects/datatype.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

bool tag_fits(int wanted, int tag) {
  return wanted == MPI_ANY_TAG || wanted == tag;
}

}  // namespace

int64_t Rank::log_message(const Request& r) {
  log.message_count++;
  log.message_bytes += r.bytes;
  if (!simulation.options.log || log.messages.size() >= simulation.most_records) return -1;
  log.messages.push_back(
      {number, r.peer_world, r.bytes, r.internal ? -1 - r.tag : r.tag, r.requested, now(), 0});
  return static_cast<int64_t>(log.messages.size()) - 1;
}

// Hands a packet to the network. `done` (or null) is complete when all its bytes have been read.
void Rank::post(std::unique_ptr<Packet> packet, uint64_t bytes, Request* done, const Request& hints) {
  const uint64_t tag = uint64_t{number} << 32 | ++posted_;
  const uint32_t nics = std::max(1u, simulation.machine.nics);
  netsim::Message m;
  m.to = simulation.node_of(packet->to);
  m.bytes = bytes;
  m.nic = (hints.nic >= 0 ? static_cast<uint32_t>(hints.nic) : posted_) % nics;
  m.to_nic = m.nic;
  m.gap = hints.gap >= 0           ? static_cast<uint32_t>(hints.gap)
          : simulation.options.gap ? simulation.options.gap(node.id, m.to)
                                   : 0;
  m.tag = tag;
  if (done != nullptr) sending_.emplace(tag, done);
  {
    const std::lock_guard lock(node.mutex);
    node.outgoing.emplace(tag, packet.release());
  }
  node.network->send(m);
}

void Rank::start_send(Request* r) {
  if (r->peer == MPI_PROC_NULL) {
    r->outcome = {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0, false};
    complete(r);
    return;
  }
  auto p = std::make_unique<Packet>();
  p->from = number;
  p->to = r->peer_world;
  p->source = r->self;
  p->tag = r->tag;
  p->context = r->context;
  p->bytes = r->bytes;
  p->sequence = sequences_[r->peer_world]++;
  const uint64_t most = simulation.machine.eager_bytes;
  if (r->mode != SendMode::synchronous && (most == 0 || r->bytes <= most)) {
    if (r->bytes != 0 && (simulation.options.payload || r->control)) {
      p->payload.reset(new char[r->bytes]);
      layout::pack(p->payload.get(), r->region, r->from, r->bytes);
    }
    p->record = log_message(*r);
    const uint64_t bytes = r->bytes;
    post(std::move(p), bytes, r, *r);
  } else {
    p->kind = Packet::Kind::request;
    p->sender = r;
    post(std::move(p), 0, nullptr, *r);
  }
}

// The receiver has agreed.
void Rank::send_data(Request* r, Request* receiver) {
  auto p = std::make_unique<Packet>();
  p->kind = Packet::Kind::data;
  p->from = number;
  p->to = r->peer_world;
  p->source = r->self;
  p->tag = r->tag;
  p->bytes = r->bytes;
  p->receiver = receiver;
  if (r->bytes != 0 && (simulation.options.payload || r->control)) {
    p->payload.reset(new char[r->bytes]);
    layout::pack(p->payload.get(), r->region, r->from, r->bytes);
  }
  p->record = log_message(*r);
  const uint64_t bytes = r->bytes;
  post(std::move(p), bytes, r, *r);
}

void Rank::sent(uint64_t tag) {
  const auto i = sending_.find(tag);
  if (i == sending_.end()) return;
  Request* r = i->second;
  sending_.erase(i);
  complete(r);
}

void Rank::start_receive(Request* r) {
  if (r->peer == MPI_PROC_NULL) {
    r->outcome = {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0, false};
    complete(r);
    return;
  }
  if (Packet* p = find_arrived(r->context, r->peer, r->tag)) {
    take(p);
    match(r, p);
    return;
  }
  r->stamp = ++stamp_;
  r->queued = true;
  MatchQueue& q = queues_[r->context];
  (r->peer == MPI_ANY_SOURCE ? q.posted_any : q.posted[r->peer]).push_back(r);
}

bool Rank::cancel_receive(Request* r) {
  if (!r->queued) return false;
  MatchQueue& q = queues_[r->context];
  (r->peer == MPI_ANY_SOURCE ? q.posted_any : q.posted[r->peer]).remove(r);
  r->queued = false;
  r->outcome.cancelled = true;
  complete(r);
  return true;
}

Packet* Rank::find_arrived(uint64_t context, int source, int tag) {
  const auto i = queues_.find(context);
  if (i == queues_.end()) return nullptr;
  const std::map<uint64_t, Packet*>* packets = &i->second.arrived;
  if (source != MPI_ANY_SOURCE) {
    const auto j = i->second.arrived_from.find(source);
    if (j == i->second.arrived_from.end()) return nullptr;
    packets = &j->second;
  }
  for (const auto& [stamp, p] : *packets)
    if (tag_fits(tag, p->tag)) return p;
  return nullptr;
}

void Rank::take(Packet* packet) {
  MatchQueue& q = queues_[packet->context];
  auto& from = q.arrived_from[packet->source];
  for (auto i = from.begin(); i != from.end(); ++i) {
    if (i->second != packet) continue;
    q.arrived.erase(i->first);
    from.erase(i);
    if (from.empty()) q.arrived_from.erase(packet->source);
    return;
  }
}

void Rank::receive_taken(Request* request, Packet* packet) {
  match(request, packet);
}

// Joins a receive and a message; owns the packet from here on.
void Rank::match(Request* r, Packet* packet) {
  const std::unique_ptr<Packet> p(packet);
  r->queued = false;
  if (p->kind == Packet::Kind::eager) {
    deliver(r, *p);
    return;
  }
  auto grant = std::make_unique<Packet>();
  grant->kind = Packet::Kind::grant;
  grant->from = number;
  grant->to = p->from;
  grant->sender = p->sender;
  grant->receiver = r;
  post(std::move(grant), 0, nullptr, Request());
}

void Rank::deliver(Request* r, const Packet& p) {
  const uint64_t n = std::min(p.bytes, r->bytes);
  if (p.payload != nullptr) layout::unpack(r->region, r->from, n, p.payload.get());
  r->outcome = {p.source, p.tag, p.bytes > r->bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS, n, false};
  complete(r);
}

void Rank::delivered(std::unique_ptr<Packet> p) {
  if (p->record >= 0) deliveries.push_back({p->from, p->record, now()});
  switch (p->kind) {
    case Packet::Kind::grant:
      send_data(p->sender, p->receiver);
      return;
    case Packet::Kind::data:
      deliver(p->receiver, *p);
      return;
    case Packet::Kind::eager:
    case Packet::Kind::request:
      break;
  }
  Channel& channel = from_[p->from];
  if (p->sequence != channel.next) {
    const uint32_t sequence = p->sequence;
    channel.early.emplace(sequence, p.release());
    return;
  }
  channel.next++;
  arrive(p.release());
  while (!channel.early.empty() && channel.early.begin()->first == channel.next) {
    Packet* next = channel.early.begin()->second;
    channel.early.erase(channel.early.begin());
    channel.next++;
    arrive(next);
  }
}

// A message in its order: the earliest receive that fits gets it.
void Rank::arrive(Packet* p) {
  MatchQueue& q = queues_[p->context];
  const auto fit = [&](std::list<Request*>& list) {
    return std::find_if(list.begin(), list.end(), [&](Request* r) { return tag_fits(r->tag, p->tag); });
  };
  std::list<Request*>* where = nullptr;
  std::list<Request*>::iterator best;
  const auto from = q.posted.find(p->source);
  if (from != q.posted.end()) {
    best = fit(from->second);
    if (best != from->second.end()) where = &from->second;
  }
  if (const auto any = fit(q.posted_any);
      any != q.posted_any.end() && (where == nullptr || (*any)->stamp < (*best)->stamp)) {
    where = &q.posted_any;
    best = any;
  }
  if (where != nullptr) {
    Request* r = *best;
    where->erase(best);
    if (from != q.posted.end() && from->second.empty()) q.posted.erase(from);
    match(r, p);
    return;
  }
  const uint64_t stamp = ++stamp_;
  q.arrived.emplace(stamp, p);
  q.arrived_from[p->source].emplace(stamp, p);
  for (Task* task : probing) make_ready(task);
}

void Rank::complete(Request* r) {
  r->complete = true;
  if (r->on_complete) {
    const auto then = std::move(r->on_complete);
    r->on_complete = nullptr;
    then();
  }
  if (r->waiter != nullptr) {
    Waiter* w = r->waiter;
    r->waiter = nullptr;
    if (--w->needed == 0) make_ready(w->task);
    return;
  }
  if (r->freed && !r->persistent) free_request(r);
}

}  // namespace tasuki::simmpi
