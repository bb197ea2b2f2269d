// The flow model: a message is a flow along its deterministic route, at a rate that max-min fair sharing of
// links, ejection ports and memories gives it (sharing.h). No packets, no buffers, no channels: congestion
// slows flows down, but never makes a network less than fair. Coarse, on one thread.
//
// A NIC sends its messages one after the other. Alone in the network a message takes as long as in the packet
// model, to the picosecond: packets at the link's rate, gaps between them, first packet read by DMA, last
// packet through the routers. A flow holds all of its links from the first packet's injection until the last
// one's.
//
// What flows take and leave when they begin and end is shared anew when one in sixteen has, or half of the
// mean flow's time has passed; until then a new flow gets what is left over. So a computation, which may
// touch all flows, serves many of them.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <deque>
#include <queue>

#include "netsim/engine/clock.h"
#include "netsim/engine/partition.h"
#include "netsim/engine/recorder.h"
#include "netsim/engine/sharing.h"
#include "netsim/models/models.h"

namespace tasuki::netsim {
namespace {

using Wall = std::chrono::steady_clock;

class FlowSimulation {
 public:
  FlowSimulation(const Machine& machine, const Topology& topology, Driver& driver, const Options& options)
      : machine_(machine),
        topology_(topology),
        driver_(driver),
        options_(options),
        clock_(machine),
        start_(Wall::now()),
        links_(static_cast<uint32_t>(topology.links().size())),
        sharing_(capacities(machine, topology)),
        nodes_(topology.nodes()),
        nics_(size_t{topology.nodes()} * machine.nics),
        busy_(topology.classes().size(), options.bins),
        link_busy_(options.link_bins ? topology.links().size() : 0, options.bins),
        totals_(topology.links().size()),
        ideal_load_(topology.classes().size()) {}

  static uint64_t memory_of(const Machine& m, uint64_t links, uint64_t nodes) {
    // A std::deque has its first block from the start.
    constexpr uint64_t kDeque = 576, kShare = 64;  // kShare: a resource in Sharing
    return links * kShare +
           nodes * (2 * kShare + sizeof(NodeState) + m.nics * (sizeof(Nic) + kDeque + kShare));
  }

  Result<Results> run() {
    for (uint32_t n = 0; n < topology_.nodes(); n++) {
      View view(*this, n);
      driver_.start(view);
    }
    while (!events_.empty() && failure_.empty()) {
      now_ = events_.top().at;
      while (!events_.empty() && events_.top().at == now_) {
        const Event e = events_.top();
        events_.pop();
        handle(e);
      }
      if (sharing_.dirty()) share();
      if (++turns_ % 1024 == 0) report_progress();
    }
    if (!failure_.empty()) return Status::error(ECANCELED, failure_);
    return collect();
  }

 private:
  // In the order in which they count at the same time.
  enum class Kind : uint8_t { end, begin, delivered, sent, timer, share };
  struct Event {
    Time at;
    Kind kind;
    uint32_t node;  // end, begin: the flow
    uint64_t tag;
    uint32_t from;
    uint64_t bytes;
    bool operator>(const Event& o) const {
      if (at != o.at) return at > o.at;
      if (kind != o.kind) return kind > o.kind;
      if (node != o.node) return node > o.node;
      return tag != o.tag ? tag > o.tag : from > o.from;
    }
  };
  struct Flow {
    Message message;
    uint32_t from, hops;
    uint64_t sequence;
    Time made, ready;
    Time duration;     // alone in the network
    Time after;        // from its end until all of it is in memory
    Time last;         // of `duration`: its last packet
    double limit;      // bytes a second, alone
    double remaining;  // of `duration`
    Time since;        // the state of `remaining`
    Time end;          // at this rate; UINT64_MAX: never
    Time event;        // when an event for its end comes, at the latest
  };
  struct Nic {
    std::deque<uint32_t> queue;
    Time free_at = 0, dma_free = 0;
    bool sending = false;
  };
  struct NodeState {
    Time copy_free = 0;
    uint64_t sequence = 0;
    double sent_bytes = 0, received_bytes = 0;
  };

