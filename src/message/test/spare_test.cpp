// Which ranks get helper threads on nodes that are not this one.
#include "message/transfers/spare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "message/test/machine.h"

namespace tasuki::message {
namespace {

using os::CorePosition;
using os::CpuSet;

// A node of two packages with 64 cores each, whose last-level caches have eight cores.
constexpr const char* kPlainNode = "pack:2 l3:8 core:8 pu:1";
// The same with two hardware threads a core; the kernel counts the second ones behind all first ones.
constexpr const char* kThreadedNode = "pack:2 l3:8 core:8 pu:2(indexes=2*128:1*2)";

class Node {
 public:
  explicit Node(const char* synthetic) : cores_(machine(synthetic)) {
    std::map<int, int> first;
    for (const CorePosition& c : cores_) {
      const auto [known, added] = first.try_emplace(c.silicon, c.core);
      if (!added) known->second = std::min(known->second, c.core);
    }
    for (const CorePosition& c : cores_) silicon_[c.core] = static_cast<uint16_t>(first[c.silicon]);
  }
  // A rank that a launcher binds to the n-th core, cache or package.
  void bind(int CorePosition::*part, int n) {
    std::vector<int> numbers;
    for (const CorePosition& c : cores_)
      if (std::find(numbers.begin(), numbers.end(), c.*part) == numbers.end()) numbers.push_back(c.*part);
    CpuSet set{};
    for (const CorePosition& c : cores_)
      if (c.*part == numbers[static_cast<size_t>(n) % numbers.size()]) set.add(c.core);
    sets_.push_back(set);
  }
  void bind(const std::string& list) {
    CpuSet set{};
    EXPECT_TRUE(list.empty() || os::parse_core_list(list, &set)) << list;
    sets_.push_back(set);
  }

  SpareCores spare(size_t me, uint32_t threads_each = 1, uint32_t elsewhere = 0) const {
    CoresOfTasks all;
    for (const CpuSet& set : sets_) all.tasks.push_back(&set);
    all.threads_each = threads_each;
    all.elsewhere = elsewhere;
    all.silicon = silicon_;
    return spare_cores(all, me);
  }
  // The helper threads of each rank; "15" if all have that many.
  std::string threads(uint32_t threads_each = 1, uint32_t elsewhere = 0) const {
    std::string all;
    bool equal = true;
    const uint32_t first = spare(0, threads_each, elsewhere).threads;
    for (size_t i = 0; i < sets_.size(); i++) {
      const uint32_t n = spare(i, threads_each, elsewhere).threads;
      equal = equal && n == first;
      all += (i == 0 ? "" : " ") + std::to_string(n);
    }
    return equal ? std::to_string(first) : all;
  }

