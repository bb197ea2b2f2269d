// The packet model, nodes: the driver's calls, NICs, memory.
//
// A NIC sends its messages one after the other, cut into packets. It reads a packet from memory (DMA) into a
// buffer for one packet while the packet before waits at the injection port; it offers the next one when the
// link's time for the packet before, and the message's gap, are over. Reading and writing share the memory's
// bandwidth with those of the node's other NICs, each direction of its own.
#include <algorithm>

#include "netsim/engine/event_data.h"
#include "netsim/engine/partition.h"

namespace tasuki::netsim {

class Partition::NodeView final : public Node {
 public:
  NodeView(Partition& partition, uint32_t node) : partition_(partition) {
    id_ = node;
    now_ = partition.now_ * partition.clock_.tick;
  }
  void send(const Message& message) override { partition_.send(id_, message); }
  void set_timer(Time at, uint64_t tag) override {
    const Tick tick = std::max(partition_.clock_.ticks(at), partition_.now_);
    partition_.wheel_.add(tick, id_, make_data(kTimer, 0, 0, partition_.keep_tag(tag)));
  }
  void fail(const std::string& why) override {
    Failure& f = partition_.failure;
    if (f.at < partition_.now_ || (f.at == partition_.now_ && f.node <= id_)) return;
    f = {partition_.now_, id_, why};
  }