  class View final : public Node {
   public:
    View(FlowSimulation& s, uint32_t node) : s_(s) {
      id_ = node;
      now_ = s.now_;
    }
    void send(const Message& message) override { s_.send(id_, message); }
    void set_timer(Time at, uint64_t tag) override {
      // Whole ticks, as in the packet model.
      const Time tick = s_.clock_.tick;
      s_.events_.push({std::max(s_.clock_.ticks(at) * tick, now_), Kind::timer, id_, tag, 0, 0});
    }
    void fail(const std::string& why) override {
      if (!s_.failure_.empty() && s_.failed_node_ <= id_) return;
      s_.failure_ = why.empty() ? "failed" : why;
      s_.failed_node_ = id_;
    }

   private:
    FlowSimulation& s_;
  };

  // Resources: links, then reading and writing of each node's memory, then ejection to each NIC.
  static std::vector<double> capacities(const Machine& m, const Topology& t) {
    std::vector<double> c(t.links().size(), m.link_bandwidth);
    c.insert(c.end(), size_t{2} * t.nodes(), m.memory_bandwidth);
    c.insert(c.end(), size_t{t.nodes()} * m.nics, m.dma_bandwidth);
    return c;
  }

  void handle(const Event& e) {
    events_seen_++;
    switch (e.kind) {
      case Kind::begin:
        return begin(e.node);
      case Kind::end:
        return check_end(e.node);
      case Kind::share:
        share_planned_ = false;
        return;
      default:
        break;
    }
    View view(*this, e.node);
    if (e.kind == Kind::delivered)
      driver_.delivered(view, e.from, e.bytes, e.tag);
    else if (e.kind == Kind::sent)
      driver_.sent(view, e.tag);
    else
      driver_.timer(view, e.tag);
  }

  void send(uint32_t node, const Message& message) {
    NodeState& state = nodes_[node];
    messages_++;
    payload_ += message.bytes;
    if (message.to == node) {
      state.copy_free = std::max(now_, state.copy_free) + clock_.in_memory(message.bytes) * clock_.tick;
      hash_ += mix(mix(mix(node) + state.sequence++) + state.copy_free);
      events_.push({state.copy_free, Kind::sent, node, message.tag, 0, 0});
      events_.push({state.copy_free, Kind::delivered, node, message.tag, node, message.bytes});
      return;
    }
    const double wire = static_cast<double>(machine_.wire_bytes_of(message.bytes));
    topology_.add_ideal_load(node, message.to, wire, &ideal_load_);
    state.sent_bytes += wire;
    nodes_[message.to].received_bytes += wire;
    const uint32_t flow = make_flow();
    Flow& f = flows_[flow];
    f = {};
    f.message = message;
    f.from = node;
    f.made = now_;
    f.sequence = state.sequence++;
    Nic& nic = nics_[size_t{node} * machine_.nics + message.nic];
    nic.queue.push_back(flow);
    if (!nic.sending) begin_next(&nic);
  }

  // The first packet is read while the last one of the message before leaves.
  void begin_next(Nic* nic) {
    const uint32_t flow = nic->queue.front();
    Flow& f = flows_[flow];
    const uint64_t first =
        machine_.wire_bytes_of(std::min<uint64_t>(f.message.bytes, machine_.payload_bytes()));
    const Time read = std::max(clock_.by_dma(first), clock_.in_memory(first)) * clock_.tick;
    f.since = std::max(std::max(f.made, nic->dma_free) + read + clock_.enter * clock_.tick, nic->free_at);
    f.ready = f.since - clock_.enter * clock_.tick;
    nic->sending = true;
    events_.push({f.since, Kind::begin, flow, 0, 0, 0});
  }

