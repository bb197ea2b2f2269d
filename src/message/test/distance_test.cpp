#include "message/cost/distance.h"

#include <gtest/gtest.h>

#include <cstring>

#include "message/test/machine.h"
#include "message/test/world.h"

namespace tasuki::message {
namespace {

os::CpuSet cores(const char* list) {
  os::CpuSet set{};
  EXPECT_TRUE(os::parse_core_list(list, &set)) << list;
  return set;
}

Costs with_line(double line) {
  Costs c = kBuiltInCosts;
  c.line = line;
  return c;
}

TEST(Distance, OfTasksOnABigNode) {
  const std::vector<os::CorePosition> all = machine("pack:2 l3:8 core:8 pu:1");
  if (all.empty()) GTEST_SKIP() << "no hwloc";
  const auto map = core_map(all);
  const auto between = [&](const char* a, const char* b) {
    return distance(place_of(*map, cores(a)), place_of(*map, cores(b)));
  };
  EXPECT_EQ(between("0", "7"), Distance::cache);
  EXPECT_EQ(between("0", "8"), Distance::package);
  EXPECT_EQ(between("0", "63"), Distance::package);
  EXPECT_EQ(between("0", "64"), Distance::machine);
  EXPECT_EQ(between("0-3", "4-7"), Distance::cache);
  EXPECT_EQ(between("8-15", "8-15"), Distance::cache);
  // Bound to a socket; to cores of both; not bound.
  EXPECT_EQ(between("0-63", "0-63"), Distance::package);
  EXPECT_EQ(between("0-63", "5"), Distance::package);
  EXPECT_EQ(between("0-63", "64-127"), Distance::machine);
  EXPECT_EQ(between("7,64", "7"), Distance::machine);
  EXPECT_EQ(between("0-127", "0-127"), Distance::machine);
  // hwloc knows nothing of it.
  EXPECT_EQ(between("0,500", "0"), Distance::machine);
}

TEST(Distance, WhereAllShareACacheAllAreNear) {
  const std::vector<os::CorePosition> all = machine("pack:1 l3:1 core:8 pu:2");
  if (all.empty()) GTEST_SKIP() << "no hwloc";
  const auto map = core_map(all);
  const Place bound = place_of(*map, cores("3")), free = place_of(*map, cores("0-15"));
  EXPECT_EQ(distance(bound, free), Distance::cache);
  EXPECT_EQ(distance(free, free), Distance::cache);
}

TEST(Distance, PairsToMeasure) {
  const std::vector<os::CorePosition> all = machine("pack:2 l3:2 core:4 pu:1");
  if (all.empty()) GTEST_SKIP() << "no hwloc";
  const auto map = core_map(all);
  const auto pair = [&](const char* usable, Distance d) {
    int found[2] = {-1, -1};
    return find_pair(*map, cores(usable), d, found)
               ? std::to_string(found[0]) + "," + std::to_string(found[1])
               : "none";
  };
  EXPECT_EQ(pair("0-15", Distance::cache), "0,1");
  EXPECT_EQ(pair("0-15", Distance::package), "0,4");
  EXPECT_EQ(pair("0-15", Distance::machine), "0,8");
  // What a control group or taskset has left.
  EXPECT_EQ(pair("3,4-6", Distance::cache), "4,5");
  EXPECT_EQ(pair("3,4-6", Distance::package), "3,4");
  EXPECT_EQ(pair("3,4-6", Distance::machine), "none");
  EXPECT_EQ(pair("1,9", Distance::cache), "none");
  EXPECT_EQ(pair("1,9", Distance::machine), "1,9");
  EXPECT_EQ(pair("7", Distance::cache), "none");
}

TEST(CostTable, OneSetIsForAllDistances) {
  CostTexts texts{};
  for (Costs& c : texts.at) c = with_line(7);
  const std::string text = format_table(texts);
  EXPECT_EQ(text.find(';'), std::string::npos) << text;
  CostTable table{};
  ASSERT_TRUE(parse_table(text, &table));
  EXPECT_FALSE(table.several());
  for (const Costs& c : table.at) EXPECT_EQ(c.line, 7);
}

TEST(CostTable, TextGoesThereAndBack) {
  const CostTexts texts{{with_line(1), with_line(2), with_line(3)}, {"0-1,4-5", "2-3,6-7"}, {"0-7"}};
  CostTable table{};
  ASSERT_TRUE(parse_table(format_table(texts), &table)) << format_table(texts);
  EXPECT_TRUE(table.several());
  EXPECT_EQ(table[Distance::cache].line, 1);
  EXPECT_EQ(table[Distance::package].line, 2);
  EXPECT_EQ(table[Distance::machine].line, 3);
  const auto between = [&](const char* a, const char* b) {
    return distance(place_of(table.map, cores(a)), place_of(table.map, cores(b)));
  };
  EXPECT_EQ(between("0", "5"), Distance::cache);
  EXPECT_EQ(between("0", "2"), Distance::package);
  EXPECT_EQ(between("0", "8"), Distance::machine);
}

TEST(CostTable, WhatWasNotMeasuredIsAsForTheNearer) {
  CostTable table{};
  ASSERT_TRUE(
      parse_table(format_table({{with_line(1), with_line(2), with_line(2)}, {"0", "1"}, {"0-1"}}), &table));
  EXPECT_EQ(table[Distance::machine].line, 2);
  ASSERT_TRUE(
      parse_table(format_table({{with_line(1), with_line(1), with_line(2)}, {"0"}, {"0", "1"}}), &table));
  EXPECT_EQ(table[Distance::package].line, 1);
  EXPECT_EQ(table[Distance::machine].line, 2);
}

TEST(CostTable, BadTextIsRefusedAndChangesNothing) {
  const std::string near = format_table({{with_line(1), with_line(1), with_line(1)}, {}, {}});
  const std::string far =
      near + "; machine: " + format_table({{with_line(9), with_line(9), with_line(9)}, {}, {}});
  const std::string lists = "; caches: 0 1; packages: 0 1";
  CostTable table{};
  ASSERT_TRUE(parse_table(far + lists, &table));
  for (const std::string& bad : {std::string(), lists, far, far + "; caches: 0 1", far + "; packages: 0 1",
                                 near + "; machine: line=1" + lists, near + "; moon: " + near + lists,
                                 far + "; caches: 0 x; packages: 0", far + "; caches:; packages: 0"}) {
    EXPECT_FALSE(parse_table(bad, &table)) << bad;
    EXPECT_EQ(table[Distance::machine].line, 9) << bad;
  }
}

// A dense message is copied by one side or by both, as the constants for this peer say.
TEST(Engine, EachPeerHasTheConstantsOfItsDistance) {
  World w(3, Protocol::automatic, /*eager=*/0);
  CostTable table{};
  for (Costs& c : table.at) c = kBuiltInCosts;
  table.at[2].handshake = 1e5;
  const uint16_t package[] = {1, 1, 2};
  for (int i = 0; i < 3; i++) w[i].self()->place = {0, package[i]};
  for (int i = 0; i < 3; i++) ASSERT_TRUE(w[i].set_costs(table));
  const size_t bytes = thresholds(table.at[0]).share_dense_from * 2;
  std::vector<char> from = pattern(bytes, 1), to(bytes);
  const auto transfer = [&](int sender, int receiver) {
    Request* send = isend(w[sender], bytes_of(from), receiver, 5);
    finish(w[receiver], irecv(w[receiver], bytes_of(to), sender, 5));
    finish(w[sender], send);
    const TransferStats s = w[receiver].stats().transfer;
    w[receiver].stats().transfer = {};
    EXPECT_EQ(s.alone_bytes + s.direct_bytes, bytes);
    return s.direct_bytes != 0 ? Way::direct : Way::alone;
  };
  EXPECT_EQ(transfer(0, 1), Way::direct);
  EXPECT_EQ(transfer(1, 0), Way::direct);
  EXPECT_EQ(transfer(0, 2), Way::alone);
  EXPECT_EQ(transfer(2, 1), Way::alone);
}

}  // namespace
}  // namespace tasuki::message
