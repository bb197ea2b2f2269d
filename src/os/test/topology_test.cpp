#include "os/process/topology.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>
#include <vector>

#include "os/process/cpu.h"

namespace tasuki::os {
namespace {

// As hwloc describes a machine that is not this one.
std::vector<CorePosition> positions_of(const char* machine) {
  setenv("HWLOC_SYNTHETIC", machine, 1);
  Result<std::vector<CorePosition>> read = core_positions();
  unsetenv("HWLOC_SYNTHETIC");
  return read.ok() ? read.value() : std::vector<CorePosition>();
}

size_t count(const std::vector<CorePosition>& cores, int CorePosition::*part) {
  std::set<int> found;
  for (const CorePosition& c : cores) found.insert(c.*part);
  return found.size();
}

class Topology : public testing::Test {
 protected:
  void SetUp() override {
    if (Result<std::vector<CorePosition>> here = core_positions(); !here.ok())
      GTEST_SKIP() << here.status().message();
  }
};

TEST_F(Topology, ThisMachineHasTheCoresThatThisProcessMayUse) {
  CpuSet mine, known{};
  current_cpu_set(&mine);
  const Result<std::vector<CorePosition>> here = core_positions();
  for (const CorePosition& c : here.value()) known.add(c.core);
  for_each_core(mine, [&](int core) { EXPECT_TRUE(known.has(core)) << core; });
}

TEST_F(Topology, TheKernelSaysTheSameOfHardwareThreads) {
  CpuSet mine;
  current_cpu_set(&mine);
  std::vector<uint16_t> first(CpuSet::kMaxCores);
  hardware_threads(mine, first.data());
  const Result<std::vector<CorePosition>> here = core_positions();
  for (const CorePosition& a : here.value())
    for (const CorePosition& b : here.value())
      if (mine.has(a.core) && mine.has(b.core)) {
        EXPECT_EQ(first[static_cast<size_t>(a.core)] == first[static_cast<size_t>(b.core)],
                  a.silicon == b.silicon)
            << a.core << ", " << b.core;
      }
}

TEST_F(Topology, LastLevelCachesAndPackagesOfABigNode) {
  const std::vector<CorePosition> cores = positions_of("pack:2 l3:8 l2:8 core:1 pu:2");
  ASSERT_EQ(cores.size(), 256u);
  EXPECT_EQ(count(cores, &CorePosition::silicon), 128u);
  EXPECT_EQ(count(cores, &CorePosition::cache), 16u);
  EXPECT_EQ(count(cores, &CorePosition::package), 2u);
  EXPECT_EQ(cores[0].silicon, cores[1].silicon);
  EXPECT_NE(cores[1].silicon, cores[2].silicon);
  EXPECT_EQ(cores[15].cache, cores[0].cache);
  EXPECT_NE(cores[16].cache, cores[0].cache);
  EXPECT_EQ(cores[127].package, cores[0].package);
  EXPECT_NE(cores[128].package, cores[0].package);
}

TEST_F(Topology, WithoutSharedCachesOrPackages) {
  const std::vector<CorePosition> own = positions_of("pack:1 l2:4 core:1 pu:1");
  ASSERT_EQ(own.size(), 4u);
  EXPECT_EQ(count(own, &CorePosition::cache), 4u);
  EXPECT_EQ(count(own, &CorePosition::package), 1u);
  const std::vector<CorePosition> plain = positions_of("core:3 pu:1");
  ASSERT_EQ(plain.size(), 3u);
  EXPECT_EQ(count(plain, &CorePosition::cache), 3u);
  EXPECT_EQ(count(plain, &CorePosition::package), 1u);
}

TEST_F(Topology, CoresHaveTheNumbersOfTheKernel) {
  // The second hardware threads come after all first ones, as on most machines.
  const std::vector<CorePosition> cores = positions_of("pack:1 l3:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
  ASSERT_EQ(cores.size(), 8u);
  EXPECT_EQ(cores[1].core, 4);
  EXPECT_EQ(cores[1].silicon, cores[0].silicon);
  EXPECT_EQ(cores[4].core, 2);
  EXPECT_NE(cores[4].cache, cores[0].cache);
}

TEST(CoreList, GoesThereAndBack) {
  for (const char* text : {"0", "0-7", "0-7,64-71", "3,5-6,8191"}) {
    CpuSet set{};
    ASSERT_TRUE(parse_core_list(text, &set)) << text;
    EXPECT_EQ(core_list(set), text);
  }
  EXPECT_EQ(core_list(CpuSet{}), "");
}

TEST(CoreList, BadOnesAreRefusedAndChangeNothing) {
  CpuSet set{};
  set.add(42);
  for (const char* text :
       {"", ",", "0,", ",0", "7-0", "0-", "-1", "8192", "0-8192", "x", "0 1", "0-7x", "0--7"})
    EXPECT_FALSE(parse_core_list(text, &set)) << text;
  EXPECT_EQ(core_list(set), "42");
}

}  // namespace
}  // namespace tasuki::os
