// A driver that sends what a list says and remembers what arrives.
#pragma once

#include <map>
#include <vector>

#include "netsim/network/network.h"

namespace tasuki::netsim {

struct Planned {
  uint32_t from;
  Time at;
  Message message;
};

class Scripted final : public Driver {
 public:
  struct Arrival {
    uint32_t from;
    uint64_t bytes, tag;
    Time at;
  };
  Scripted(const std::vector<Planned>& plan, uint32_t nodes)
      : arrivals(nodes), sends(nodes), plan_(plan), by_node_(nodes) {
    for (size_t i = 0; i < plan.size(); i++) by_node_[plan[i].from].push_back(i);
  }
  bool any_thread() const override { return any; }
  bool any = true;  // thread may be called for a node
  void start(Node& node) override {
    for (const size_t i : by_node_[node.id()]) node.set_timer(plan_[i].at, i);
  }
  void sent(Node& node, uint64_t) override { sends[node.id()]++; }
  void delivered(Node& node, uint32_t from, uint64_t bytes, uint64_t tag) override {
    arrivals[node.id()].push_back({from, bytes, tag, node.now()});
  }
  void timer(Node& node, uint64_t tag) override {
    Message m = plan_[tag].message;
    m.tag = tag;
    node.send(m);
  }
  std::vector<std::vector<Arrival>> arrivals;  // by node
  std::vector<uint64_t> sends;

 private:
  const std::vector<Planned>& plan_;
  std::vector<std::vector<size_t>> by_node_;
};

// The paper's machine with other extents.
inline Machine paper_machine(std::vector<uint32_t> extents) {
  Machine m;
  m.name = "test";
  m.wraps.assign(extents.size(), true);
  m.extents = std::move(extents);
  m.link_bandwidth = 4e9;
  m.cable_delay = 10000;
  m.routing_computation = m.channel_allocation = m.switch_allocation = m.switch_traversal = 4000;
  m.switch_delay = 78000;
  m.channels = 2;
  m.buffer_bytes = 8192;
  m.flit_bytes = 16;
  m.packet_bytes = 2048;
  m.header_bytes = 32;
  m.nics = 4;
  m.dma_bandwidth = m.memory_bandwidth = 16e9;
  m.call_overhead = 200000;
  return m;
}

inline uint64_t pseudo_random(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t x = *state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Messages of random sizes between random nodes.
inline std::vector<Planned> random_plan(const Machine& m, size_t messages, uint64_t seed, uint64_t most_bytes,
                                        Time spread) {
  std::vector<Planned> plan;
  for (size_t i = 0; i < messages; i++) {
    Planned p{};
    p.from = static_cast<uint32_t>(pseudo_random(&seed) % m.nodes());
    p.at = pseudo_random(&seed) % (spread + 1);
    p.message.to = static_cast<uint32_t>(pseudo_random(&seed) % m.nodes());
    p.message.bytes = pseudo_random(&seed) % (most_bytes + 1);
    p.message.gap = static_cast<uint32_t>(pseudo_random(&seed) % 600);
    p.message.nic = static_cast<uint32_t>(pseudo_random(&seed) % m.nics);
    p.message.to_nic = static_cast<uint32_t>(pseudo_random(&seed) % m.nics);
    plan.push_back(p);
  }
  return plan;
}

}  // namespace tasuki::netsim
