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
  EXPECT_EQ(dense.lines, 65u);  // it may begin anywhere in a line
  EXPECT_LE(dense.pages, 2u);
  const Footprint sparse = side(1000, 8, 4096);
  EXPECT_EQ(sparse.bytes, 8000u);
  EXPECT_EQ(sparse.runs, 1000u);
  EXPECT_GE(sparse.lines, 1000u);
  EXPECT_LE(sparse.lines, 1125u);
  EXPECT_GE(sparse.pages, 999u);
  // Runs that share lines: no more lines than the span has.
  EXPECT_LE(side(1000, 8, 16).lines, 16000u / 64 + 1);
  // Rows that share lines, in fields far apart: what is shared is counted in each field.
  const layout::Layout* rows = layout::make_hvector(100, 44, 76, layout::byte_layout());
  const layout::Layout* fields = layout::make_hvector(9, 1, 1 << 20, rows);
  EXPECT_NEAR(static_cast<double>(layout::footprint({nullptr, 1, fields}).lines), 9 * 100 * 76 / 64.0, 20);
  layout::release(fields);
  layout::release(rows);
  // The same memory, told as many elements or as one; and elements within each other: a matrix by columns.
  const layout::Layout* run = layout::make_dense(32);
  const layout::Layout* spaced = layout::make_resized(0, 256, run);
  EXPECT_NEAR(static_cast<double>(layout::footprint({nullptr, 1000, spaced}).lines),
              static_cast<double>(side(1000, 32, 256).lines), 2);
  const layout::Layout* column = layout::make_hvector(1000, 8, 8000, layout::byte_layout());
  const layout::Layout* columns = layout::make_resized(0, 8, column);
  EXPECT_NEAR(static_cast<double>(layout::footprint({nullptr, 1000, columns}).lines), 125000, 1500);
  EXPECT_NEAR(static_cast<double>(layout::footprint({nullptr, 1000, columns}).pages), 1954, 1000);
  for (const layout::Layout* l : {run, spaced, column, columns}) layout::release(l);
  // Elements that continue each other are one run; others are not.
  const layout::Layout* block = layout::make_dense(100);
  EXPECT_EQ(layout::footprint({nullptr, 50, block}).runs, 1u);
  const layout::Layout* spread = layout::make_resized(0, 400, block);
  EXPECT_EQ(layout::footprint({nullptr, 50, spread}).runs, 50u);
  EXPECT_EQ(layout::footprint({nullptr, 0, spread}).bytes, 0u);
  layout::release(block);
  layout::release(spread);
}

// The choices that were best on the machine of docs/performance.md for touched messages.
TEST(Cost, BuiltInConstantsChooseWhatWasMeasuredToWin) {
  EXPECT_EQ(way_of(side(4096, 8, 528)), Way::pipelined);    // NAS_MG_x 32 KiB
  EXPECT_EQ(way_of(side(16384, 8, 1040)), Way::pipelined);  // NAS_MG_x 128 KiB
  EXPECT_EQ(way_of(side(3225, 4, 128)), Way::pipelined);    // SPECFEM3D_oc 12.9 KB
  EXPECT_EQ(way_of(side(14806, 12, 200)), Way::pipelined);  // SPECFEM3D_cm 178 KB
  EXPECT_EQ(way_of(side(408, 40, 4160)), Way::pipelined);   // NAS_LU_y 16 KB
  EXPECT_EQ(way_of(side(1365, 24, 24 * 2)), Way::direct);   // LAMMPS_full 32 KiB: its atoms share lines
  EXPECT_EQ(way_of(side(987, 92, 128)), Way::direct);       // WRF_y 91 KB
  EXPECT_EQ(way_of(side(128, 2048, 2064)), Way::direct);    // NAS_MG_z 256 KiB
  EXPECT_EQ(way_of(side(1, 16 << 10, 0)), Way::alone);
  EXPECT_EQ(way_of(side(1, 64 << 10, 0)), Way::direct);
}

TEST(Cost, OneDenseSideOfSparseRunsGoesThroughTheBuffer) {
  const Footprint atoms = side(3888, 12, 200), dense = side(1, 46656, 0);  // LAMMPS_atomic
  EXPECT_EQ(cheapest(kBuiltInCosts, atoms, dense), Way::pipelined);
  const Footprint points = side(1900, 12, 24), packed = side(1, 22800, 0);  // SPECFEM3D_mt
  EXPECT_EQ(cheapest(kBuiltInCosts, points, packed), Way::direct);
}

TEST(Cost, DearerLinesFavourTheBuffer) {
  Costs c = kBuiltInCosts;
  const Footprint f = side(1365, 24, 48);
  ASSERT_EQ(cheapest(c, f, f), Way::direct);
  c.line *= 10;
  EXPECT_EQ(cheapest(c, f, f), Way::pipelined);
}

TEST(Cost, ThresholdsFollowTheConstants) {
  const Thresholds t = thresholds(kBuiltInCosts);
  EXPECT_NEAR(static_cast<double>(t.buffer_up_to), 7619, 64);
  EXPECT_NEAR(static_cast<double>(t.announce_from), 65536, 1024);
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
  cheap_page.page = -0.2;
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
