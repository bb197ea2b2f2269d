#include "experiment/traffic.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <deque>

#include "experiment/memory_check.h"
#include "netsim/network/random.h"
#include "netsim/simulate.h"

namespace tasuki::experiment {
namespace {

using netsim::Machine;
using netsim::Message;
using netsim::mix;
using netsim::Node;
using netsim::Time;

constexpr double kPerSecond = 1e12;

double unit(uint64_t random) {
  return static_cast<double>(random >> 11) * 0x1p-53;
}  // [0, 1)

uint64_t square_root(uint64_t n) {
  uint64_t r = static_cast<uint64_t>(std::sqrt(static_cast<double>(n)));
  while (r * r > n) r--;
  while ((r + 1) * (r + 1) <= n) r++;
  return r;
}

class TrafficDriver final : public netsim::Driver {
 public:
  TrafficDriver(const Machine& machine, const TrafficOptions& options)
      : machine_(machine),
        options_(options),
        bytes_(options.bytes != 0 ? options.bytes : machine.payload_bytes()),
        wire_(static_cast<double>(machine.wire_bytes_of(bytes_))),
        mean_gap_(wire_ / (options.load * machine.link_bandwidth) * kPerSecond),
        end_(options.warm_up + options.measure),
        sources_(machine.nodes()) {
    for (Source& s : sources_) s.in_nic.resize(machine.nics);
  }

  bool any_thread() const override { return true; }
  void start(Node& node) override { plan(node); }

  // A message is made.
  void timer(Node& node, uint64_t) override {
    Source& s = sources_[node.id()];
    if (node.now() >= options_.warm_up) s.offered++;
    s.waiting.push_back(node.now());
    fill_nics(node, s);
    plan(node);
  }
  void sent(Node& node, uint64_t tag) override {
    Source& s = sources_[node.id()];
    s.in_nic[tag % machine_.nics]--;
    if (node.now() < end_)
      fill_nics(node, s);  // what waits at the end is given up: it would arrive too late to count
  }
  void delivered(Node& node, uint32_t, uint64_t, uint64_t tag) override {
    Source& s = sources_[node.id()];
    const Time made = tag / machine_.nics;
    if (node.now() >= options_.warm_up && node.now() < end_) s.accepted++;
    if (made >= options_.warm_up) s.latency.add(node.now() - made);
  }

  void report(TrafficOutcome* outcome) const {
    uint64_t offered = 0, accepted = 0;
    for (const Source& s : sources_) {
      offered += s.offered;
      accepted += s.accepted;
      outcome->latency.merge(s.latency);
    }
    const double full = machine_.link_bandwidth * static_cast<double>(options_.measure) / kPerSecond *
                        static_cast<double>(sources_.size());
    outcome->offered = static_cast<double>(offered) * wire_ / full;
    outcome->accepted = static_cast<double>(accepted) * wire_ / full;
  }

 private:
  struct Source {
    uint64_t random = 0;  // how many this node has drawn
    uint64_t offered = 0, accepted = 0;
    double next = 0;  // when the next message is made; not rounded, so that the mean holds
    std::deque<Time> waiting;
    std::vector<uint32_t> in_nic;  // messages that each NIC has
    netsim::Histogram latency;     // of what arrives here
  };
  static constexpr uint32_t kInNic = 2;  // one leaves while the next is read from memory

  uint64_t draw(uint32_t node, Source& s) const {
    return mix(mix(mix(options_.network.seed) + node) + s.random++);
  }

  // Of mean 1, by comparisons only (von Neumann 1951): a logarithm's last digit depends on the machine's
  // library.
  double exponential(uint32_t node, Source& s) const {
    for (double whole = 0;; whole++) {
      const double first = unit(draw(node, s));
      uint32_t length = 1;
      for (double last = first, next = unit(draw(node, s)); next < last; next = unit(draw(node, s))) {
        last = next;
        length++;
      }
      if (length % 2 == 1) return whole + first;
    }
  }

  void plan(Node& node) {
    Source& s = sources_[node.id()];
    s.next += exponential(node.id(), s) * mean_gap_;
    if (s.next >= static_cast<double>(end_)) return;
    node.set_timer(std::max(node.now(), static_cast<Time>(s.next)), 0);
  }