  void begin(uint32_t flow) {
    Flow& f = flows_[flow];
    find_path(f);
    time_alone(&f);
    sharing_.add(flow, path_, f.limit);
    durations_ += static_cast<double>(f.duration);
    active_++;
    changes_++;
    f.remaining = static_cast<double>(f.duration);
    f.since = now_;
    f.event = UINT64_MAX;
    plan_end(flow);
  }

  // Fills in path_ and the hops.
  void find_path(Flow& f) {
    path_.clear();
    const uint64_t random = mix(mix(mix(options_.seed) + f.from) + (f.sequence << 24));
    Route route = topology_.begin(f.from, f.message.to, random);
    uint32_t router = topology_.router_of(f.from);
    Choice choices[kMostChoices];
    for (uint32_t n; (n = topology_.choices(router, f.message.to, &route, choices)) != 0;) {
      const Choice& c = choices[n - 1];  // the one that needs no room elsewhere
      path_.push_back(router * topology_.ports() + c.port);
      topology_.take(router, c, &route);
      router = topology_.link(router, c.port).router;
    }
    f.hops = static_cast<uint32_t>(path_.size());
    path_.push_back(links_ + 2 * f.from);
    path_.push_back(links_ + 2 * f.message.to + 1);
    path_.push_back(links_ + 2 * topology_.nodes() + f.message.to * machine_.nics + f.message.to_nic);
  }

  void time_alone(Flow* f) const {
    const uint64_t packets = machine_.packets_of(f->message.bytes);
    const uint64_t wire = machine_.wire_bytes_of(f->message.bytes);
    const uint64_t full = machine_.wire_bytes_of(machine_.payload_bytes());
    const uint64_t last = wire - (packets - 1) * full;
    const auto leave = [&](uint64_t bytes) {
      return f->hops == 0 ? clock_.by_dma(bytes) : clock_.on_link(bytes);
    };
    const auto read = [&](uint64_t bytes) { return std::max(clock_.by_dma(bytes), clock_.in_memory(bytes)); };
    const Tick with_gap = leave(full) + clock_.gap(f->message.gap);
    Tick duration = leave(last);
    if (packets >= 2)
      duration += (packets - 2) * std::max(with_gap, read(full)) + std::max(with_gap, read(last));
    const Tick write = std::max({leave(last), clock_.by_dma(last), clock_.in_memory(last)});
    f->duration = std::max<Tick>(1, duration) * clock_.tick;
    f->last = leave(last) * clock_.tick;
    f->after = (f->hops * clock_.hop + clock_.leave + write) * clock_.tick - f->last;
    f->limit = static_cast<double>(wire) / static_cast<double>(f->duration) * kPerSecond;
  }

  // What the flow has sent since it was looked at last.
  void settle(uint32_t flow, double rate) {
    Flow& f = flows_[flow];
    if (now_ == f.since) return;
    if (rate > 0) {
      const double share = rate / f.limit;
      f.remaining = std::max(0.0, f.remaining - share * static_cast<double>(now_ - f.since));
      record(f, rate);
    }
    f.since = now_;
  }

  void record(const Flow& f, double rate) {
    const Tick from = f.since / clock_.tick, to = now_ / clock_.tick;
    if (from == to) return;
    const uint64_t weight = static_cast<uint64_t>(rate / machine_.link_bandwidth * kWhole + 0.5);
    const std::vector<Link>& links = topology_.links();
    for (size_t i = 0; i < f.hops;) {
      const uint8_t c = links[sharing_.resource(index_of(f), i)].link_class;
      uint64_t n = 0;
      for (; i < f.hops && links[sharing_.resource(index_of(f), i)].link_class == c; i++) {
        n++;
        if (link_busy_.rows() != 0) link_busy_.add(sharing_.resource(index_of(f), i), from, to, weight);
      }
      busy_.add(c, from, to, n * weight);
    }
  }