 private:
  std::vector<CorePosition> cores_;
  uint16_t silicon_[CpuSet::kMaxCores] = {};
  std::vector<CpuSet> sets_;
};

Node small(int cores, int ranks) {
  Node node(("core:" + std::to_string(cores) + " pu:1").c_str());
  for (int i = 0; i < ranks; i++) node.bind("0-" + std::to_string(cores - 1));
  return node;
}

class SpareCoresOfNodes : public testing::Test {
 protected:
  void SetUp() override {
    if (machine(kPlainNode).empty()) GTEST_SKIP() << "no hwloc";
  }
};

TEST_F(SpareCoresOfNodes, FewCores) {
  EXPECT_EQ(small(2, 2).threads(), "0");
  EXPECT_EQ(small(2, 4).threads(), "0");
  EXPECT_EQ(small(2, 1).threads(), "1");
  EXPECT_EQ(small(2, 1).threads(2), "0") << "a rank with OMP_NUM_THREADS=2 on two cores";
  EXPECT_EQ(small(16, 2).threads(), "7");
  EXPECT_EQ(small(16, 2).threads(4), "4");
  EXPECT_EQ(small(16, 2).threads(64), "0");
  EXPECT_EQ(small(8, 3).threads(), "2 2 1");
}

TEST_F(SpareCoresOfNodes, BoundToCores) {
  for (const char* machine : {kPlainNode, kThreadedNode})
    for (const int ranks : {8, 32}) {
      Node node(machine);
      for (int i = 0; i < ranks; i++) node.bind(&CorePosition::silicon, i);
      EXPECT_EQ(node.threads(), "0") << machine << ", " << ranks;
    }
}

TEST_F(SpareCoresOfNodes, BoundToSockets) {
  for (const char* machine : {kPlainNode, kThreadedNode}) {
    Node eight(machine), many(machine), uneven(machine);
    for (int i = 0; i < 8; i++) eight.bind(&CorePosition::package, i);
    EXPECT_EQ(eight.threads(), "15") << machine;
    EXPECT_EQ(eight.threads(4), "12") << machine;
    EXPECT_EQ(eight.threads(16), "0") << machine;
    for (int i = 0; i < 32; i++) many.bind(&CorePosition::package, i);
    EXPECT_EQ(many.threads(), "3") << machine;
    EXPECT_EQ(many.threads(2), "2") << machine;
    EXPECT_EQ(many.threads(4), "0") << machine;
    // The many ranks of one socket have no share in the other one.
    for (int i = 0; i < 64; i++) uneven.bind(&CorePosition::package, 0);
    uneven.bind(&CorePosition::package, 1);
    EXPECT_EQ(uneven.spare(0).threads, 0u) << machine;
    EXPECT_EQ(uneven.spare(64).threads, 63u) << machine;
  }
}

TEST_F(SpareCoresOfNodes, BoundToCaches) {
  Node eight(kPlainNode), many(kPlainNode);
  for (int i = 0; i < 8; i++) eight.bind(&CorePosition::cache, i);
  EXPECT_EQ(eight.threads(), "7");
  EXPECT_EQ(eight.threads(8), "0");
  for (int i = 0; i < 32; i++) many.bind(&CorePosition::cache, i);
  EXPECT_EQ(many.threads(), "3");
}

TEST_F(SpareCoresOfNodes, NotBound) {
  for (const char* all : {"0-127", "0-255"}) {
    Node eight(all[2] == '1' ? kPlainNode : kThreadedNode), many = eight, full = eight;
    for (int i = 0; i < 8; i++) eight.bind(all);
    EXPECT_EQ(eight.threads(), "15");
    EXPECT_EQ(eight.threads(8), "8");
    EXPECT_EQ(eight.spare(3).avoided.bits[0], 0u) << "all are alike";
    for (int i = 0; i < 32; i++) many.bind(all);
    EXPECT_EQ(many.threads(), "3");
    for (int i = 0; i < 128; i++) full.bind(all);
    EXPECT_EQ(full.spare(0).threads, 0u);
  }
}

TEST_F(SpareCoresOfNodes, InControlGroups) {
  // The job has 16 cores of the node, in two caches; each rank has two; or the threads of one.
  Node job(kPlainNode), pairs(kPlainNode), threads(kThreadedNode);
  for (int i = 0; i < 8; i++) job.bind("8-15,72-79");
  EXPECT_EQ(job.threads(), "1");
  EXPECT_EQ(job.threads(2), "0");
  for (int i = 0; i < 32; i++) pairs.bind(std::to_string(2 * i) + "-" + std::to_string(2 * i + 1));
  EXPECT_EQ(pairs.threads(), "1");
  EXPECT_EQ(pairs.threads(2), "0");
  for (int i = 0; i < 32; i++) threads.bind(std::to_string(i) + "," + std::to_string(128 + i));
  EXPECT_EQ(threads.threads(), "0");
}

TEST_F(SpareCoresOfNodes, CoresOfTighterRanksAreAvoided) {
  Node node(kThreadedNode);
  node.bind("0-255");
  for (int i = 0; i < 7; i++) node.bind(&CorePosition::silicon, i);
  const SpareCores free = node.spare(0);
  EXPECT_EQ(free.threads, 120u);
  EXPECT_EQ(os::core_list(free.avoided), "0-6,128-134");
  EXPECT_EQ(node.spare(1).threads, 0u);
}

TEST_F(SpareCoresOfNodes, RanksElsewhereTakeTheirs) {
  Node node(kPlainNode);
  for (int i = 0; i < 7; i++) node.bind("0-127");
  EXPECT_EQ(node.spare(0, 1, 121).threads, 0u);
  EXPECT_EQ(node.threads(1, 57), "10 9 9 9 9 9 9");
  node.bind("");  // one whose cores are not known
  EXPECT_EQ(node.threads(), "15");
}

}  // namespace
}  // namespace tasuki::message