 private:
  Partition& partition_;
};

void Partition::start() {
  const uint32_t first = first_ * router_nodes_;
  for (uint32_t i = 0; i < nodes_.size(); i++) {
    NodeView view(*this, first + i);
    driver_.start(view);
  }
  serve_nodes();
  for (const uint32_t router : touched_) serve_router(router);
  touched_.clear();
}

void Partition::serve_nodes() {
  if (calls_.size() > 1) {
    const auto order = [](const Call& c) { return c.kind == kDelivered ? 0 : c.kind == kSent ? 1 : 2; };
    std::sort(calls_.begin(), calls_.end(), [order](const Call& a, const Call& b) {
      if (a.node != b.node) return a.node < b.node;
      if (a.kind != b.kind) return order(a) < order(b);
      return a.tag != b.tag ? a.tag < b.tag : a.from < b.from;
    });
  }
  for (const Call& c : calls_) call(c);
  calls_.clear();
  std::sort(offers_.begin(), offers_.end());
  for (const uint64_t o : offers_) offer(static_cast<uint32_t>(o / nics_), static_cast<uint32_t>(o % nics_));
  offers_.clear();
}

void Partition::call(const Call& c) {
  NodeView view(*this, c.node);
  switch (c.kind) {
    case kDelivered:
      driver_.delivered(view, c.from, c.bytes, c.tag);
      break;
    case kSent:
      driver_.sent(view, c.tag);
      break;
    default:
      driver_.timer(view, c.tag);
      break;
  }
}

void Partition::send(uint32_t node, const Message& message) {
  messages_++;
  payload_ += message.bytes;
  if (message.to == node) return copy_locally(node, message);
  NodeState& state = nodes_[node - first_ * router_nodes_];
  const double wire = static_cast<double>(machine_.wire_bytes_of(message.bytes));
  topology_.add_ideal_load(node, message.to, wire, &ideal_load_);
  state.sent_bytes += wire;
  Transit* t = make_transit();
  *t = {node,
        message.to,
        message.bytes,
        message.tag,
        state.sequence++,
        message.bytes,
        0,
        machine_.packets_of(message.bytes),
        now_,
        0,
        message.gap,
        static_cast<uint16_t>(message.nic),
        static_cast<uint16_t>(message.to_nic)};
  Nic& nic = nics_state_[size_t{node - first_ * router_nodes_} * nics_ + message.nic];
  nic.queue.push_back(t);
  if (!nic.offering) plan_offer(node, message.nic);
}

void Partition::copy_locally(uint32_t node, const Message& message) {
  NodeState& state = nodes_[node - first_ * router_nodes_];
  const Tick start = std::max({now_, state.memory_read_free, state.memory_write_free});
  const Tick end = start + clock_.in_memory(message.bytes);
  state.memory_read_free = state.memory_write_free = end;
  Transit* t = make_transit();
  *t = {node, node, message.bytes, message.tag, state.sequence++, 0, 0, 0, now_, end, 0, 0, 0};
  hash_ += mix(mix(mix(node) + t->sequence) + end);
  wheel_.add(end, node, make_data(kSent, 0, 0, keep_tag(message.tag)));
  wheel_.add(end, node, make_pointer_data(kDelivered, t));
}

// When the NIC's next packet, the first of its queue, is ready.
void Partition::plan_offer(uint32_t node, uint32_t number) {
  const uint32_t local = node - first_ * router_nodes_;
  Nic& nic = nics_state_[size_t{local} * nics_ + number];
  NodeState& state = nodes_[local];
  const Transit& t = *nic.queue.front();
  const uint64_t wire = machine_.wire_bytes_of(std::min<uint64_t>(t.to_send, machine_.payload_bytes()));
  const Tick start = std::max({t.begun, nic.dma_free, state.memory_read_free});
  state.memory_read_free = start + clock_.in_memory(wire);
  const Tick read = start + std::max(clock_.by_dma(wire), clock_.in_memory(wire));
  const Tick at = std::max({read + clock_.enter, nic.free_at, now_});
  nic.dma_free = at - clock_.enter;
  nic.offering = true;
  wheel_.add(at, node, make_data(kNic, 0, 0, number));
}

void Partition::offer(uint32_t node, uint32_t number) {
  const uint32_t router = topology_.router_of(node), local = node - router * router_nodes_;
  Transit& t = *nics_state_[size_t{node - first_ * router_nodes_} * nics_ + number].queue.front();
  const uint64_t payload = std::min<uint64_t>(t.to_send, machine_.payload_bytes());
  const uint32_t index = make_packet();
  Packet& p = packets_[index];
  p.bytes = static_cast<uint16_t>(machine_.wire_bytes_of(payload));
  p.route =
      topology_.begin(node, t.to, mix(mix(mix(options_.seed) + node) + (t.sequence << 24) + t.packets_sent));
  p.message = &t;
  p.ready = now_ - clock_.enter;
  p.arrived = now_;
  p.tail = 0;
  p.hops = 0;
  p.reserved = false;
  t.to_send -= payload;
  t.packets_sent++;
  const bool shared = machine_.injection == InjectionPorts::shared;
  enqueue(router, network_inputs() + (shared ? local : local * nics_ + number), index);
}

// The packet that the NIC offered has been granted a link for `busy`.
void Partition::injected(const Packet& packet, Tick busy) {
  Transit& t = *packet.message;
  Nic& nic = nics_state_[size_t{t.from - first_ * router_nodes_} * nics_ + t.nic];
  nic.offering = false;
  nic.free_at = now_ + busy;
  if (t.to_send != 0) {
    nic.free_at += clock_.gap(t.gap);
  } else {
    wheel_.add(now_ + busy, t.from, make_data(kSent, 0, 0, keep_tag(t.tag)));
    nic.queue.pop_front();
  }
  if (!nic.queue.empty()) plan_offer(t.from, t.nic);
}

void Partition::deliver(uint32_t packet, Tick busy) {
  const Packet& p = packets_[packet];
  Transit& t = *p.message;
  NodeState& state = nodes_[t.to - first_ * router_nodes_];
  const Tick begin = now_ + clock_.leave, write = std::max(begin, state.memory_write_free);
  state.memory_write_free = write + clock_.in_memory(p.bytes);
  const Tick end = std::max(begin + busy, state.memory_write_free);
  state.received_bytes += p.bytes;
  if (latency_.size() <= p.hops) latency_.resize(p.hops + 1u);
  latency_[p.hops].add((end - p.ready) * clock_.tick);
  packets_seen_++;
  in_network_--;
  t.finished = std::max(t.finished, end);
  if (--t.packets_left == 0) {
    hash_ += mix(mix(mix(mix(t.from) + t.to) + t.sequence) + t.finished * clock_.tick);
    wheel_.add(t.finished, t.to, make_pointer_data(kDelivered, &t));
  }
  free_packet(packet);
}

Transit* Partition::make_transit() {
  if (free_transits_.empty()) return &transits_.emplace_back();
  Transit* t = free_transits_.back();
  free_transits_.pop_back();
  return t;
}

uint32_t Partition::keep_tag(uint64_t tag) {
  if (free_tags_.empty()) {
    tags_.push_back(tag);
    return static_cast<uint32_t>(tags_.size() - 1);
  }
  const uint32_t index = free_tags_.back();
  free_tags_.pop_back();
  tags_[index] = tag;
  return index;
}

uint64_t Partition::take_tag(uint32_t index) {
  free_tags_.push_back(index);
  return tags_[index];
}

double Partition::busiest_node() const {
  double most = 0;
  for (const NodeState& n : nodes_) most = std::max({most, n.sent_bytes, n.received_bytes});
  return most;
}

}  // namespace tasuki::netsim
