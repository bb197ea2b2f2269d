// The flow model against closed forms, its own rules of sharing, and the packet model.
#include <gtest/gtest.h>

#include <cmath>

#include "netsim/engine/sharing.h"
#include "netsim/simulate.h"
#include "netsim/test/scripted.h"

namespace tasuki::netsim {
namespace {

Results run(const Machine& m, Driver& driver, Model model = Model::flow) {
  const auto topology = make_topology(m);
  Options options;
  options.model = model;
  options.link_bins = true;
  Result<Results> r = simulate(m, *topology, driver, options);
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? r.value() : Results();
}

Time arrival(const Machine& m, const std::vector<Planned>& plan, size_t tag, Model model) {
  Scripted driver(plan, m.nodes());
  run(m, driver, model);
  for (const auto& a : driver.arrivals[plan[tag].message.to])
    if (a.tag == tag) return a.at;
  ADD_FAILURE() << "message " << tag << " did not arrive";
  return 0;
}

Machine fat_tree() {
  Machine m = paper_machine({});
  m.topology = TopologyKind::fat_tree;
  m.arity = 3;
  m.levels = 3;
  return m;
}

Machine dragonfly() {
  Machine m = paper_machine({});
  m.topology = TopologyKind::dragonfly;
  m.group_routers = 4;
  m.global_links = 2;
  m.router_nodes = 2;
  return m;
}

TEST(Flow, AMessageAloneTakesTheClosedForm) {
  for (const Machine& m : {paper_machine({8, 8}), fat_tree(), dragonfly()}) {
    const auto topology = make_topology(m);
    for (uint32_t to = 1; to < m.nodes(); to++)
      for (const uint64_t bytes : {0, 1, 100, 2016}) {
        const std::vector<Planned> plan{{0, 5000000, {to, bytes, 0, 0, 0, 0}}};
        EXPECT_EQ(arrival(m, plan, 0, Model::flow) - 5000000,
                  zero_load_latency(m, topology->hops(0, to), bytes))
            << m.nodes() << " nodes, to " << to << ", " << bytes << " B";
      }
  }
}

// Any length, with and without gaps: to the picosecond what the packet model says.
TEST(Flow, AMessageAloneTakesWhatThePacketModelTakes) {
  for (const Machine& m : {paper_machine({8, 8}), fat_tree(), dragonfly()})
    for (const uint32_t to : {1u, 5u, 20u})
      for (const uint64_t bytes : {2017, 4032, 10000, 1000000})
        for (const uint32_t gap : {0u, 64u, 576u}) {
          const std::vector<Planned> plan{{0, 700, {to, bytes, gap, 1, 2, 0}}};
          EXPECT_EQ(arrival(m, plan, 0, Model::flow), arrival(m, plan, 0, Model::packet))
              << "to " << to << ", " << bytes << " B, gap " << gap;
        }
}

TEST(Flow, ANicSendsOneMessageAfterTheOther) {
  const Machine m = paper_machine({8, 8});
  std::vector<Planned> plan;
  for (const uint64_t bytes : {2016, 20160, 100, 5000}) plan.push_back({0, 0, {1, bytes, 0, 0, 0, 0}});
  for (size_t i = 0; i < plan.size(); i++)
    EXPECT_EQ(arrival(m, plan, i, Model::flow), arrival(m, plan, i, Model::packet)) << i;
}

TEST(Flow, TwoShareALink) {
  Machine m = paper_machine({8});
  m.arbitration = Arbitration::round_robin;
  const uint64_t bytes = 2016 * 1000;
  // 0 -> 2 and 1 -> 2 on different NICs share the link 1 -> 2; 5 -> 6 is alone.
  const std::vector<Planned> plan{
      {0, 0, {2, bytes, 0, 0, 0, 0}}, {1, 0, {2, bytes, 0, 0, 1, 0}}, {5, 0, {6, bytes, 0, 0, 0, 0}}};
  const double alone = static_cast<double>(arrival(m, plan, 2, Model::flow));
  for (const size_t tag : {0u, 1u}) {
    const double flow = static_cast<double>(arrival(m, plan, tag, Model::flow));
    EXPECT_NEAR(flow / alone, 2, 0.001);
    EXPECT_NEAR(flow / static_cast<double>(arrival(m, plan, tag, Model::packet)), 1, 0.01);
  }
}

TEST(Flow, WhatOneLeavesTheOtherGets) {
  const Machine m = paper_machine({8});
  const uint64_t bytes = 2016 * 1000;
  // Half as long: both take half of the link, then the longer one has all of it: 1.5 times its time alone.
  const std::vector<Planned> plan{{0, 0, {2, bytes, 0, 0, 0, 0}}, {1, 0, {2, bytes / 2, 0, 0, 1, 0}}};
  const std::vector<Planned> single{plan[0]};
  EXPECT_NEAR(static_cast<double>(arrival(m, plan, 0, Model::flow)) /
                  static_cast<double>(arrival(m, single, 0, Model::flow)),
              1.5, 0.001);
  // Paced to a third of the link, it leaves two thirds.
  const std::vector<Planned> paced{{0, 0, {2, bytes, 0, 0, 0, 0}}, {1, 0, {2, bytes, 2 * kGapUnit, 0, 1, 0}}};
  EXPECT_NEAR(static_cast<double>(arrival(m, paced, 0, Model::flow)) /
                  static_cast<double>(arrival(m, single, 0, Model::flow)),
              1.5, 0.001);
}

// Every rate must be fair: a flow below its limit crosses a full resource on which nobody has more.
TEST(Flow, RatesAreMaxMinFair) {
  uint64_t seed = 3;
  constexpr uint32_t kResources = 30;
  std::vector<double> capacities;
  for (uint32_t i = 0; i < kResources; i++)
    capacities.push_back(1 + static_cast<double>(pseudo_random(&seed) % 5));
  Sharing sharing(capacities);
  struct Known {
    std::vector<uint32_t> path;
    double limit;
  };
  std::map<uint32_t, Known> flows;
  for (int step = 0; step < 400; step++) {
    for (uint64_t changes = 1 + pseudo_random(&seed) % 3; changes > 0; changes--) {
      const uint32_t flow = static_cast<uint32_t>(pseudo_random(&seed) % 60);
      if (flows.count(flow) != 0) {
        sharing.remove(flow);
        flows.erase(flow);
        continue;
      }
      Known k{{}, 0.2 + static_cast<double>(pseudo_random(&seed) % 20) / 7};
      for (uint32_t r = 0; r < kResources; r++)
        if (pseudo_random(&seed) % 8 == 0) k.path.push_back(r);
      sharing.add(flow, k.path, k.limit);
      flows[flow] = k;
    }
    sharing.fill();
    std::vector<double> used(kResources), most(kResources);
    for (const auto& [flow, k] : flows)
      for (const uint32_t r : k.path) {
        used[r] += sharing.rate(flow);
        most[r] = std::max(most[r], sharing.rate(flow));
      }
    for (uint32_t r = 0; r < kResources; r++) ASSERT_LE(used[r], capacities[r] * (1 + 1e-6));
    for (const auto& [flow, k] : flows) {
      ASSERT_LE(sharing.rate(flow), k.limit);
      bool held = sharing.rate(flow) > k.limit * (1 - 1e-9);
      for (const uint32_t r : k.path)
        held = held || (used[r] > capacities[r] * (1 - 1e-6) && sharing.rate(flow) > most[r] * (1 - 1e-6));
      ASSERT_TRUE(held) << "step " << step << ", flow " << flow;
    }
  }
}

// Whatever is asked for arrives once, on every topology; nothing beats the ideal; links are busy for what
// they carried.
TEST(Flow, AllArrivesUnderOverload) {
  Machine tofu = paper_machine({3, 2, 3, 2, 3, 2});
  tofu.wraps = {true, true, true, false, true, false};
  Machine valiant = paper_machine({6, 6});
  valiant.channels = 4;
  valiant.routing = RoutingAlgorithm::valiant;
  for (const Machine& m : {paper_machine({5, 4}), tofu, valiant, fat_tree(), dragonfly()}) {
    const std::vector<Planned> plan = random_plan(m, 2000, 7, 20000, 1000000);
    Scripted driver(plan, m.nodes());
    const Results r = run(m, driver);
    EXPECT_EQ(r.model, "flow");
    std::vector<int> seen(plan.size());
    uint64_t sent = 0, packets = 0;
    for (uint32_t node = 0; node < m.nodes(); node++) {
      sent += driver.sends[node];
      for (const auto& a : driver.arrivals[node]) {
        seen[a.tag]++;
        EXPECT_EQ(plan[a.tag].message.to, node);
        EXPECT_EQ(plan[a.tag].from, a.from);
        EXPECT_EQ(plan[a.tag].message.bytes, a.bytes);
      }
    }
    for (const Planned& p : plan)
      if (p.message.to != p.from) packets += m.packets_of(p.message.bytes);
    for (const int n : seen) ASSERT_EQ(n, 1);
    EXPECT_EQ(sent, plan.size());
    EXPECT_EQ(r.packets, packets);
    EXPECT_GE(r.end, r.ideal);
    double over_time = 0, by_link = 0;
    for (const auto& row : r.busy)
      for (const double t : row) over_time += t;
    for (const LinkTotals& l : r.links) {
      EXPECT_LE(l.busy, r.end);
      by_link += static_cast<double>(l.busy);
    }
    EXPECT_NEAR(over_time / by_link, 1, 0.01);
    // Once more: the same to the last bit.
    Scripted again(plan, m.nodes());
    EXPECT_EQ(run(m, again).hash, r.hash);
  }
}

// As random messages with room between them: within a few per cent of the packet model, message by message.
TEST(Flow, LightTrafficTakesWhatThePacketModelSays) {
  const Machine m = paper_machine({8, 8});
  const std::vector<Planned> plan = random_plan(m, 500, 5, 20000, 2'000'000'000);
  Scripted flow(plan, m.nodes()), packet(plan, m.nodes());
  const Results f = run(m, flow), p = run(m, packet, Model::packet);
  EXPECT_EQ(f.packet_hops, p.packet_hops);
  EXPECT_EQ(f.ideal, p.ideal);
  EXPECT_EQ(f.links.size(), p.links.size());
  for (size_t i = 0; i < f.links.size(); i++) EXPECT_EQ(f.links[i].bytes, p.links[i].bytes);
  double sum = 0;
  size_t same = 0;
  for (uint32_t n = 0; n < m.nodes(); n++) {
    std::map<uint64_t, Time> at;
    for (const auto& a : packet.arrivals[n]) at[a.tag] = a.at - plan[a.tag].at;
    for (const auto& a : flow.arrivals[n]) {
      const double ratio = static_cast<double>(a.at - plan[a.tag].at) / static_cast<double>(at[a.tag]);
      sum += ratio;
      if (a.at - plan[a.tag].at == at[a.tag]) same++;
      EXPECT_NEAR(ratio, 1, 0.5);
    }
  }
  EXPECT_NEAR(sum / static_cast<double>(plan.size()), 1, 0.02);
  EXPECT_GT(same, plan.size() * 8 / 10);
}

class Failing final : public Driver {
 public:
  void start(Node& node) override { node.set_timer(1000, 0); }
  void sent(Node&, uint64_t) override {}
  void delivered(Node&, uint32_t, uint64_t, uint64_t) override {}
  void timer(Node& node, uint64_t) override {
    if (node.id() >= 3) node.fail("node " + std::to_string(node.id()));
  }
};

TEST(Flow, TheFirstFailureIsReported) {
  const Machine m = paper_machine({4, 4});
  const auto topology = make_topology(m);
  Failing driver;
  Options options;
  options.model = Model::flow;
  const Result<Results> r = simulate(m, *topology, driver, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().message(), "node 3");
}

}  // namespace
}  // namespace tasuki::netsim
