#include "netsim/engine/partition.h"

#include <algorithm>
#include <bit>

#include "netsim/engine/event_data.h"

namespace tasuki::netsim {
namespace {

// All bits of a router's inputs or outputs: one word on a torus.
inline void set_bit(uint64_t* words, uint32_t bit) {
  words[bit / 64] |= uint64_t{1} << bit % 64;
}
inline void clear_bit(uint64_t* words, uint32_t bit) {
  words[bit / 64] &= ~(uint64_t{1} << bit % 64);
}
// The first bit in [from, end), or `end`.
inline uint32_t next_bit(const uint64_t* words, uint32_t from, uint32_t end) {
  if (from >= end) return end;
  uint32_t word = from / 64;
  uint64_t bits = words[word] & (~uint64_t{0} << from % 64);
  while (bits == 0) {
    if (++word * 64 >= end) return end;
    bits = words[word];
  }
  return std::min(end, word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
}
inline bool any(const uint64_t* words, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (words[i] != 0) return true;
  return false;
}

Tick span_of(const Clock& clock, const Machine& m) {
  return 2 * (clock.hop + clock.credit + clock.on_link(m.packet_bytes) + clock.by_dma(m.packet_bytes)) + 64;
}

}  // namespace

Partition::Partition(const Machine& machine, const Topology& topology, const Clock& clock, Driver& driver,
                     const Options& options, uint32_t first_router, uint32_t end_router)
    : machine_(machine),
      topology_(topology),
      clock_(clock),
      driver_(driver),
      options_(options),
      first_(first_router),
      end_(end_router),
      ports_(topology.ports()),
      channels_(machine.channels),
      nics_(machine.nics),
      router_nodes_(topology.router_nodes()),
      inputs_of_(ports_ * channels_ +
                 router_nodes_ * (machine.injection == InjectionPorts::per_nic ? nics_ : 1)),
      outputs_of_(ports_ + router_nodes_ * nics_),
      input_words_((inputs_of_ + 63) / 64),
      output_words_((outputs_of_ + 63) / 64),
      wheel_(span_of(clock, machine)),
      busy_(topology.classes().size(), options.bins),
      buffered_(topology.classes().size() * machine.channels, options.bins),
      link_busy_(options.link_bins ? size_t{end_router - first_router} * topology.ports() : 0, options.bins),
      ideal_load_(topology.classes().size()),
      many_choices_(machine.routing == RoutingAlgorithm::adaptive) {
  const size_t routers = end_ - first_;
  outputs_.resize(routers * outputs_of_);
  credits_.assign(routers * ports_ * channels_, static_cast<uint32_t>(machine.buffer_bytes));
  asking_.resize(routers * outputs_of_ * input_words_);
  inputs_.resize(routers * inputs_of_);
  port_free_.resize(machine.buffer_read == BufferRead::port ? routers * ports_ : 0);
  marked_.resize(routers * output_words_);
  fresh_.resize(many_choices_ ? routers * input_words_ : 0);
  is_touched_.resize(routers);
  link_totals_.resize(routers * ports_);
  // Nodes hang on the first routers (a fat tree's leaves).
  const uint64_t begin = uint64_t{first_} * router_nodes_, end = uint64_t{end_} * router_nodes_;
  const size_t nodes = begin >= topology.nodes() ? 0 : std::min<uint64_t>(end, topology.nodes()) - begin;
  nodes_.resize(nodes);
  nics_state_.resize(nodes * nics_);
}

uint64_t Partition::memory_of(const Machine& m, uint64_t routers, uint64_t ports, uint64_t router_nodes,
                              uint64_t nodes) {
  const uint64_t inputs =
      ports * m.channels + router_nodes * (m.injection == InjectionPorts::per_nic ? m.nics : 1);
  const uint64_t outputs = ports + router_nodes * m.nics;
  const uint64_t words = (inputs + 63) / 64, output_words = (outputs + 63) / 64;
  constexpr uint64_t kDeque = 576;  // what a std::deque has from the start
  return routers * (outputs * (sizeof(Output) + words * 8) + ports * m.channels * sizeof(uint32_t) +
                    inputs * sizeof(Input) + (output_words + words) * 8 + ports * sizeof(Tick) + 1) +
         nodes * (sizeof(NodeState) + m.nics * (sizeof(Nic) + kDeque));
}

void Partition::run_until(Tick end) {
  for (Tick t = wheel_.next(); t < end; t = wheel_.next()) {
    now_ = t;
    wheel_.take(t, [this](const Event& e) { batch_.push_back(e); });
    // The routers of a large machine do not fit into the cache: what an event needs is fetched while others
    // are handled.
    constexpr size_t kAhead = 6;
    for (size_t i = 0; i < std::min(kAhead, batch_.size()); i++) prefetch(batch_[i]);
    for (size_t i = 0; i < batch_.size(); i++) {
      if (i + kAhead < batch_.size()) prefetch(batch_[i + kAhead]);
      note(batch_[i]);
    }
    batch_.clear();
    if (!calls_.empty() || !offers_.empty()) serve_nodes();
    for (size_t i = 0; i < touched_.size(); i++) {
      serve_router(touched_[i]);
    }
    touched_.clear();
  }
}

// --- Part 1 ---

void Partition::prefetch(const Event& event) const {
  const uint32_t router = event.target;
  switch (kind_of(event.data)) {
    case kArrival:
      __builtin_prefetch(&packets_[low_of(event.data)]);
      __builtin_prefetch(&inputs_[input_at(router, middle_of(event.data))]);
      __builtin_prefetch(&marked_[size_t{router - first_} * output_words_]);
      break;
    case kCredit:
      __builtin_prefetch(&credits_[(size_t{router - first_} * ports_ + middle_of(event.data)) * channels_]);
      __builtin_prefetch(&asking_[output_at(router, middle_of(event.data)) * input_words_]);
      __builtin_prefetch(&outputs_[output_at(router, middle_of(event.data))]);
      break;
    case kLinkFree: {
      const size_t output = output_at(router, low_of(event.data));
      __builtin_prefetch(&outputs_[output]);
      __builtin_prefetch(&asking_[output * input_words_]);
      __builtin_prefetch(&inputs_[input_at(router, 0)]);
      break;
    }
    default:
      break;
  }
}

void Partition::note(const Event& event) {
  events_++;
  const uint64_t data = event.data;
  switch (kind_of(data)) {
    case kArrival:
      enqueue(event.target, middle_of(data), low_of(data));
      break;
    case kCredit: {
      const uint32_t port = middle_of(data);
      credits_[(size_t{event.target - first_} * ports_ + port) * channels_ + byte_of(data)] += low_of(data);
      if (any(&asking_[output_at(event.target, port) * input_words_], input_words_)) mark(event.target, port);
      break;
    }
    case kLinkFree:
      outputs_[output_at(event.target, low_of(data))].woken = false;
      mark(event.target, low_of(data));
      break;
    case kExpose:
      exposed(event.target, low_of(data));
      break;
    case kNic:
      offers_.push_back(uint64_t{event.target} * nics_ + low_of(data));
      break;
    case kSent:
    case kTimer:
      calls_.push_back({event.target, static_cast<uint8_t>(kind_of(data)), 0, take_tag(low_of(data)), 0});
      break;
    case kDelivered: {
      Transit* t = pointer_of(data);
      calls_.push_back({event.target, kDelivered, t->from, t->tag, t->bytes});
      free_transits_.push_back(t);
      break;
    }
  }
}

void Partition::enqueue(uint32_t router, uint32_t input, uint32_t packet) {
  Input& in = inputs_[input_at(router, input)];
  packets_[packet].next = kNone;
  if (in.head == kNone) {
    in.head = in.tail = packet;
    if (!in.drains) ask(router, input);
  } else {
    packets_[in.tail].next = packet;
    in.tail = packet;
  }
}

void Partition::ask(uint32_t router, uint32_t input) {
  if (!many_choices_) return ask_now(router, input);
  set_bit(&fresh_[size_t{router - first_} * input_words_], input);
  touch(router);
}

void Partition::ask_now(uint32_t router, uint32_t input) {
  Packet& p = packets_[inputs_[input_at(router, input)].head];
  Choice choices[kMostChoices];
  const uint32_t n = topology_.choices(router, p.message->to, &p.route, choices);
  if (n == 0) {
    const uint32_t local = p.message->to - router * router_nodes_;
    p.output = static_cast<uint16_t>(ports_ + local * nics_ + p.message->to_nic);
    p.channel = 0;
  } else {
    // An optional way is taken only if its next buffer has room now, and the room is then the packet's: it
    // waits for the link alone, and links fall idle again.
    uint32_t best = n - 1;
    uint32_t most = p.bytes - 1u;
    for (uint32_t i = 0; i + 1 < n; i++) {
      const Output& o = outputs_[output_at(router, choices[i].port)];
      const uint32_t room =
          credits_[(size_t{router - first_} * ports_ + choices[i].port) * channels_ + choices[i].channel];
      if (o.free_at > now_ || room <= most) continue;
      most = room;
      best = i;
    }
    p.output = choices[best].port;
    p.channel = choices[best].channel;
    if (best + 1 < n) {
      credits_[(size_t{router - first_} * ports_ + p.output) * channels_ + p.channel] -= p.bytes;
      p.reserved = true;
    }
  }
  Input& in = inputs_[input_at(router, input)];
  in.needs = p.reserved ? 0 : p.bytes;
  in.channel = p.channel;
  set_bit(&asking_[output_at(router, p.output) * input_words_], input);
  mark(router, p.output);
}

void Partition::touch(uint32_t router) {
  if (is_touched_[router - first_] != 0) return;
  is_touched_[router - first_] = 1;
  touched_.push_back(router);
}

void Partition::mark(uint32_t router, uint32_t output) {
  set_bit(&marked_[size_t{router - first_} * output_words_], output);
  touch(router);
}

// A buffer has been drained: its next packet may ask, and so may those of the other channels of a port that
// reads one packet at a time.
void Partition::exposed(uint32_t router, uint32_t input) {
  Input& in = inputs_[input_at(router, input)];
  in.drains = false;
  if (in.head != kNone) ask(router, input);
  if (machine_.buffer_read != BufferRead::port) return;
  for (uint32_t c = 0; c < channels_; c++) {
    const uint32_t other = input / channels_ * channels_ + c;
    const Input& o = inputs_[input_at(router, other)];
    if (other != input && o.head != kNone && !o.drains) mark(router, packets_[o.head].output);
  }
}

// --- Part 3 ---

void Partition::serve_router(uint32_t router) {
  uint64_t* marks = &marked_[size_t{router - first_} * output_words_];
  for (;;) {
    if (many_choices_) {
      uint64_t* fresh = &fresh_[size_t{router - first_} * input_words_];
      for (uint32_t i = next_bit(fresh, 0, inputs_of_); i < inputs_of_;
           i = next_bit(fresh, i + 1, inputs_of_)) {
        clear_bit(fresh, i);
        ask_now(router, i);
      }
    }
    const uint32_t output = next_bit(marks, 0, outputs_of_);
    if (output == outputs_of_) break;
    clear_bit(marks, output);
    arbitrate(router, output);
  }
  is_touched_[router - first_] = 0;
}

void Partition::arbitrate(uint32_t router, uint32_t output) {
  Output& o = outputs_[output_at(router, output)];
  if (!any(&asking_[output_at(router, output) * input_words_], input_words_)) return;
  if (o.free_at > now_) {
    if (!o.woken) {
      o.woken = true;
      wheel_.add(o.free_at, router, make_data(kLinkFree, 0, 0, output));
    }
    return;
  }
  const uint32_t input = choose(router, output);
  if (input != inputs_of_) grant(router, output, input);
}

bool Partition::may_go(uint32_t router, uint32_t output, uint32_t input) const {
  if (machine_.buffer_read == BufferRead::port && input < network_inputs() &&
      port_free_[size_t{router - first_} * ports_ + input / channels_] > now_)
    return false;
  if (output >= ports_) return true;
  const Input& in = inputs_[input_at(router, input)];
  return in.needs == 0 ||
         credits_[(size_t{router - first_} * ports_ + output) * channels_ + in.channel] >= in.needs;
}

// The next input of [low, high) in turn whose packet may go; inputs_of_ if there is none.
uint32_t Partition::choose_between(uint32_t router, uint32_t output, uint32_t low, uint32_t high) const {
  const uint64_t* asking = &asking_[output_at(router, output) * input_words_];
  const uint32_t last = outputs_[output_at(router, output)].last;
  const uint32_t start = last + 1 > low && last + 1 < high ? last + 1 : low;
  for (uint32_t i = next_bit(asking, start, high); i < high; i = next_bit(asking, i + 1, high))
    if (may_go(router, output, i)) return i;
  for (uint32_t i = next_bit(asking, low, start); i < start; i = next_bit(asking, i + 1, start))
    if (may_go(router, output, i)) return i;
  return inputs_of_;
}

uint32_t Partition::choose_oldest(uint32_t router, uint32_t output) const {
  const uint64_t* asking = &asking_[output_at(router, output) * input_words_];
  uint32_t best = inputs_of_;
  Tick age = kNever;
  for (uint32_t i = next_bit(asking, 0, inputs_of_); i < inputs_of_;
       i = next_bit(asking, i + 1, inputs_of_)) {
    const Tick ready = packets_[inputs_[input_at(router, i)].head].ready;
    if (ready >= age || !may_go(router, output, i)) continue;
    age = ready;
    best = i;
  }
  return best;
}

uint32_t Partition::choose(uint32_t router, uint32_t output) const {
  const uint32_t network = network_inputs();
  switch (machine_.arbitration) {
    case Arbitration::injection_first: {
      const uint32_t i = choose_between(router, output, network, inputs_of_);
      return i != inputs_of_ ? i : choose_between(router, output, 0, network);
    }
    case Arbitration::through_first: {
      const uint32_t i = choose_between(router, output, 0, network);
      return i != inputs_of_ ? i : choose_between(router, output, network, inputs_of_);
    }
    case Arbitration::round_robin:
      return choose_between(router, output, 0, inputs_of_);
    case Arbitration::oldest_first:
      return choose_oldest(router, output);
  }
  return inputs_of_;
}

void Partition::grant(uint32_t router, uint32_t output, uint32_t input) {
  Input& in = inputs_[input_at(router, input)];
  Output& o = outputs_[output_at(router, output)];
  const uint32_t packet = in.head;
  Packet& p = packets_[packet];
  uint64_t* asking = &asking_[output_at(router, output) * input_words_];
  clear_bit(asking, input);
  in.head = p.next;
  if (in.head != kNone) __builtin_prefetch(&packets_[in.head]);

  // The end cannot leave before it has come.
  const Tick rate = output < ports_ ? clock_.on_link(p.bytes) : clock_.by_dma(p.bytes);
  const Tick end = std::max(now_ + rate, p.arrived + p.tail);
  const Tick busy = end - now_;
  o.free_at = end;
  o.last = static_cast<uint16_t>(input);
  if (any(asking, input_words_) && !o.woken) {
    o.woken = true;
    wheel_.add(end, router, make_data(kLinkFree, 0, 0, output));
  }

  if (input < network_inputs()) {
    const uint32_t port = input / channels_, channel = input % channels_;
    const Link& back = topology_.link(router, port);
    post(end + clock_.credit, back.router, make_data(kCredit, channel, back.port, p.bytes));
    const uint8_t cls = topology_.link(back.router, back.port).link_class;
    buffered_.add(size_t{cls} * channels_ + channel, p.arrived - clock_.enter, end, p.bytes);
    if (machine_.buffer_read != BufferRead::multiple) {
      in.drains = true;
      wheel_.add(end, router, make_data(kExpose, 0, 0, input));
      if (machine_.buffer_read == BufferRead::port) port_free_[size_t{router - first_} * ports_ + port] = end;
    }
  } else {
    in_network_++;
    injected(p, busy);
  }
  if (in.head != kNone && !in.drains) ask(router, input);
  if (output < ports_)
    forward(router, output, packet, busy);
  else
    deliver(packet, busy);
}

void Partition::forward(uint32_t router, uint32_t output, uint32_t packet, Tick busy) {
  Packet& p = packets_[packet];
  const Link& link = topology_.link(router, output);
  const size_t row = size_t{router - first_} * ports_ + output;
  if (!p.reserved) credits_[row * channels_ + p.channel] -= p.bytes;
  p.reserved = false;
  topology_.take(router, {p.output, p.channel}, &p.route);
  const Tick at = now_ + clock_.hop;
  p.arrived = at;
  p.tail = static_cast<uint32_t>(busy);
  p.hops++;

  packet_hops_++;
  LinkTotals& totals = link_totals_[row];
  totals.packets++;
  totals.bytes += p.bytes;
  totals.busy += busy;
  busy_.add(link.link_class, now_, now_ + busy, 1);
  if (link_busy_.rows() != 0) link_busy_.add(row, now_, now_ + busy, 1);

  const uint32_t input = link.port * channels_ + p.channel;
  if (mine(link.router)) {
    wheel_.add(at, link.router, make_data(kArrival, 0, input, packet));
    return;
  }
  first_mail = std::min(first_mail, at);
  mailbox_of(link.router).push_back({at, link.router, make_data(kArrival, 0, input, 0), p});
  free_packet(packet);
}

// Only arrivals carry a packet; `packet` of other mail is empty.
void Partition::post(Tick at, uint32_t router, uint64_t data) {
  if (mine(router)) return wheel_.add(at, router, data);
  first_mail = std::min(first_mail, at);
  mailbox_of(router).push_back({at, router, data, {}});
}

std::vector<Mail>& Partition::mailbox_of(uint32_t router) {
  size_t i = 0;
  while (router >= ends[i]) i++;
  return outbox[i];
}

void Partition::receive(const Mail& mail) {
  if (kind_of(mail.data) != kArrival) return wheel_.add(mail.at, mail.target, mail.data);
  const uint32_t packet = make_packet();
  packets_[packet] = mail.packet;
  wheel_.add(mail.at, mail.target, make_data(kArrival, 0, middle_of(mail.data), packet));
}

uint32_t Partition::make_packet() {
  if (free_packet_ == kNone) {
    packets_.emplace_back();
    return static_cast<uint32_t>(packets_.size() - 1);
  }
  const uint32_t packet = free_packet_;
  free_packet_ = packets_[packet].next;
  return packet;
}

void Partition::free_packet(uint32_t packet) {
  packets_[packet].next = free_packet_;
  free_packet_ = packet;
}

}  // namespace tasuki::netsim
