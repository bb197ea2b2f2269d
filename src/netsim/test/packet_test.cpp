// The packet model against what can be known without it: closed forms, conservation, bounds, and itself on
// other numbers of threads.
#include <gtest/gtest.h>

#include "netsim/simulate.h"
#include "netsim/test/scripted.h"

namespace tasuki::netsim {
namespace {

Results run(const Machine& m, Driver& driver, uint32_t threads = 1) {
  const auto topology = make_topology(m);
  Options options;
  options.threads = threads;
  options.link_bins = true;
  Result<Results> r = simulate(m, *topology, driver, options);
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? r.value() : Results();
}

void expect_closed_form(const Machine& m) {
  const auto topology = make_topology(m);
  for (uint32_t to = 1; to < m.nodes(); to++)
    for (const uint64_t bytes : {0, 1, 16, 100, 2016}) {
      std::vector<Planned> plan{{0, 5000000, {to, bytes, 0, 0, 0, 0}}};
      Scripted driver(plan, m.nodes());
      run(m, driver);
      ASSERT_EQ(driver.arrivals[to].size(), 1u);
      EXPECT_EQ(driver.arrivals[to][0].at - 5000000, zero_load_latency(m, topology->hops(0, to), bytes))
          << "to " << to << ", " << bytes << " B";
    }
}

TEST(Packet, AnEmptyNetworkTakesTheClosedForm) {
  expect_closed_form(paper_machine({8, 8}));
  expect_closed_form(paper_machine({3, 4, 5}));
  Machine tree = paper_machine({});
  tree.topology = TopologyKind::fat_tree;
  tree.arity = 3;
  tree.levels = 3;
  expect_closed_form(tree);
  Machine fly = paper_machine({});
  fly.topology = TopologyKind::dragonfly;
  fly.group_routers = 4;
  fly.global_links = 2;
  fly.router_nodes = 2;
  expect_closed_form(fly);
}

TEST(Packet, TheClosedFormIsThePapersTable) {
  const Machine m = paper_machine({8, 8});
  // DMA 128 ns, three routers of 94 ns, two cables of 10 ns, 512 ns on the link.
  EXPECT_EQ(zero_load_latency(m, 2, 2016), 128000u + 3 * 94000 + 2 * 10000 + 512000);
}

TEST(Packet, ALongMessageRunsAtTheLinksRate) {
  const Machine m = paper_machine({8, 8});
  const uint64_t bytes = 1 << 20;
  std::vector<Planned> plan{{0, 0, {1, bytes, 0, 0, 0, 0}}};
  Scripted driver(plan, m.nodes());
  const Results r = run(m, driver);
  const double rate = static_cast<double>(m.wire_bytes_of(bytes)) / (static_cast<double>(r.end) * 1e-12);
  EXPECT_GT(rate, 0.99 * m.link_bandwidth);
  EXPECT_LE(rate, m.link_bandwidth);
  EXPECT_EQ(r.packets, m.packets_of(bytes));
}

TEST(Packet, AGapSlowsAMessageByThatMuch) {
  const Machine m = paper_machine({8, 8});
  const uint64_t bytes = uint64_t{2016} * 100;
  for (const uint32_t gap : {0u, 64u, 256u, 576u}) {
    std::vector<Planned> plan{{0, 0, {1, bytes, gap, 0, 0, 0}}};
    Scripted driver(plan, m.nodes());
    const Results r = run(m, driver);
    EXPECT_EQ(r.end, zero_load_latency(m, 1, 2016) + 99 * (512000 + gap * 2000));
  }
}

struct Shape {
  const char* name;
  Machine machine;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  all.push_back({"5x4", paper_machine({5, 4})});
  all.push_back({"ring", paper_machine({9})});
  all.push_back({"2x2x2", paper_machine({2, 2, 2})});
  Machine m = paper_machine({6, 6});
  m.wraps = {false, false};
  all.push_back({"mesh", m});
  m = paper_machine({3, 2, 3, 2, 3, 2});
  m.wraps = {true, true, true, false, true, false};
  all.push_back({"tofu", m});
  m = paper_machine({6, 6});
  m.routing = RoutingAlgorithm::adaptive;
  m.channels = 4;
  all.push_back({"adaptive", m});
  m.routing = RoutingAlgorithm::valiant;
  all.push_back({"valiant", m});
  for (const Arbitration a :
       {Arbitration::round_robin, Arbitration::through_first, Arbitration::oldest_first}) {
    m = paper_machine({6, 5});
    m.arbitration = a;
    all.push_back({"arbitration", m});
  }
  for (const BufferRead b : {BufferRead::channel, BufferRead::port}) {
    m = paper_machine({6, 5});
    m.buffer_read = b;
    m.channel_use = ChannelUse::balanced;
    all.push_back({"buffer read", m});
  }
  m = paper_machine({6, 6});
  m.injection = InjectionPorts::shared;
  m.ties = Ties::split;
  m.router_nodes = 2;
  all.push_back({"shared injection", m});
  for (const RoutingAlgorithm a :
       {RoutingAlgorithm::deterministic, RoutingAlgorithm::adaptive, RoutingAlgorithm::valiant}) {
    m = paper_machine({});
    m.topology = TopologyKind::fat_tree;
    m.arity = 3;
    m.levels = 3;
    m.routing = a;
    all.push_back({"fat tree", m});
  }
  for (const RoutingAlgorithm a : {RoutingAlgorithm::deterministic, RoutingAlgorithm::valiant}) {
    m = paper_machine({});
    m.topology = TopologyKind::dragonfly;
    m.group_routers = 3;
    m.global_links = 2;
    m.router_nodes = 2;
    m.channels = 3;
    m.routing = a;
    all.push_back({"dragonfly", m});
  }
  return all;
}

// Far more traffic than fits, on every kind of network: all arrives, once, and the simulation itself checks
// that every credit has come back.
TEST(Packet, NothingIsLostUnderOverload) {
  for (const Shape& s : shapes()) {
    const std::vector<Planned> plan = random_plan(s.machine, 3000, 7, 20000, 1000000);
    Scripted driver(plan, s.machine.nodes());
    const Results r = run(s.machine, driver);
    std::vector<int> seen(plan.size());
    for (uint32_t node = 0; node < s.machine.nodes(); node++)
      for (const auto& a : driver.arrivals[node]) {
        seen[a.tag]++;
        EXPECT_EQ(plan[a.tag].message.to, node) << s.name;
        EXPECT_EQ(plan[a.tag].from, a.from) << s.name;
        EXPECT_EQ(plan[a.tag].message.bytes, a.bytes) << s.name;
      }
    for (const int n : seen) ASSERT_EQ(n, 1) << s.name;
    uint64_t packets = 0;
    for (const Planned& p : plan)
      if (p.message.to != p.from) packets += s.machine.packets_of(p.message.bytes);
    EXPECT_EQ(r.packets, packets) << s.name;
    EXPECT_GE(r.end, r.ideal) << s.name;
    for (const LinkTotals& l : r.links) EXPECT_LE(l.busy, r.end) << s.name;
  }
}

TEST(Packet, AnyNumberOfThreadsGivesTheSame) {
  for (const Shape& s : shapes()) {
    const std::vector<Planned> plan = random_plan(s.machine, 200, 11, 30000, 20000);
    Results first;
    for (const uint32_t threads : {1u, 2u, 3u}) {
      Scripted driver(plan, s.machine.nodes());
      const Results r = run(s.machine, driver, threads);
      if (threads == 1) {
        first = r;
        continue;
      }
      EXPECT_EQ(r.hash, first.hash) << s.name << ", " << threads << " threads";
      EXPECT_EQ(r.end, first.end);
      EXPECT_EQ(r.packet_hops, first.packet_hops);
      EXPECT_EQ(r.busy, first.busy);
      EXPECT_EQ(r.buffered, first.buffered) << s.name;
      EXPECT_EQ(r.link_busy, first.link_busy);
      EXPECT_EQ(r.ideal, first.ideal);
    }
  }
}

TEST(Packet, BusyTimesAddUp) {
  const Machine m = paper_machine({5, 5});
  const std::vector<Planned> plan = random_plan(m, 2000, 3, 50000, 100000);
  Scripted driver(plan, m.nodes());
  const Results r = run(m, driver);
  double over_time = 0, by_link = 0;
  for (const auto& row : r.busy)
    for (const double t : row) over_time += t;
  for (const LinkTotals& l : r.links) by_link += static_cast<double>(l.busy);
  EXPECT_DOUBLE_EQ(over_time, by_link);
  // A buffer never holds more than it can.
  for (const auto& row : r.buffered)
    for (const double b : row) EXPECT_LE(b, 25.0 * static_cast<double>(m.buffer_bytes));
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

TEST(Packet, TheFirstFailureIsReported) {
  const Machine m = paper_machine({4, 4});
  const auto topology = make_topology(m);
  for (const uint32_t threads : {1u, 4u}) {
    Failing driver;
    Options options;
    options.threads = threads;
    const Result<Results> r = simulate(m, *topology, driver, options);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.status().message(), "node 3");
  }
}

}  // namespace
}  // namespace tasuki::netsim
