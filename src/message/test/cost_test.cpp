#include "message/cost/cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "message/cost/doubt.h"

namespace tasuki::message {
namespace {

using layout::Footprint;

// `runs` runs of `length` bytes, `stride` bytes apart.
Footprint side(uint64_t runs, uint64_t length, int64_t stride) {
  const layout::Layout* l = runs == 1 ? layout::make_dense(length)
                                      : layout::make_hvector(runs, length, stride, layout::byte_layout());
  const Footprint f = layout::footprint({nullptr, 1, l});
  layout::release(l);
  return f;
}

Way way_of(const Footprint& f) {
  return cheapest(kBuiltInCosts, f, f);
}

TEST(Footprint, CountsRunsLinesAndPages) {
  const Footprint dense = side(1, 4096, 0);
  EXPECT_EQ(dense.runs, 1u);
  EXPECT_EQ(dense.lines, 64u);
  EXPECT_LE(dense.pages, 2u);
  const Footprint sparse = side(1000, 8, 4096);
  EXPECT_EQ(sparse.bytes, 8000u);
  EXPECT_EQ(sparse.runs, 1000u);
  EXPECT_GE(sparse.lines, 1000u);
  EXPECT_LE(sparse.lines, 1125u);
  EXPECT_GE(sparse.pages, 999u);
  // Runs that share lines: no more lines than the span has.
  EXPECT_LE(side(1000, 8, 16).lines, 16000u / 64 + 1);
  // Elements that continue each other are one run; others are not.
  const layout::Layout* block = layout::make_dense(100);
  EXPECT_EQ(layout::footprint({nullptr, 50, block}).runs, 1u);
  const layout::Layout* spread = layout::make_resized(0, 400, block);
  EXPECT_EQ(layout::footprint({nullptr, 50, spread}).runs, 50u);
  EXPECT_EQ(layout::footprint({nullptr, 0, spread}).bytes, 0u);
  layout::release(block);
  layout::release(spread);
}

// The choices that were best on the machine of docs/performance.md.
TEST(Cost, BuiltInConstantsChooseWhatWasMeasuredToWin) {
  EXPECT_EQ(way_of(side(4096, 8, 528)), Way::pipelined);    // NAS_MG_x 32 KiB
  EXPECT_EQ(way_of(side(16384, 8, 1040)), Way::pipelined);  // NAS_MG_x 128 KiB
  EXPECT_EQ(way_of(side(3225, 4, 128)), Way::pipelined);    // SPECFEM3D_oc 12.9 KB
  EXPECT_EQ(way_of(side(14806, 12, 200)), Way::pipelined);  // SPECFEM3D_cm 178 KB, touched
  EXPECT_EQ(way_of(side(3948, 16, 256)), Way::direct);
  EXPECT_EQ(way_of(side(1365, 24, 200)), Way::direct);  // LAMMPS_full 32 KiB
  EXPECT_EQ(way_of(side(408, 40, 2000)), Way::direct);  // NAS_LU_y 16 KB
  EXPECT_EQ(way_of(side(102, 40, 640)), Way::alone);    // NAS_LU_y 4 KB
  EXPECT_EQ(way_of(side(1, 16 << 10, 0)), Way::alone);
  EXPECT_EQ(way_of(side(1, 64 << 10, 0)), Way::direct);
}

TEST(Cost, OneDenseSideIsCopiedDirectly) {
  const Footprint fine = side(4096, 8, 528), dense = side(1, 32768, 0);
  EXPECT_NE(cheapest(kBuiltInCosts, fine, dense), Way::pipelined);
  EXPECT_NE(cheapest(kBuiltInCosts, dense, fine), Way::pipelined);
}

TEST(Cost, DearerLinesFavourTheBuffer) {
  Costs c = kBuiltInCosts;
  const Footprint f = side(1365, 24, 200);
  ASSERT_EQ(cheapest(c, f, f), Way::direct);
  c.line *= 10;
  EXPECT_EQ(cheapest(c, f, f), Way::pipelined);
}

TEST(Cost, ThresholdsFollowTheConstants) {
  const Thresholds t = thresholds(kBuiltInCosts);
  EXPECT_NEAR(static_cast<double>(t.buffer_up_to), 4096, 64);
  EXPECT_NEAR(static_cast<double>(t.announce_from), 65536, 1024);
  // What the dense threshold stands for is what the model says of dense sides.
  EXPECT_EQ(way_of(side(1, t.share_dense_from * 9 / 10, 0)), Way::alone);
  EXPECT_EQ(way_of(side(1, t.share_dense_from * 11 / 10, 0)), Way::direct);
  Costs slow = kBuiltInCosts;
  slow.handshake *= 4;
  EXPECT_GT(thresholds(slow).share_dense_from, t.share_dense_from);
}

TEST(Cost, TextGoesThereAndBack) {
  Costs c = kBuiltInCosts;
  c.line = 1.0 / 3;
  c.unit = 123456.789;
  char text[256];
  const size_t length = format_costs(c, text, sizeof text);
  EXPECT_EQ(length, strlen(text));
  Costs back{};
  ASSERT_TRUE(parse_costs(text, &back)) << text;
  for (size_t i = 0; i < kCostCount; i++) EXPECT_EQ(cost_at(back, i), cost_at(c, i)) << kCostNames[i];
  char part[10];
  EXPECT_EQ(format_costs(c, part, sizeof part), length);
  EXPECT_EQ(std::string(part), std::string(text).substr(0, 9));
}

TEST(Cost, BadTextIsRefusedAndChangesNothing) {
  char text[256];
  format_costs(kBuiltInCosts, text, sizeof text);
  const std::string good = text;
  for (const std::string& bad :
       {std::string(), std::string("line=4"), good + " more=1", good + " line", good + " line=-1",
        good + " line=0", good + " line=nan", good + " line=inf", good + " line=1x", good + " line=1e9"}) {
    Costs c = kBuiltInCosts;
    c.line = 42;
    EXPECT_FALSE(parse_costs(bad.c_str(), &c)) << bad;
    EXPECT_EQ(c.line, 42);
  }
}

TEST(Costs, WhatABusyMachineMeasuresIsNotBelieved) {
  EXPECT_EQ(spoiled(kBuiltInCosts), nullptr);
  Costs cheap_page = kBuiltInCosts;
  cheap_page.page = -0.3;
  EXPECT_EQ(spoiled(cheap_page), nullptr);
  const auto with = [](double Costs::*constant, double value) {
    Costs c = kBuiltInCosts;
    c.*constant = value;
    const char* why = spoiled(c);
    return std::string(why != nullptr ? why : "");
  };
  EXPECT_EQ(with(&Costs::line, -4), "a constant is negative");
  EXPECT_EQ(with(&Costs::unit, -1000), "a constant is negative");
  EXPECT_EQ(with(&Costs::page, std::nan("")), "a constant is negative");
  EXPECT_EQ(with(&Costs::byte, 0.0001), "a copy is faster than a cache can be");
  EXPECT_EQ(with(&Costs::staged_byte, 0.001), "a byte goes from core to core faster than within one");
  EXPECT_NE(with(&Costs::byte, 3), "");
  EXPECT_NE(with(&Costs::handshake, 4e6), "");
  EXPECT_NE(with(&Costs::unit, 1e5), "");
}

}  // namespace
}  // namespace tasuki::message