  void fill_nics(Node& node, Source& s) {
    for (uint32_t held = 0; held < kInNic; held++)
      for (uint32_t nic = 0; nic < machine_.nics; nic++) {
        if (s.waiting.empty()) return;
        if (s.in_nic[nic] > held) continue;
        s.in_nic[nic]++;
        Message m;
        m.to = destination(node.id(), s);
        m.bytes = bytes_;
        m.gap = options_.gap;
        m.nic = m.to_nic = nic;
        m.tag = s.waiting.front() * machine_.nics + nic;
        s.waiting.pop_front();
        node.send(m);
      }
  }

  uint32_t destination(uint32_t from, Source& s) const {
    const uint32_t nodes = static_cast<uint32_t>(sources_.size());
    switch (options_.pattern) {
      case TrafficPattern::transpose: {
        const uint32_t n = static_cast<uint32_t>(square_root(nodes));
        return from % n * n + from / n;
      }
      case TrafficPattern::tornado: {
        uint32_t to = 0, stride = machine_.router_nodes, rest = from / machine_.router_nodes;
        for (const uint32_t extent : machine_.extents) {
          to += (rest % extent + (extent + 1) / 2 - 1) % extent * stride;
          rest /= extent;
          stride *= extent;
        }
        return to + from % machine_.router_nodes;
      }
      case TrafficPattern::bit_complement:
        return nodes - 1 - from;
      case TrafficPattern::hot_spot:
        if (unit(draw(from, s)) < options_.hot_share) return options_.hot_node;
        break;
      case TrafficPattern::uniform:
        break;
    }
    return static_cast<uint32_t>(draw(from, s) % nodes);
  }

  const Machine& machine_;
  const TrafficOptions& options_;
  const uint64_t bytes_;
  const double wire_;      // bytes of a message on a link
  const double mean_gap_;  // ps between two messages of a node
  const Time end_;
  std::vector<Source> sources_;
};

Status check(const Machine& m, const TrafficOptions& o) {
  const auto wrong = [](const std::string& what) { return Status::error(EINVAL, "traffic: " + what); };
  if (!(o.load >= 1e-6 && o.load <= 1000)) return wrong("the offered load must be 1e-6 to 1000 of a link");
  if (o.measure == 0) return wrong("the measuring interval is empty");
  constexpr Time kLongest = 1'000'000'000'000;  // a second
  if (o.warm_up > kLongest || o.measure > kLongest) return wrong("an interval of more than a second");
  if (o.bytes > (1u << 30)) return wrong("messages of more than 1 GiB");
  if (!(o.hot_share >= 0 && o.hot_share <= 1)) return wrong("the hot spot's share must be 0 to 1");
  if (o.hot_node >= m.nodes())
    return wrong("the hot spot is node " + std::to_string(o.hot_node) + ", but there are only " +
                 std::to_string(m.nodes()));
  const uint64_t bytes = o.bytes != 0 ? o.bytes : m.payload_bytes();
  if (o.gap != 0 && bytes <= m.payload_bytes())
    return wrong("a gap between the packets of a message has no effect on messages of one packet");
  const uint64_t n = square_root(m.nodes());
  if (o.pattern == TrafficPattern::transpose && n * n != m.nodes())
    return wrong("transpose needs a square number of nodes, not " + std::to_string(m.nodes()));
  if (o.pattern == TrafficPattern::tornado && m.topology != netsim::TopologyKind::torus)
    return wrong("tornado needs a torus or mesh");
  return Status();
}

}  // namespace

Result<TrafficOutcome> run_traffic(const Machine& machine, const netsim::Topology& topology,
                                   const TrafficOptions& options) {
  Status status = netsim::check_machine(machine);
  if (status.ok()) status = check(machine, options);
  if (!status.ok()) return status;
  status = check_memory(machine, options.network);
  if (!status.ok()) return status;
  TrafficDriver driver(machine, options);
  Result<netsim::Results> results = netsim::simulate(machine, topology, driver, options.network);
  if (!results.ok()) return results.status();
  TrafficOutcome outcome;
  outcome.results = std::move(results.value());
  driver.report(&outcome);
  return outcome;
}

}  // namespace tasuki::experiment