  // One event a flow is enough: if it comes too early, it is put off.
  void plan_end(uint32_t flow) {
    Flow& f = flows_[flow];
    const double rate = sharing_.rate(flow);
    const double left = rate >= f.limit ? f.remaining : f.remaining * (f.limit / rate);
    f.end = rate > 0 && left < kFarthest ? f.since + static_cast<Time>(std::ceil(left)) : UINT64_MAX;
    if (f.end >= f.event) return;
    f.event = f.end;
    events_.push({f.end, Kind::end, flow, f.sequence, f.from, 0});
  }

  void check_end(uint32_t flow) {
    Flow& f = flows_[flow];
    if (f.event != now_) return;  // of another flow of this number, or a later event than needed
    if (f.end > now_) {
      f.event = f.end;
      if (f.end != UINT64_MAX) events_.push({f.end, Kind::end, flow, f.sequence, f.from, 0});
      return;
    }
    settle(flow, sharing_.rate(flow));
    count(f);
    sharing_.remove(flow);
    durations_ -= static_cast<double>(f.duration);
    active_--;
    changes_++;
    f.event = UINT64_MAX;
    const Time arrives = now_ + f.after;
    if (latency_.size() <= f.hops) latency_.resize(f.hops + 1u);
    latency_[f.hops].add(arrives - f.ready);
    hash_ += mix(mix(mix(mix(f.from) + f.message.to) + f.sequence) + arrives);
    events_.push({now_, Kind::sent, f.from, f.message.tag, 0, 0});
    events_.push({arrives, Kind::delivered, f.message.to, f.message.tag, f.from, f.message.bytes});
    Nic& nic = nics_[size_t{f.from} * machine_.nics + f.message.nic];
    nic.free_at = now_;
    nic.dma_free = now_ - std::min(now_, f.last + clock_.enter * clock_.tick);
    nic.sending = false;
    nic.queue.pop_front();
    free_flows_.push_back(flow);
    if (!nic.queue.empty()) begin_next(&nic);
  }

  void count(const Flow& f) {
    const uint64_t packets = machine_.packets_of(f.message.bytes);
    const uint64_t wire = machine_.wire_bytes_of(f.message.bytes);
    for (size_t i = 0; i < f.hops; i++) {
      LinkTotals& t = totals_[sharing_.resource(index_of(f), i)];
      t.packets += packets;
      t.bytes += wire;
      t.busy += clock_.on_link(wire) * clock_.tick;
    }
    packets_ += packets;
    packet_hops_ += packets * f.hops;
  }

  void share() {
    // Among few flows every change counts at once.
    if (changes_ * kStale < active_) {
      const Time pause = static_cast<Time>(durations_ / static_cast<double>(active_) / kPauses);
      if (now_ < shared_at_ + pause) {
        if (!share_planned_) events_.push({shared_at_ + pause, Kind::share, 0, 0, 0, 0});
        share_planned_ = true;
        return;
      }
    }
    changes_ = 0;
    shared_at_ = now_;
    sharing_.fill();
    for (const Sharing::Change& c : sharing_.changed()) {
      settle(c.flow, c.before);
      plan_end(c.flow);
    }
  }

  uint32_t make_flow() {
    if (free_flows_.empty()) {
      flows_.emplace_back();
      return static_cast<uint32_t>(flows_.size() - 1);
    }
    const uint32_t flow = free_flows_.back();
    free_flows_.pop_back();
    return flow;
  }
  uint32_t index_of(const Flow& f) const { return static_cast<uint32_t>(&f - flows_.data()); }

  void report_progress() {
    if (options_.progress == nullptr) return;
    const auto wall = Wall::now();
    if (wall - last_progress_ < std::chrono::milliseconds(400)) return;
    last_progress_ = wall;
    options_.progress({now_, events_seen_, seconds_since_start()}, options_.progress_context);
  }
  double seconds_since_start() const { return std::chrono::duration<double>(Wall::now() - start_).count(); }

