// The flow model against the packet model on the paper's all-to-all, where packets hardly hold each other up.
#include <gtest/gtest.h>

#include "experiment/experiment.h"
#include "netsim/test/scripted.h"

namespace tasuki::experiment {
namespace {

std::shared_ptr<const netsim::Machine> torus(uint32_t x, uint32_t y) {
  return std::make_shared<const netsim::Machine>(netsim::paper_machine({x, y}));
}

RunOutcome run_model(const std::shared_ptr<const netsim::Machine>& machine, const ScheduleSpec& spec,
                     netsim::Model model) {
  Result<Experiment> e = make_experiment(machine, spec);
  EXPECT_TRUE(e.ok()) << e.status().message();
  if (!e.ok()) return {};
  e.value().options.network.model = model;
  const Result<RunOutcome> r = run(e.value());
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? r.value() : RunOutcome();
}

double flow_over_packet(const std::shared_ptr<const netsim::Machine>& machine, const ScheduleSpec& spec) {
  const RunOutcome flow = run_model(machine, spec, netsim::Model::flow);
  const RunOutcome packet = run_model(machine, spec, netsim::Model::packet);
  EXPECT_EQ(flow.results.packet_hops, packet.results.packet_hops);
  EXPECT_EQ(flow.results.payload_bytes, packet.results.payload_bytes);
  EXPECT_EQ(flow.results.ideal, packet.results.ideal);
  EXPECT_GE(flow.time, flow.results.ideal);
  return static_cast<double>(flow.time) / static_cast<double>(packet.time);
}

// With the paper's gaps packets of different messages take turns on every link where all four directions
// carry the same (odd sizes): the two models agree. At even sizes ties all go one way and packets queue
// there.
TEST(FlowModel, PacedA2atTakesWhatThePacketModelSays) {
  ScheduleSpec spec;
  spec.algorithm = "a2at";
  spec.bytes = 64 << 10;
  for (const double bias : {1.25, 3.0}) {
    spec.gap = [bias](uint32_t, uint32_t hops) {
      return static_cast<uint32_t>((hops - 1 + bias) * schedule::kGapUnit);
    };
    EXPECT_NEAR(flow_over_packet(torus(5, 5), spec), 1, 0.05) << bias;
    EXPECT_NEAR(flow_over_packet(torus(7, 7), spec), 1, 0.05) << bias;
    EXPECT_NEAR(flow_over_packet(torus(9, 9), spec), 1, 0.05) << bias;
    const double even = flow_over_packet(torus(8, 8), spec);
    EXPECT_LT(even, 1) << bias;
    EXPECT_GT(even, 0.6) << bias;
  }
}

// Neighbours only: no link is shared.
TEST(FlowModel, WhatSharesNoLinkTakesWhatThePacketModelSays) {
  ScheduleSpec spec;
  spec.algorithm = "halo";
  spec.bytes = 64 << 10;
  EXPECT_NEAR(flow_over_packet(torus(8, 6), spec), 1, 0.01);
}

// Unpaced, queues hold up packets that could go on: the flow model knows no queues and is faster.
TEST(FlowModel, UnpacedA2atIsFasterThanThePacketModelSays) {
  ScheduleSpec spec;
  spec.algorithm = "a2at";
  spec.bytes = 64 << 10;
  const double ratio = flow_over_packet(torus(9, 9), spec);
  EXPECT_LT(ratio, 1);
  EXPECT_GT(ratio, 0.2);
}

}  // namespace
}  // namespace tasuki::experiment
