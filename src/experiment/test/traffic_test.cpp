// Synthetic traffic: what is offered is what was asked for, a network with room delivers it, and patterns go
// where they should.
#include "experiment/traffic.h"
#include "netsim/simulate.h"

#include <gtest/gtest.h>

namespace tasuki::experiment {
namespace {

netsim::Machine torus(uint32_t n) {
  netsim::Machine m;
  m.name = "test";
  m.extents = {n, n};
  m.wraps = {true, true};
  m.link_bandwidth = 4e9;
  m.cable_delay = 8000;
  m.routing_computation = m.channel_allocation = m.switch_allocation = m.switch_traversal = 4000;
  m.channels = 2;
  m.buffer_bytes = 512;
  m.flit_bytes = 16;
  m.packet_bytes = 128;
  m.header_bytes = 16;
  m.arbitration = netsim::Arbitration::round_robin;
  m.nics = 1;
  m.dma_bandwidth = 4e9;
  m.memory_bandwidth = 16e9;
  return m;
}

TrafficOutcome run(const netsim::Machine& m, const TrafficOptions& o) {
  const auto topology = netsim::make_topology(m);
  const Result<TrafficOutcome> r = run_traffic(m, *topology, o);
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? r.value() : TrafficOutcome();
}

TEST(Traffic, WhatIsOfferedArrivesBelowSaturation) {
  for (const double load : {0.05, 0.3}) {
    TrafficOptions o;
    o.load = load;
    const TrafficOutcome out = run(torus(8), o);
    EXPECT_NEAR(out.offered, load, 0.03 * load);
    EXPECT_NEAR(out.accepted, out.offered, 0.02 * load);
    EXPECT_GT(out.latency.count(), 1000u);
  }
}

TEST(Traffic, ASingleMessageAtATimeTakesTheClosedForm) {
  const netsim::Machine m = torus(8);
  TrafficOptions o;
  o.load = 0.0005;
  o.pattern = TrafficPattern::tornado;  // three hops in each dimension
  o.measure = 100'000'000;
  const TrafficOutcome out = run(m, o);
  EXPECT_GT(out.latency.count(), 50u);
  EXPECT_EQ(out.latency.least(), netsim::zero_load_latency(m, 6, m.payload_bytes()));
}

// All of a tornado's traffic goes one way round, three links in each dimension: a node gets a third of a link
// at most. Beyond that buffers fill, and two channels are too few to keep a ring going: it falls far below.
TEST(Traffic, ATornadoSaturatesBelowAThirdOfALink) {
  TrafficOptions o;
  o.pattern = TrafficPattern::tornado;
  o.load = 0.15;
  EXPECT_NEAR(run(torus(8), o).accepted, 0.15, 0.005);
  o.load = 0.9;
  const TrafficOutcome out = run(torus(8), o);
  EXPECT_LE(out.accepted, 1.0 / 3);
  EXPECT_GT(out.accepted, 0.01);
  uint64_t backward = 0;
  for (size_t i = 0; i < out.results.links.size(); i++)
    if (i % 2 == 1) backward += out.results.links[i].packets;
  EXPECT_EQ(backward, 0u);
}

TEST(Traffic, AHotSpotTakesNoMoreThanItCan) {
  TrafficOptions o;
  o.load = 0.5;
  o.pattern = TrafficPattern::hot_spot;
  o.hot_share = 1;
  o.hot_node = 5;
  const TrafficOutcome out = run(torus(4), o);
  EXPECT_LE(out.accepted * 16, 2.01);  // a link's rate to the NIC, and its own messages, copies in memory
  EXPECT_GT(out.accepted * 16, 0.9);
}

TEST(Traffic, PermutationsArrive) {
  for (const TrafficPattern p : {TrafficPattern::transpose, TrafficPattern::bit_complement}) {
    TrafficOptions o;
    o.load = 0.1;
    o.pattern = p;
    const TrafficOutcome out = run(torus(8), o);
    EXPECT_NEAR(out.accepted, out.offered, 0.005);
  }
}

TEST(Traffic, AnyNumberOfThreadsGivesTheSame) {
  TrafficOptions o;
  o.load = 0.4;
  o.warm_up = o.measure = 3'000'000;
  TrafficOutcome first;
  for (const uint32_t threads : {1u, 2u, 3u}) {
    o.network.threads = threads;
    const TrafficOutcome out = run(torus(4), o);
    if (threads == 1) first = out;
    EXPECT_EQ(out.results.hash, first.results.hash);
    EXPECT_EQ(out.accepted, first.accepted);
    EXPECT_EQ(out.latency.mean(), first.latency.mean());
  }
  o.network.seed = 2;
  EXPECT_NE(run(torus(4), o).results.hash, first.results.hash);
}

TEST(Traffic, WrongOptionsAreRefused) {
  const auto refused = [](const netsim::Machine& m, const TrafficOptions& o) {
    const auto topology = netsim::make_topology(m);
    return !run_traffic(m, *topology, o).ok();
  };
  TrafficOptions o;
  o.load = 0;
  EXPECT_TRUE(refused(torus(4), o));
  o.load = -1;
  EXPECT_TRUE(refused(torus(4), o));
  o.load = 0.0 / 0.0;
  EXPECT_TRUE(refused(torus(4), o));
  o = {};
  o.measure = 0;
  EXPECT_TRUE(refused(torus(4), o));
  o = {};
  o.hot_node = 16;
  EXPECT_TRUE(refused(torus(4), o));
  o = {};
  o.hot_share = 1.5;
  EXPECT_TRUE(refused(torus(4), o));
  o = {};
  o.pattern = TrafficPattern::transpose;
  netsim::Machine m = torus(4);
  m.extents = {3, 5};
  EXPECT_TRUE(refused(m, o));
  m.topology = netsim::TopologyKind::fat_tree;
  m.arity = 2;
  m.levels = 3;
  o.pattern = TrafficPattern::tornado;
  EXPECT_TRUE(refused(m, o));
}

}  // namespace
}  // namespace tasuki::experiment