  Results collect() {
    Results r;
    r.model = "flow";
    r.classes = topology_.classes();
    r.class_links.assign(r.classes.size(), 0);
    for (const Link& l : topology_.links())
      if (l.router != kNone) r.class_links[l.link_class]++;
    r.channels = machine_.channels;
    r.end = now_;
    r.messages = messages_;
    r.packets = packets_;
    r.packet_hops = packet_hops_;
    r.payload_bytes = payload_;
    r.events = events_seen_;
    r.links = std::move(totals_);
    r.latency = std::move(latency_);
    double busiest = 0;
    for (const NodeState& n : nodes_) busiest = std::max({busiest, n.sent_bytes, n.received_bytes});
    r.ideal = ideal_time(machine_, r.class_links, ideal_load_, busiest);

    busy_.widen_to(link_busy_.shift());
    link_busy_.widen_to(busy_.shift());
    r.bin_width = (Tick{1} << busy_.shift()) * clock_.tick;
    const size_t bins = std::min<size_t>(busy_.bins(), r.end == 0 ? 0 : (r.end - 1) / r.bin_width + 1);
    r.busy = busy_.rows_of(bins, static_cast<double>(clock_.tick) / kWhole);
    r.buffered.assign(r.classes.size() * r.channels, std::vector<double>(bins));  // there are no buffers
    const double full = static_cast<double>(Tick{1} << busy_.shift()) * kWhole;
    for (const auto& row : link_busy_.rows_of(bins, 255 / full)) {
      r.link_busy.emplace_back(bins);
      for (size_t b = 0; b < bins; b++)
        r.link_busy.back()[b] = static_cast<uint8_t>(std::min(255.0, row[b] + 0.5));
    }
    r.hash = hash_;
    for (const LinkTotals& l : r.links) r.hash = mix(r.hash + l.packets) + mix(l.bytes) + mix(l.busy);
    r.hash = mix(r.hash + r.end);
    r.wall_s = seconds_since_start();
    return r;
  }

  static constexpr uint64_t kStale = 16;
  static constexpr double kPauses = 2;
  static constexpr double kPerSecond = 1e12, kFarthest = 1e18;
  static constexpr double kWhole = 1024;  // weight of a link in use entirely, in what is recorded over time

  const Machine& machine_;
  const Topology& topology_;
  Driver& driver_;
  const Options& options_;
  const Clock clock_;
  const Wall::time_point start_;
  Wall::time_point last_progress_ = start_;
  const uint32_t links_;

  Time now_ = 0;
  uint64_t turns_ = 0, events_seen_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Sharing sharing_;
  Time shared_at_ = 0;
  uint64_t changes_ = 0;  // flows that began or ended since
  bool share_planned_ = false;
  double durations_ = 0;  // sum over the active flows, times alone
  uint64_t active_ = 0;
  std::vector<Flow> flows_;
  std::vector<uint32_t> free_flows_, path_;
  std::vector<NodeState> nodes_;
  std::vector<Nic> nics_;
  std::string failure_;
  uint32_t failed_node_ = 0;

  Recorder busy_, link_busy_;
  std::vector<LinkTotals> totals_;
  std::vector<Histogram> latency_;
  std::vector<double> ideal_load_;
  uint64_t messages_ = 0, packets_ = 0, packet_hops_ = 0, payload_ = 0, hash_ = 0;
};

}  // namespace

uint64_t flow_memory(const Machine& machine, uint64_t links, uint64_t nodes) {
  return FlowSimulation::memory_of(machine, links, nodes);
}

Result<Results> run_flow_model(const Machine& machine, const Topology& topology, Driver& driver,
                               const Options& options) {
  return FlowSimulation(machine, topology, driver, options).run();
}

}  // namespace tasuki::netsim
